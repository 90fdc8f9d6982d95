"""The data sets there are by name. Adding one is a line here."""

from eitlens.checks import choose
from eitlens.dataset.config import DataConfig, SamplerConfig, SolverConfig

_WORLDS = SamplerConfig(
    "worlds",
    count=6,
    worlds=(
        *("paper", "paper-disjoint", "inclusions", "inclusions-disjoint") * 2,
        "phases",
        "mixed",
        "smooth",
    ),
)

PRESETS: dict[str, DataConfig] = {
    config.name: config
    for config in (
        # The paper's: four ellipses that may overlap, σ = 10 in their union and 1 around it.
        DataConfig("paper", solver=SolverConfig("grid")),
        # The same, conditioned on no two ellipses coming near each other: accurate to nine digits.
        DataConfig(
            "paper-disjoint",
            sampler=SamplerConfig(disjoint=True),
            solver=SolverConfig("boundary-integral", tolerance=1e-9),
        ),
        # Small enough for a laptop's patience and the tests.
        DataConfig(
            "smoke",
            n=64,
            train=96,
            validation=32,
            test=32,
            shard=32,
            sampler=SamplerConfig(count=2, disjoint=True),
            solver=SolverConfig("boundary-integral", tolerance=1e-6),
        ),
        # Bodies of which a network must not assume anything, with σ: 4 of 11 are the paper's, 4 hold inclusions of any
        # number, form and contrast, and 3 are no mere lists of shapes.
        DataConfig("worlds", sampler=_WORLDS, solver=SolverConfig("grid", tolerance=1e-5), sigma=True),
        # The same, small.
        DataConfig(
            "worlds-smoke",
            n=32,
            train=96,
            validation=32,
            test=32,
            shard=32,
            sampler=SamplerConfig("worlds", count=3),
            solver=SolverConfig("grid", tolerance=1e-4),
            sigma=True,
        ),
        # The paper's, half of them conditioned on no two ellipses coming near each other, by one solver.
        DataConfig(
            "paper-both",
            sampler=SamplerConfig("worlds", worlds=("paper", "paper-disjoint")),
            solver=SolverConfig("grid"),
        ),
    )
}


def preset(name: str) -> DataConfig:
    """The named data set, or an error that lists the names there are."""
    choose("data preset", name, tuple(PRESETS))
    return PRESETS[name]
