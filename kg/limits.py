"""Every number of kg, with its unit and its reason.

Suffixes name the unit: `_S` seconds, `_MS` milliseconds, `_CHARS` Unicode code points, `_UNITS` the client's own unit,
`_BYTES` bytes, `_WORDS` words of an id; a plain count has none.
"""

# --- identity of the file and wire formats -----------------------------------------------------------------------
DOCUMENT_DEPTH = 64  # levels of a hand-written file; the JSON writer ends at 254, and the log adds some around it
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

# --- shim: the stdio client, and whoever starts the service -------------------------------------------------------
SERVICE_START_LIMIT_S = 15.0  # a start that has not answered by then is reported; clients wait 30 s for a stdio server
SERVICE_START_AGAIN_S = 60.0  # after a failed start its cause is told instead of trying again: no start loop
SERVICE_POLL_S = 0.05  # how often a starter looks; far below what a person notices
SERVICE_PROBE_S = 1.0  # wait for one /health; a service that is loading is asked again
RESEND_LIMIT_S = 15.0  # how long a request tries to reach the service; a restart takes one or two seconds
RESEND_FIRST_S = 0.05  # first pause before a resend; doubles
RESEND_PAUSE_S = 1.0  # longest pause between resends
RESEND_LOST_COUNT = 4  # answers lost in a row before a request is blamed: it may be what ends the service
ANSWER_LIMIT_S = 60.0  # for one answer of a connected service; the shortest tool limit of the known clients
DISCOVER_LIMIT_S = 1.0  # clients wait 3 s for the answer to their probe, and silence costs every start of theirs
CALLS_IN_FLIGHT = 64  # requests at once in one shim, so that one client cannot take all connections of the service
CALLS_WAITING = 1024  # requests in one shim, sent or not; past it stdin waits, and with it a cancel
LINE_LIMIT_BYTES = 8 * 1024 * 1024  # one message on stdin; twice the largest body that the service takes
OUTBOX_LIMIT_BYTES = 16 * 1024 * 1024  # replies that a client has not read yet; past it stdin waits
READ_BYTES = 64 * 1024  # one read; the size of a pipe
HTTP_HEAD_BYTES = 64 * 1024  # status line and headers of a reply; ours have a few hundred bytes
IDLE_LINKS = 8  # kept connections; as many as clients send requests at once
IDENTITY_CHARS = 256  # of a client's name for its conversation; a longer one counts as none: cut, it would be another's
ACK_WAIT_S = 0.05  # an acknowledgement waits this long for a request to travel with
ACK_PAUSE_S = 30.0  # longest pause between tries of an acknowledgement; it doubles up to here
ACK_KEEP_S = 600.0  # the service forgets a delivery after this time
ACK_IDS = 32  # acknowledged in one request: about 1 KiB of header
ACK_ID_CHARS = 64  # of a delivery id
SHIM_LAST_S = 20.0  # for the running calls after the client has closed stdin: more than RESEND_LIMIT_S
SHIM_LAST_ACK_S = 0.5  # for the last acknowledgement: the shim ends within 1 s after the last answer
NEWS_SHOWN = 3  # changes of others told with a reply; more would crowd out the reply
NEWS_GIST_CHARS = 300  # the length of a good gist
NEWS_LOOK_BACK = 200  # changes looked at for news; past that kg_sync is the better question
SYNC_GIST_CHARS = 100  # enough to know what a node is about

# --- nodes ---------------------------------------------------------------------------------------------------------
GIST_CHARS = 300  # past it a gist is saved with a nudge: one claim fits
GIST_CHANGES_KEPT = 8  # times of gist changes kept per node; churn looks at three of them
ID_WORDS_NUDGE = 6  # an id of so many words is saved with a nudge
ID_WORDS_REFUSED = 7  # an id of so many words is a sentence and blunts the search for titles
CHURN_DAYS = 30  # days in which ...
CHURN_CHANGES = 2  # ... more gist changes than this bar maintenance from rewriting: repeated rewriting degrades memory
DAY_S = 86_400  # seconds of a day

