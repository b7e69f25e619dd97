"""``python -m sklearn_scinol``: the command line."""

import sys

from .cli import main

sys.exit(main())
