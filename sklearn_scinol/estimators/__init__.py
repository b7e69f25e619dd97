"""The estimators: parameters, validation, docstrings."""