# --- votes ---------------------------------------------------------------------------------------------------------
VOTES_GUIDE = 5  # votes of a working session before it is told that it goes far
VOTES_PER_SESSION = 10  # where its votes end; a stop at 5 destroyed evidence
CREDITS_PER_SESSION = 15  # stamps a maintenance session may give
CREDITS_MOST = 3  # stamps per node and call of a maintenance session

# --- sessions ------------------------------------------------------------------------------------------------------
SESSION_ID_BYTES = 4  # random bytes of a session id: 8 hex characters that a model can repeat without a slip
HELD_S = 4 * 3_600  # seconds since its last call in which a session's context counts as live
CLIENT_ID_CHARS = 256  # of a client's conversation id; a longer one is none, since a cut id would be another's
SESSION_QUOTE_CHARS = 40  # of an unknown session id that a refusal repeats; a real one has 8
SESSION_IDLE_S = 24 * 3_600  # seconds without a call after which a session expires

# --- progress ------------------------------------------------------------------------------------------------------
STATE_BYTES = 64 * 1_024  # a task's state as JSON; it is a bookmark, no store
STATE_DEPTH = 32  # levels of such a state; the JSON writer ends at 254, and log and file add some around it
TRAIL_ENTRIES = 20  # earlier states kept in short, so that declined work is not argued again
TRAIL_TEXT_CHARS = 240  # a text in such an entry
TRAIL_ITEMS = 8  # items of a list in such an entry

# --- recall and search ---------------------------------------------------------------------------------------------
RECALL_PROMPT_CHARS = 65_536  # of a prompt that are looked at; nobody types more
RECALL_TOKENS = 24  # different tokens of a prompt that are looked up
RECALL_HITS = 4  # nodes of a recall; three were worse, more is noise
RECALL_CHARS = 2_500  # of a recall's text: it comes unasked
SEARCH_TOKENS = 32  # different tokens of a query
SEARCH_TOP = 5  # hits shown with gist and notes
SEARCH_MORE = 10  # further hits shown as one line
SEARCH_CHARS = 10_000  # of a search reply
QUERY_SHOWN_CHARS = 200  # of the query that a reply repeats
HIT_GIST_CHARS = 600  # of a gist in a search reply; a cut gist grants no view
INDEX_SLICE = 50  # nodes indexed between two turns of the loop, about 3 ms

# --- parts of a long reply -----------------------------------------------------------------------------------------
PART_RESERVE_UNITS = 300  # of a part, kept free for its last line

# --- files and journal (supervisor/files.py, supervisor/journal.py) --------------------------------------------------
MIB = 1024 * 1024  # bytes of a mebibyte
WRITE_BLOCK_BYTES = 1024 * 1024  # one write of a whole file; larger ones gain nothing
RECALL_LOG_BYTES = 8 * 1024 * 1024  # log/recall.jsonl before it is rotated: some weeks of prompts
USEFUL_LOG_BYTES = 2 * 1024 * 1024  # log/useful.jsonl; votes are rarer
CHORES_LOG_BYTES = 4 * 1024 * 1024  # log/chores.jsonl; few lines, but each with the tail of an output
SERVER_LOG_BYTES = 4 * 1024 * 1024  # log/server.log
TOKEN_BYTES = 32  # of randomness in run/token: 256 bits
SOCKET_NAME_HEX = 8  # digits of a root's hash in its socket's name; a person has a handful of roots
SOCKET_PATH_MAX_BYTES = 100  # the kernel takes 107; the rest is for a temporary name
JOURNAL_SEGMENT_BYTES = 4 * 1024 * 1024  # a segment is read whole at load, and dropped whole
JOURNAL_RETRY_S = 1.0  # pause after a failed group: a repaired disk is noticed before a person looks
JOURNAL_RIDE_ALONG_S = 0.25  # events that nobody waits for go out this late: one sync for a burst of them

# --- places (supervisor/places.py, kg/slugs.py) ----------------------------------------------------------------------
SLUG_MAX_CHARS = 64  # a folder name that still fits a status line
SLUG_MAX_BYTES = 240  # file systems take 255 bytes for a name, and a letter can have four
PLACE_NOTE_CHARS = 200  # how much of a folder's name a note repeats
FIRST_COMMIT_S = 5.0  # for git to find the first commit; a hundred thousand commits take half a second
GIT_FILE_MAX_CHARS = 64 * 1024  # of a .git file or a repository's config that is looked at; they have a few hundred

