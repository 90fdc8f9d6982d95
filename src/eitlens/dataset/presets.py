"""The data sets there are by name. Adding one is a line here."""

from eitlens.checks import choose
from eitlens.dataset.config import DataConfig, SamplerConfig, SolverConfig

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
    )
}


def preset(name: str) -> DataConfig:
    """The named data set, or an error that lists the names there are."""
    choose("data preset", name, tuple(PRESETS))
    return PRESETS[name]
