"""docs/results.md: written by `eitlens benchmark`, from the result files alone."""

from dataclasses import dataclass
from pathlib import Path

from eitlens.paper import table1, table2
from eitlens.paper.cells import TABLE1, VARIANTS_FOLDER, read_shipped, read_table
from eitlens.paper.markdown import HEADS, NONE, number, table
from eitlens.paper.orderings import orderings
from eitlens.paper.published import LEVELS, METRICS, published
from eitlens.paper.queue import WISHES
from eitlens.paper.seeds import read_runs, seeds_table, widest
from eitlens.paper.variants import PLAIN
from eitlens.weights import SHIPPED

_WRITTEN = ("results.md", "api.md")  # as a whole
_HEAD = """# Results

Written by `eitlens benchmark table1` and `eitlens benchmark table2` from the files in `results`: do not edit. What
these numbers mean, what reproduced and what did not: [findings.md](findings.md).

Each cell of Table 1 is one network trained at one noise level by the paper's recipe (8,640 training samples of
`eitlens generate --preset paper`, 50 epochs, the best of 50 validations kept; in batches of 32 and bfloat16, where the
published code has 10 and float32) and scored on the 2,000 test samples. {state} Hybrid UT adds three side heads to its
logits, which the published function does not use. The U-Net with coarse attention, AFNO and MWO have no published code:
they are built to the printed numbers of parameters. All networks start as ours do: the [table of
deviations](findings.md#what-we-did-otherwise) has every choice.
Names in bold are networks that come with the package: trained by another recipe, and one network for all noise levels.
Metrics are defined in [training.md](training.md).
"""
_NOTES = {
    "paper_l2": """The published code halves this error, and so does our metric of that name; the printed columns for
τ > 0 are most likely on a scale √2 larger than those for τ = 0 (see findings).""",
    "cross_entropy": "Mean over the nodes, in nats.",
    "soft_dice": "The paper's form, without a threshold.",
}
_APART = """The networks of the package on the 2,000 test samples of `paper-disjoint`, whose data come from another
solver (boundary integrals, nine digits) than those they were trained on."""
_SEEDS = """Runs of the same recipe on the same data, which differ in their seed alone: the mean of their test scores,
and in brackets the least and the most. All other tables show the run of the published code's seed, 1127802; the other
runs have 1127803 and 1127804. Dice moves with the epoch that is kept; at the end of training the runs are closer."""
_ORDERINGS = """A pair of networks counts as `holds` or `reversed` where the reaches of its two cells do not overlap.
With three runs or more, the reach of a cell is that of the 95 % intervals of its runs together. With fewer, the widest
range over the seeds of any cell, {dice:.4f} of Dice and {l2:.4f} of L2, is added on both sides."""
_RUNS = """Minutes are those of the run; most shared the GPU. A star at a commit: when the run ended, the repository had
changes that this commit has not, new results among them. Now a training with changes in the package is refused."""
_VARIANTS = """What they are: [findings.md](findings.md#what-is-open). A dash: wanted, and not trained yet."""
_COSTS = """Layers, width, modes and norm are the paper's words, as far as it has them: `layer` is the norm of
attention (all convolutions have batch norms), and the Hybrid UT has five levels down and four up. The paper's
parameters are those of its own table of costs, or of its Table 1 where that has no such row. GFLOP: 10⁹ operations
of the forward pass of one image, a multiplication with an addition counted as two; those of cosine and sine
transforms, which are products with tables here, not FFTs, stand apart. The paper's column is its profiler's for a
batch of 8, which counts convolutions forward, matrix products forward and backward, and no transposed convolutions.
The column before it counts the published form of our networks in the same way, those in the shape of a U: these two
compare. The batch of its speeds is not stated. With a batch of 8 arithmetic does
not decide on an H200: `uit-small` has a quarter of UIT's and is no faster."""