# --- tokens (kg/tokens.py) -----------------------------------------------------------------------------------------
COMPOSITE_MAX_CHARS = 200  # longest identifier or path that is a token as a whole; its parts are tokens at any length
WORD_CACHED_MAX_CHARS = 64  # longer words are rare and are not stemmed, so the cache has a size in bytes too
WORDS_CACHED = 65_536  # words kept folded and stemmed, about 12 MiB; the vocabulary of 10,000 nodes is about 40,000
CHARS_CACHED = 16_384  # characters kept classed; a text in Chinese uses about 4,000
COMPOUNDS_CACHED = 16_384  # identifiers and paths kept taken apart, about 10 MiB; a memory cites a few thousand files
LOG_LOOK_BACK = 20_000  # events behind the last checkpoint that are read at start, so that kg_sync reaches back

# --- checkpoints ---------------------------------------------------------------------------------------------------
QUIET_SAVE_S = 2.0  # seconds without a change after which a part is written
SAVE_INTERVAL_S = 30.0  # longest wait of a change for its file
SAVE_TICK_S = 1.0  # how often kg looks what is due
WATCH_TICK_S = 2.0  # how often kg looks whether a person changed a file
ENCODE_SLICE = 200  # nodes or edges encoded between two turns of the loop, about 1 ms

# --- argument checks (kg/schema.py) --------------------------------------------------------------------------------
FAULTS_NAMED_MAX = 40  # violations named one by one; no honest call has more, and a crafted one must not fill a context
FIELD_QUOTE_CHARS = 60  # how much of an unknown field's name or value is repeated; enough to find the slip
NUMBER_QUOTED_MAX = 10**18  # larger numbers are named, not printed: printing one of 10,000 digits fails

# --- supervisor: locks, sockets, arbiter (supervisor/locks, listening, arbiter, webworker) --------------------------
LOCK_POLL_S = 0.01  # between two tries for a lock; a hand-over shall cost milliseconds
PORT_PATIENCE_S = 1.2  # a busy port is tried again so long: the owner of a killed supervisor looks for it every second
PORT_POLL_S = 0.05  # between two tries for a busy port
OWNER_TIMEOUT_S = 30  # an owner that has not given a sign for so long is killed; no step of its takes one second
OWNER_TICK_S = 1.0  # between two signs of life of the owner, and between two looks for its parent
DRAIN_S = 5.0  # running requests may take so long at a stop or reload
DRAIN_POLL_S = 0.02  # between two looks for connections that have become idle
FIRST_REQUEST_S = 0.25  # a new connection may take so long for its first byte before a stop takes it for idle
HEAD_S = 10.0  # from the first byte of a request's head to its last; clients send it at once
WEBSOCKET_CLOSE_S = 0.5  # for a page's answer to our close frame; browsers give it at once
STOP_S = 25.0  # from the first signal to the kill: 5 s of requests, 10 s of git, flush and checkpoint
HURRY_S = 5.0  # from the second signal to the kill; a flush and a checkpoint
KEEPALIVE_S = 75  # an idle connection is kept; shorter would race with a client's next request
OWNER_STARTS = 5  # starts of the owner ...
OWNER_STARTS_WINDOW_S = 10.0  # ... in this time; past it the next one waits for the next tick: no start loop
LOG_VALUE_CHARS = 8_000  # of one log line; a deep traceback has about 5,000

# --- supervisor: schedule and health (supervisor/schedule.py, supervisor/health.py) ----------------------------------
PERIODS_MISSED = 3  # periods without a good run after which a task is a problem: one or two happen on a loaded machine
SCHEDULE_STOP_S = 3.0  # running tasks may end on their own at a stop
USS_CACHED_S = 30.0  # a walk over all mappings costs 1.5 ms, and private memory changes slowly
PROCESS_START_TOLERANCE_S = 2.0  # the kernel's boot time moves when the clock is set; a pid is not reused so fast

