"""An owner of a pool, as light as the real command: pool_owner.py KIND PAYLOAD prints the result of one job."""

import sys


def main(kind, payload):
    import asyncio  # noqa: PLC0415 - the worker imports this module once more, and what stands at its top with it

    from supervisor.pool import Pool  # noqa: PLC0415 - the same

    async def run():
        pool = Pool(jobs="tests.process.strange_jobs")
        result = await pool.run(kind, payload.encode(), subject="user", version=1, limit_s=600)
        await pool.close()
        return result

    sys.stdout.buffer.write(asyncio.run(run()))


if __name__ == "__main__":
    main(*sys.argv[1:])
