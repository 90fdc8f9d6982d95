"""Measurement files: one module a format, each with `recognises(content)` and `read(content, limit)`.

`read` returns named arrays, or the `Recording` of a device, or raises anything at all: the caller turns whatever a
damaged file provokes into one line. Named arrays of other programs are understood by modules with `knows(values)` and
`recording(values)`, whatever kind of file they were in. Own formats also have `write(values)`.

Which formats there are: `registry.py`. Three of them, `npz.py`, `matlab.py` and `hdf5.py`, need NumPy alone, so that a
process of its own reads them without a long start (`eitlens.measure.child`).
"""
