"""Changes of the paper's recipe by name, to find out what each does. Adding one is an entry here.

The recipe of Table 1 is the paper's where it says something (Adam, 1cycle, 50 epochs of 8,640 samples, plain
cross entropy, no augmentation, the best validation kept) and ours where it does not matter: batches of 32 in
bfloat16 on a compiled network, its integrals evaluated in another order, and a sound initialisation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eitlens.errors import InputError
from eitlens.models.registry import NETWORKS, takes_faithful
from eitlens.train.config import TrainConfig


@dataclass(frozen=True)
class Variant:
    """Settings of `TrainConfig` that differ; `paper` says whether it is still the paper's recipe.

    Attributes:
        text: what differs, for people.
        paper: whether it is still the paper's recipe, in its text or in its code.
        changes: fields of `TrainConfig`.
        settings: fields of the network's own configuration. A network that has them already is refused.
        faithful: the network as published, where that differs from ours.
    """

    text: str
    paper: bool
    changes: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    faithful: bool = False

    def __call__(self, config: TrainConfig) -> TrainConfig:
        """The configuration with the changes."""
        name, settings = config.network.preset, dict(self.settings)
        for key, value in settings.items():
            if getattr(NETWORKS[name].config, key, value) == value:
                raise InputError(
                    f"{name}: {key}={value} changes nothing: choose another network or variant={PLAIN}"
                )
        network = replace(config.network, settings=settings, faithful=self.faithful and takes_faithful(name))
        return replace(config, network=network, **self.changes)


PLAIN = "plain"
VARIANTS: dict[str, Variant] = {
    PLAIN: Variant("the recipe of Table 1", paper=True),
    "batch-10": Variant("the published code's batch, whose noisier steps regularise", True, {"batch": 10}),
    "published": Variant(
        "the published code's batch, loss weights, gradient channels, initialisation and dropout on the kernel",
        True,
        {"batch": 10, "loss": "weighted-bce", "gradient": "repo"},
        faithful=True,
    ),
    "last-head": Variant(
        "Hybrid UT as published: the logits are those of its last head alone",
        True,
        settings={"side_heads": False},
    ),
    "coarse-norms": Variant(
        "UIT with a softmax, and the norms on the coarsest grid that its published form leaves out",
        False,
        settings={"coarse_norms": True},
    ),
    "average": Variant("a running mean of the weights is validated and kept", False, {"average": 0.999}),
    "decay": Variant("and weights decay", False, {"average": 0.999, "weight_decay": 0.05}),
    "symmetry": Variant(
        "the finite set moved by the four symmetries that cos θ allows, and a running mean of the weights",
        False,
        {"augment": True, "average": 0.999},
    ),
    "boundary-data": Variant(
        "instead of φ and ∇φ the boundary data themselves, constant along rays from the centre",
        False,
        {"input": "boundary"},
    ),
    "phi-alone": Variant("φ without its gradient", False, {"input": "potential"}),
    "code-fields": Variant(
        "φ and ∇φ of whitened data: the fields of the Gaussian code", False, {"input": "code-fields"}
    ),
}
