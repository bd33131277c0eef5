"""The job `compaction`: bytes of a graph in, bytes of a proposal out."""

from kg.compaction import plan as plan_of
from kg.job import decode_job
from kg.proposal import encode_proposal


def plan(payload: bytes) -> bytes:
    """Plan a run.

    Raises:
        ValueError: the payload is no job.
    """
    return encode_proposal(plan_of(decode_job(payload)))
