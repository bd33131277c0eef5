"""What a worker can do: kind of a job -> function from bytes to bytes.

A function here is pure: no file, no network, no state between calls. It may be killed at any moment.
"""

from collections.abc import Callable, Mapping

from workers import compaction

Job = Callable[[bytes], bytes]

JOBS: Mapping[str, Job] = {"compaction": compaction.plan}