# --- worker pool (supervisor/pool.py, workers/main.py) ---------------------------------------------------------------
WORKER_MEMORY_BYTES = 1024 * 1024 * 1024  # address space of a worker; a plan for 10,000 nodes needs about 150 MiB
WORKER_NICE = 10  # a worker gives way to the owner and to the person's programs
WORKER_CPU_SPARE_S = 5  # CPU seconds over a job's limit before the kernel ends a worker that nobody watches any more
WORKER_BOOT_S = 30.0  # for a new worker's first word; it takes 0.2 s
WORKER_BEAT_S = 1.0  # between two signs of life during a job
WORKER_SILENT_S = 10.0  # without a sign of life a worker is stopped or stuck in native code
WORKER_TERM_S = 0.5  # between TERM and KILL
WORKER_PAUSE_FIRST_S = 0.05  # before a new start after a death; doubles
WORKER_PAUSE_S = 30.0  # longest such pause
JOB_KILLS = 2  # workers that one job may kill before it is set aside; one can be bad luck
JOB_BLOCK_BYTES = 256 * 1024  # written at once to a worker: well under 1 ms of the loop
JOB_HEADER_BYTES = 64 * 1024  # header of a message, at most; it has about 100 bytes
JOB_BODY_BYTES = 512 * 1024 * 1024  # body of a message, at most; more cannot be held in a worker's memory
JOB_ERROR_CHARS = 500  # of a job's error text

# --- settings ------------------------------------------------------------------------------------------------------
PORT = 7421  # TCP port on the loopback unless KG_PORT says otherwise
HISTORY_DAYS = 30.0  # days that the log is kept behind the last checkpoint
HISTORY_MIB = 64.0  # size of the kept log, whichever ends first

# --- what the agent sees -------------------------------------------------------------------------------------------
FULL_READ_CHARS = 50_000  # of a full read: a target, since an active gist is never dropped from it

# --- the owner -----------------------------------------------------------------------------------------------------
OWNER_LOCK_WAIT_S = 60.0  # longest wait for the owner before to drain and leave
COMPACTION_TICK_S = 30.0  # how often graphs that changed are planned again
COMPACTION_PAUSE_S = 0.5  # shortest time between two plans of one graph
EXPIRE_TICK_S = 600.0  # how often silent sessions are ended
KEEP_TICK_S = 3_600.0  # how often journal segments that nothing needs are dropped
STOP_WAIT_S = 25.0  # how long `kg stop` waits: draining, the last checkpoint, and a slow disk
HEALTH_WAIT_S = 5.0  # how long `kg status` waits for an answer

# --- clients, in the unit of each (their own limits: spec/clients.md) ----------------------------------------------
UNITS_PRELOAD = 9_500  # UTF-16 units of a hook text for Claude Code, which cuts past 10,000
UNITS_PART = 45_000  # UTF-16 units of a tool reply's part; Claude Code files what is past 50,000
BYTES_PRELOAD = 9_000  # UTF-8 bytes of a hook text for Codex, which cuts past 10,000
BYTES_PRELOAD_ANTIGRAVITY = 10_000  # UTF-8 bytes of a hook text for Antigravity
CODEX_PART_BYTES = 36_000  # bytes of a part for Codex in its JSON form; code mode cuts past 40,000
INLINE_PART_BYTES = 3_500  # UTF-8 bytes of a reply for Antigravity, which shows nothing past 4,096

# --- tools ---------------------------------------------------------------------------------------------------------
READ_IDS_MOST = 200  # nodes of one kg_read; more is a full read
USEFUL_IDS_MOST = 50  # ids of one kg_useful; a session has ten votes

# --- the web floor -------------------------------------------------------------------------------------------------
BODY_BYTES = 4 * 1_024 * 1_024  # of a request's body
BODY_WAIT_S = 10.0  # until a body must have arrived
REQUESTS_UNDER_WAY = 256  # requests answered at once; past it 429
TOOLS_TTL_MS = 300_000  # how long a client may keep the list of tools; it changes with a release only

