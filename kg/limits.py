"""Every number of kg, with its unit and its reason.

Suffixes name the unit: `_S` seconds, `_MS` milliseconds, `_CHARS` Unicode code points, `_UNITS` the client's own unit,
`_BYTES` bytes, `_WORDS` words of an id; a plain count has none.
"""

# --- identity of the file and wire formats -----------------------------------------------------------------------
FORMAT = 1  # version of the storage format; a file with a larger one was written by a newer kg

# --- the log in memory ---------------------------------------------------------------------------------------------
CHANGES_KEPT = 5_000  # content changes per graph that kg_sync and news can look back on; about 1 MiB
REQUESTS_KEPT = 4_096  # idempotency keys remembered; a resend comes within seconds
DELIVERIES_PER_SESSION = 64  # deliveries of a session that wait for an acknowledgement; a client has a handful

# --- names and text (kg/names.py, kg/text.py, kg/healing.py) -------------------------------------------------------
ID_MAX_CHARS = 128  # an id of five words has about 40; what is longer is a claim and belongs in the gist
REL_MAX_CHARS = 64  # a rel is a verb or two
FILE_MAX_CHARS = 400  # longest file name of an endpoint or touch; deep paths with a line range stay below 300
NAME_RAW_MAX_CHARS = 1_024  # a longer name is refused before it is normalised, which is quadratic in runs of marks
NAME_QUOTE_CHARS = 80  # how much of a refused name its refusal repeats: enough to recognise it
NOTES_MAX = 200  # notes of one node; a node that needs more is several nodes
TOUCHES_MAX = 200  # touches of one node; a longer list is a folder
DATE_YEAR_MIN = 1990  # four digits count as the year of a date from here ...
DATE_YEAR_MAX = 2099  # ... to here; others are ports, sizes and error numbers
NORMAL_PIECE_CHARS = 256  # normalising goes piece by piece: a run of marks costs its square, so this bounds the square
NORMAL_BACK_CHARS = 32  # how far a piece gives way so that a letter keeps its marks; real letters have fewer than ten
FLAG_TAGS_MAX = 6  # tag letters of a subdivision flag (gbeng has 5); more is hidden text, not a flag
FRAME_GAP_CHARS = 8  # blanks or marks between < and a frame's name that a reader would overlook
HEAL_ATTRIBUTE_CHARS = 256  # attributes of a leaked tag looked at; bounds the work for each < of a crafted text
HEAL_GAP_CHARS = 8  # blanks inside a leaked tag, around = and before >
HEAL_ATTEMPTS = 4  # arrays tried for each field; each try is linear, so all of them are
HEAL_GIST_MAX_CHARS = 4_000  # longest gist taken out of a leaked gist parameter
