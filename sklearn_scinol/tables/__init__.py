"""Encoding of raw tables, with columns of all kinds, as rows of numbers."""
