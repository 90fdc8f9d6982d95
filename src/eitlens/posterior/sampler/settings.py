"""Settings of the sampler: how hard it tries."""

from dataclasses import dataclass, replace

from eitlens import checks
from eitlens.posterior.model.likelihood import FLOOR


@dataclass(frozen=True)
class Settings:
    """Settings of the sampler."""

    ensembles: int = 4
    """Independent ensembles of chains a measurement: they must agree."""
    levels: int = 28
    """Levels of noise from the prior to the posterior: about twice `Diagnostics.barrier`."""
    warmup: int = 120
    """Sweeps before the levels and step sizes are fixed."""
    least: int = 100
    """Sweeps after it before the ensembles are compared …"""
    most: int = 4000
    """… and at most."""
    manifold_steps: int = 1
    """Manifold steps a sweep."""
    tries: int = 1
    """Proposals of a guide at once: many cost little where the batch is small for the machine."""
    top: float = 0.2
    """The level at which a ladder with a guide begins, or less if the guide does not know it."""
    ladders: int = 1
    """Ladders of each ensemble after the warm-up, all from the places where it ended: what it was to find is found
    sooner, and R-hat still sees whether the start is forgotten."""
    floor: float = FLOOR
    """White noise in the model where f - f0 vanishes, in units of τ rms(f - f0); see `likelihood`."""
    seed: int = 0
    """The same seed, settings and machine give the same samples."""

    def __post_init__(self) -> None:
        fewest = {"ensembles": 2, "levels": 3, "warmup": 2, "most": self.least}
        for name in ("ensembles", "levels", "warmup", "least", "most", "manifold_steps", "tries", "ladders"):
            checks.at_least(f"posterior: {name}", getattr(self, name), fewest.get(name, 1))
        for name in ("top", "floor"):
            checks.positive_number(getattr(self, name), f"posterior: {name}")


# A guide begins where the data already say something, not at the prior: fewer levels, and sooner settled. On a GPU
# more chains cost little (docs/posterior_notebook.md).
GUIDED = Settings(levels=12, warmup=40, manifold_steps=4, tries=2)
GUIDED_ON_A_GPU = replace(GUIDED, tries=4, ladders=32, least=40)
