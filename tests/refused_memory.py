"""What is too large for the memory that is allowed is refused at once."""

from __future__ import annotations

import re
import tracemalloc

import pytest

from palmette import TrellisTooLarge


def assert_refused_at_once(make, n, way_out):
    """`make()` raises before anything is allocated, and says how much it would need and what to do."""
    tracemalloc.start()
    try:
        with pytest.raises(TrellisTooLarge) as error:
            make()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000
    message = str(error.value)
    assert f"n = {n} leaves" in message
    assert re.search(r"needs [0-9.e+]+ (bytes|[KMGTPE]B)", message)
    assert way_out in message
    allowed = "at most 30 leaves are possible" if n == 31 else r"[0-9.]+ (bytes|[KMGTPE]B) are allowed"
    assert re.search(allowed, message)