@dataclass(frozen=True)
class Places:
    """The sources of the page's numbers: the root of the repository, and the networks of the package."""

    root: Path
    shipped: Path = SHIPPED

    @property
    def results(self) -> Path:
        """The result files."""
        return self.root / "results"

    @property
    def sources(self) -> Path:
        """The networks in the repository, whose cards are written; those of an installed package never are."""
        return self.root / "src" / "eitlens" / "weights"

    @property
    def recorded(self) -> Path:
        """Speeds measured on a GPU."""
        return self.root / "benchmarks" / "results" / "models_h200.jsonl"

    @property
    def page(self) -> Path:
        """The page."""
        return self.root / "docs" / "results.md"

    @property
    def classical(self) -> Path:
        """The page of images without training, with tables of its own."""
        return self.root / "docs" / "classical.md"

    @property
    def tables(self) -> Path:
        """What the tables of other pages are made of."""
        return self.root / "docs" / "tables"

    @property
    def quoting(self) -> tuple[Path, ...]:
        """The pages whose numbers are kept up to date (`eitlens.paper.quotes`)."""
        pages = (*sorted((self.root / "docs").glob("*.md")), self.root / "README.md")
        return tuple(page for page in pages if page.exists() and page.name not in _WRITTEN)


def _state(done: int, wanted: int) -> str:
    if done == wanted:
        return f"All {wanted} cells are done."
    return f"{done} of {wanted} cells are done; the others are shown as missing."


def compose(places: Places) -> str:
    """The page's text."""
    cells, shipped = read_table(places.results / TABLE1), read_shipped(places.shipped)
    runs = read_runs(places.results)
    parts = [_HEAD.format(state=_state(len(cells), len(published()) * len(LEVELS))), "## Table 1"]
    for metric in METRICS:
        parts += [f"### {HEADS[metric]}", _NOTES[metric], table1.comparison(cells, shipped, metric)]
    parts += ["### Every metric", "Mean over the test set and half of its 95 % bootstrap interval."]
    parts += [table1.everything(cells, shipped), "## Seeds", _SEEDS, seeds_table(runs)]
    most = {name: widest(runs, metric) for name, metric in (("dice", "soft_dice"), ("l2", "paper_l2"))}
    parts += ["## Orderings", _ORDERINGS.format(**most)]
    for metric in ("soft_dice", "paper_l2"):
        parts += [f"By {HEADS[metric]}:", orderings(runs, metric)]
    apart = read_shipped(places.shipped, "paper-disjoint")
    parts += ["## Phantoms whose ellipses do not touch", _APART, table1.everything({}, apart)]
    parts += ["## Trained without noise, tested with it"]
    for metric in ("soft_dice", "paper_l2"):
        parts += [f"{HEADS[metric]}:", table1.clean_under_noise(cells, metric)]
    parts += ["## The runs", _RUNS, table1.trainings(runs), *_variants(places.results / VARIANTS_FOLDER)]
    costs = table2.read_costs(places.results / "table2")
    parts += ["## Table 2", _COSTS, table2.table2(costs, places.recorded)]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _variants(folder: Path) -> list[str]:
    """Cells trained by a changed recipe, the named variants of `eitlens benchmark table1`, and those still wanted."""
    rows = {}
    for place in sorted(path for path in folder.glob("*") if path.is_dir()):
        for cell, record in read_table(place).items():
            scores = record.scores[cell.tau]
            rows[place.name, cell] = [number(scores[metric].mean) for metric in HEADS]
    wanted = [(job.variant, job.cell) for wish in WISHES for job in wish.jobs if job.variant != PLAIN]
    rows |= {key: [NONE] * len(HEADS) for key in wanted if key not in rows}
    lines = [
        [name, published()[cell.preset].title, f"{cell.tau:g}", *values]
        for (name, cell), values in rows.items()
    ]
    return [
        "## Variants of the recipe",
        _VARIANTS,
        table(["variant", "network", "τ", *HEADS.values()], lines),
    ]
