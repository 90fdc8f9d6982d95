"""Measurement files: one module a format, each with `recognises(content)` and `read(content)`; see `files.py`.

`read` returns named arrays or raises anything at all: the caller turns whatever a damaged file provokes into one line.
"""
