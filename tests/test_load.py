"""What the load benchmark says of memory: flat where it only breathes, missed where it grows."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

SPEC = spec_from_file_location("load", Path(__file__).parents[1] / "benchmarks" / "load.py")
load = sys.modules["load"] = module_from_spec(SPEC)  # where dataclasses look for their module
SPEC.loader.exec_module(load)

BREATH = [400.0, 430.0, 400.0, 395.0] * 15


def told(sizes: list[float]) -> list[str]:
    peak = {"after_a_third": max(sizes[: len(sizes) // 3]), "end": max(sizes)}
    return load.missed({"problems": [], "p95_s": 1.0, "memory_mib": load.trend(sizes), "peak_mib": peak})


def test_memory_that_breathes_is_flat():
    assert load.trend(BREATH)["medians_of_thirds"] == [400.0, 400.0, 400.0]
    assert told(BREATH) == []


def test_memory_that_grows_is_told():
    grown = [size + 2.0 * k for k, size in enumerate(BREATH)]
    assert len(told(grown)) == 2