# --- hooks (hooks/main.py; hooks/kg-hook repeats the first three) ---------------------------------------------------
HOOK_LIMIT_S = 0.85  # of the 0.9 s that a person waits for a hook at most; the rest starts the processes
HOOK_SESSION_START_LIMIT_S = 3.9  # of 4 s: it may have to start the service; the clients' limit is 5 s
HOOK_START_WAIT_S = 3.5  # of them for a start; the rest brings the preload
HOOK_ANSWER_SPARE_S = 0.05  # the service is told less than the hook waits, so that its answer still arrives
HOOK_START_AGAIN_S = 60.0  # between two starts behind other events
HOOK_INSTALL_HINT_S = 86_400.0  # between two hints how to install kg: once a day, not at each conversation
HOOK_STDIN_BYTES = 4 * 1024 * 1024  # the service takes no larger body
ACKS_MOST = 1_000  # deliveries acknowledged by one request; a shim has a handful under way

# --- compaction ----------------------------------------------------------------------------------------------------
LEVEL_BUDGET_CHARS = 22_000  # of a level's body: two levels and the frame stay under the 50,000 of a full read
ORPHAN_GRACE_DAYS = 365  # days in which search still finds an orphan; then it is deleted, with undo
FILL_PERCENT = 80  # of the budget: archive and refill aim at one ceiling; between two of them nothing would ever move
ANCHOR_PERCENT = 30  # of the budget that ids of archived nodes may take; more would crowd out gists
FRESH_PERCENT = 30  # of the budget for the newest nodes: by size, so that it keeps the pace of each project
RECENCY_WEIGHT = 0.25  # of the score
CONNECTEDNESS_WEIGHT = 0.40  # of the score: the most objective of the three signals
USEFULNESS_WEIGHT = 0.35  # of the score: nothing else says "needed"
IN_EDGE_WEIGHT = 66  # hundredths, for an edge that names a node as its target: being depended on counts more ...
OUT_EDGE_WEIGHT = 33  # hundredths, ... than depending
NEIGHBOUR_ACTIVE_WEIGHT = 10  # tenths, for an edge whose other end is active; an orphan and a file weigh nothing
NEIGHBOUR_ARCHIVED_WEIGHT = 2  # tenths; not nothing, so that a cluster archived together can come back
HUB_FLOOR = 0.5  # times ln(1 + edges): what a hub keeps while its neighbours are archived
USEFUL_HALF_LIFE_DAYS = 90.0  # in which an endorsement loses half of its weight
SWAP_MARGIN = 0.05  # rise of the summed score that a swap must bring: no swap for a tie, none that returns
SWAPS_PER_ROUND = 3  # then refill has its turn again
SWAP_FAILURES = 4  # candidates that fail in a row end the swaps: the best few decide
SWAPS_JUDGED = 128  # per run; each costs a scoring, and this keeps a run at 10,000 nodes near one second
PLAN_ROUNDS = 40  # per run; random graphs take 9 at most
MOVES_AT_ONCE = 150  # of a plan that an unchanged graph takes whole, about 4 ms; after an import there are thousands
MOVES_PER_STEP = 50  # moves of a larger plan, checked and applied between two turns of the loop, about 4 ms
JOB_SLICE = 200  # nodes or edges of a job written between two turns of the loop, about 1 ms
PLAN_LIMIT_S = 2.0  # of a plan in a worker; 10,000 nodes with 30,000 edges take about half of it
PLAN_SLOW_LIMIT_S = 10.0  # of the next try of a graph whose plan ran out of time
AGES_SPARE = 1_000  # stale entries in a graph's list by creation that are tolerated before it is made anew
PLAN_SHARE = 10.0  # a graph rests so many times as long as its last plan took: planning takes a tenth of a core at most
MEASURED_NODES_MOST = 1_000  # active nodes up to which a plan's result is rendered to compare; about 5 ms

# --- the owner's process -------------------------------------------------------------------------------------------
THREAD_SWITCH_S = 0.0005  # a thread waits so long for the interpreter: the journal's must not wait behind the loop
# The values of the state are no cycles, and a walk over all of them takes tens of milliseconds at 10,000 nodes.
COLLECTOR_THRESHOLDS = (10_000, 50, 100)  # objects, then rounds of the collector: a full one is for what leaks only
