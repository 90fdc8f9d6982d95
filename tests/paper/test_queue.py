"""The queue of trainings: its jobs, its order, and the minutes that logs tell."""

from pathlib import Path

import pytest

from eitlens.errors import InputError
from eitlens.paper import minutes
from eitlens.paper.cells import SEED, Cell
from eitlens.paper.queue import WISHES, Job, wishes, work
from eitlens.paper.training import Plan

RESULTS = Path(__file__).parents[2] / "results"
PLAN = Plan(RESULTS, RESULTS / "nowhere")
JOBS = [job for wish in WISHES for job in wish.jobs]


@pytest.mark.parametrize("text", ["uit/0", "published:uit/0.05", "uit/0@7", "phi-alone:unet/0@7"])
def test_a_job_is_its_text(text):
    job = Job.parse(text)
    assert str(job) == text
    assert job.plan(PLAN).recipe(job.cell).seed == (7 if "@" in text else SEED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("big:uit/0", "no variant 'big'"),
        ("uit/0@one", "expected a seed after @"),
        ("vit/0", "no network 'vit'"),
        (":uit", "expected NETWORK/TAU"),
    ],
)
def test_a_job_that_is_none(text, message):
    with pytest.raises(InputError, match=message):
        Job.parse(text)


def test_the_list_has_all_that_is_wanted_once():
    assert len(set(JOBS)) == len(JOBS)
    published = {str(job.cell) for job in JOBS if job.variant == "published"}
    assert published == {"uit/0", "uit/0.05", "uit-softmax/0", "hybrid-ut/0", "fno/0", "unet/0"}
    for name in ("boundary-data", "phi-alone", "code-fields"):
        assert {str(job.cell) for job in JOBS if job.variant == name} == {"uit/0", "unet/0", "uit/0.05"}
    for job in JOBS:
        job.plan(PLAN).recipe(job.cell)  # every one is a valid training


def test_after_the_list_the_named_cells_have_three_runs():
    from eitlens.paper.seeds import read_runs

    runs = {str(cell): len(each) for cell, each in read_runs(RESULTS).items()}
    for job in JOBS:
        if job.variant == "plain" and not job.done(PLAN):
            runs[str(job.cell)] += 1
    clean = [f"{name}/0" for name in ("uit", "uit-softmax", "cross-ut", "hybrid-ut", "unet", "unet-big")]
    assert {runs[name] for name in (*clean, "uit/0.05", "unet/0.05")} == {3}


def test_minutes_are_those_of_a_run_alone():
    """UIT trained alone took 4.0; with kernels that are formed it takes longer, and so with smaller batches."""
    alone = minutes.minutes(Job.parse("uit/0@7"), PLAN)
    assert alone == pytest.approx(4.0, abs=0.3)
    small = minutes.minutes(Job.parse("batch-10:uit/0"), PLAN)
    formed = minutes.minutes(Job.parse("published:uit/0"), PLAN)
    assert alone < small < formed < 3 * alone
    assert minutes.minutes(Job.parse("published:unet/0"), PLAN) < small


def test_a_network_that_was_never_trained_has_no_minutes(tmp_path):
    assert minutes.minutes(Job.parse("uit/0"), Plan(tmp_path, tmp_path)) is None


def test_a_job_that_is_stopped_ends_the_work(monkeypatch):
    outcomes = iter([{}, {Cell("fno", 0.0): "stopped"}])
    monkeypatch.setattr("eitlens.paper.queue.fill", lambda *_: next(outcomes))
    jobs = [Job.parse(text) for text in ("uit/0", "fno/0", "unet/0")]
    assert work(PLAN, jobs) == {jobs[1]: "stopped"}


def test_jobs_that_are_asked_for_come_in_their_order():
    (wish,) = wishes(["fno/0", "published:uit/0"])
    assert [str(job) for job in wish.jobs] == ["fno/0", "published:uit/0"]
    assert wishes() == WISHES


def test_the_page_of_the_queue_lists_what_was_wanted():
    page = (RESULTS.parent / "benchmarks/queue.md").read_text()
    assert [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")] == [
        str(job) for job in JOBS
    ]
