"""What the machine can do at most: bytes copied and floating point operations in a second.

Both are measured with NumPy on all processors: copies of arrays that no cache holds, and products of
matrices, which keep the units for multiply-adds busy.
"""

import os
import threading
import time

import numpy as np

COPIED = 64 << 20
SIDE = 1536


def measure() -> dict:
    return {"bytes": copied(), "operations": multiplied()}


def share(record: dict, limits: dict) -> tuple[float, str] | None:
    """Which part of a limit a program's time comes to, of the limit that is nearer; and which that is."""
    if not record.get("rxla"):
        return None
    of_copy = record["bytes"] / record["rxla"] / limits["bytes"]
    of_operations = record["operations"] / record["rxla"] / limits["operations"]
    return (of_copy, "copy") if of_copy >= of_operations else (of_operations, "FLOP")


def copied() -> float:
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    pairs = [(np.ones(COPIED, np.uint8), np.zeros(COPIED, np.uint8)) for _ in range(count)]

    def once() -> None:
        threads = [threading.Thread(target=np.copyto, args=(to, source)) for source, to in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return 2 * COPIED * count / fastest(once)


def multiplied() -> float:
    a, b = np.ones((SIDE, SIDE), np.float32), np.ones((SIDE, SIDE), np.float32)
    out = np.empty_like(a)
    return 2 * SIDE**3 / fastest(lambda: np.dot(a, b, out=out))


def fastest(run) -> float:
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best
