"""Put a version of the documentation beside the others, and list them all.

    python .ci/site.py SITE VERSION BUILT ADDRESS

SITE is the folder that is published at ADDRESS, BUILT what Sphinx made. VERSION is
"dev", or major and minor number of a release, such as 0.2; the last release is "stable"
as well. Needs only Python.
"""

import json
import re
import shutil
import sys
from pathlib import Path

REDIRECT = """<!DOCTYPE html>
<meta charset="utf-8">
<title>sklearn-scinol</title>
<meta http-equiv="refresh" content="0; url=./{0}/">
<link rel="canonical" href="./{0}/">
<a href="./{0}/">sklearn-scinol</a>
"""


def replace(folder, source):
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".doctrees"))


def put(site, version, built, address):
    """Copy what was built, and write what depends on which versions there are."""
    if version != "dev" and not re.fullmatch(r"\d+\.\d+", version):
        sys.exit(f"{version} is neither dev nor a version such as 0.2.")
    site.mkdir(exist_ok=True)
    replace(site / version, built)
    numbers = [
        [int(number) for number in folder.name.split(".")]
        for folder in site.iterdir()
        if re.fullmatch(r"\d+\.\d+", folder.name)
    ]
    releases = [f"{major}.{minor}" for major, minor in sorted(numbers, reverse=True)]
    if releases:
        replace(site / "stable", site / releases[0])
    names = ["dev", *releases] if (site / "dev").exists() else releases
    versions = [
        {"name": name, "version": name, "url": f"{address.rstrip('/')}/{name}/"}
        for name in names
    ]
    for last in versions[len(names) - len(releases) :][:1]:
        last |= {"name": f"{last['version']} (stable)", "preferred": True}
    (site / "versions.json").write_text(json.dumps(versions, indent=1) + "\n")
    start = "stable" if releases else "dev"
    (site / "index.html").write_text(REDIRECT.format(start))
    (site / ".nojekyll").touch()  # folders whose names begin with _ are served


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    site, version, built, address = sys.argv[1:]
    put(Path(site), version, Path(built), address)
