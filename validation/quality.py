"""Faults put into simulated measurements: how many are found and named, and how many sound tanks are suspected.

    python validation/quality.py [--tanks 100] [--start SEED] [--only WORDS]

Thresholds were chosen on tanks of the seeds below 200. On tanks of other seeds below 30010 two mistakes in the check of
dead electrodes and a bar that was too high were found; those of dead electrodes therefore begin at 40000, all others at
30000. Results go to results/quality.json, each part as it is done, and are asserted at the end.
"""

import argparse
import json
import time
from pathlib import Path

from quality_faults import FAULTS, Case, sound
from study import expect

from eitlens.files import write_json
from eitlens.measure.quality import inspect

RESULTS = Path(__file__).parents[1] / "results/quality.json"
FOUND, FALSE_ALARMS = 0.95, 0.02
"""The least part of the faults that is named, the largest part of sound tanks that is suspected."""
START, STARTS = 30_000, {"dead": 40_000}
"""The first of the tanks that are reported."""
SOUND = {"sound-round": False, "sound-ellipse": True}


def case(name: str, seed: int) -> Case:
    """A measurement of a kind."""
    return sound(seed, SOUND[name]) if name in SOUND else FAULTS[name](seed)


def counted(name: str, start: int, tanks: int) -> dict[str, object]:
    """How many of the measurements of a kind are judged rightly, and which are not."""
    begin, wrong = time.perf_counter(), []
    for seed in range(start, start + tanks):
        measurement, named = case(name, seed)
        report = inspect(measurement)
        if not named(report):
            wrong.append({"seed": seed, "findings": [finding.text for finding in report.findings]})
            print(f"    {name}, seed {seed}: {wrong[-1]['findings']} {report.facts}", flush=True)
    print(f"  {name}: {tanks - len(wrong)} of {tanks} in {time.perf_counter() - begin:.0f} s", flush=True)
    return {"tanks": tanks, "start": start, "right": tanks - len(wrong), "wrong": wrong}


def main() -> None:
    """Count, write and assert."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tanks", type=int, default=100)
    parser.add_argument("--start", type=int)
    parser.add_argument("--only", default="", help="kinds whose name has this in it")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    kinds = [name for name in (*FAULTS, *SOUND) if given.only in name]
    for name in kinds:
        known = json.loads(given.out.read_text()) if given.out.exists() else {}
        write_json(
            given.out, known | {name: counted(name, given.start or STARTS.get(name, START), given.tanks)}
        )
    found = json.loads(given.out.read_text())
    for name in kinds:
        part = found[name]["right"] / found[name]["tanks"]
        least = 1 - FALSE_ALARMS if name in SOUND else FOUND
        expect(part >= least, f"{name}: {part:.0%} are judged rightly (at least {least:.0%})")


if __name__ == "__main__":
    main()
