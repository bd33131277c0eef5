"""Every number of kg, with its unit and its reason.

Suffixes name the unit: `_S` seconds, `_MS` milliseconds, `_CHARS` Unicode code points, `_UNITS` the client's own unit,
`_BYTES` bytes, `_WORDS` words of an id; a plain count has none.
"""

# --- identity of the file and wire formats -----------------------------------------------------------------------
FORMAT = 1  # version of the storage format; a file with a larger one was written by a newer kg
