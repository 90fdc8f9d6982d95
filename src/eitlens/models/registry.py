"""Every network by name: those of the package, and those that a user registers."""

from dataclasses import asdict, fields, replace
from typing import Any, get_args, get_type_hints

from torch import nn

from eitlens.checks import at_least, shown
from eitlens.errors import InputError
from eitlens.models import afno, flagship, fno, hybrid, mwo, tank, uit, unet, worlds
from eitlens.models.base import Network, Preset
from eitlens.models.layers import channels_last
from eitlens.registry import Registry


def _accepted(name: str, thing: object) -> Preset:
    if not isinstance(thing, Preset):
        raise InputError(f"network {name!r}: expected an eitlens.models.Preset, got {shown(thing)}")
    return thing


NETWORKS: Registry[Preset] = Registry(
    "network",
    {
        name: preset
        for module in (uit, unet, hybrid, fno, afno, mwo, flagship, tank, worlds)
        for name, preset in module.PRESETS.items()
    },
    _accepted,
)


def names(reads: str = "harmonic") -> list[str]:
    """The names `create` knows, of the networks that read one kind of input."""
    return [name for name, preset in NETWORKS.items() if preset.build.reads == reads]


def create(
    name: str, *, currents: int | None = None, faithful: bool = False, **overrides: bool | float | str
) -> Network:
    """An untrained network in training mode, its convolutions laid out with the channels innermost.

    Args:
        name: one of `names()`.
        currents: number of currents in the input, the preset's own when left out.
        faithful: the published initialisation and order of operations where ours differ; each network's
            docstring says what does. A network in which nothing differs refuses it.
        overrides: any other field of the network's configuration; an unknown one is an error.
    """
    chosen = NETWORKS[name]
    known = {field.name for field in fields(chosen.config)}
    given: dict[str, Any] = dict(overrides)
    if currents is not None:
        given["currents"] = currents
    if faithful and "faithful" not in known:
        raise InputError(f"{name} is built as published: faithful=True changes nothing, leave it out")
    if faithful:
        given["faithful"] = True
    return build(name, asdict(chosen.config) | given)


def takes_faithful(name: str) -> bool:
    """Whether `faithful=True` changes anything in the network of this name."""
    try:
        replace(NETWORKS[name].config, faithful=True)
    except (TypeError, InputError):
        return False
    return True


def build(name: str, settings: dict[str, Any]) -> Network:
    """The named network with exactly these settings, each checked."""
    chosen = NETWORKS[name]
    hints = get_type_hints(type(chosen.config))
    for key, value in settings.items():
        if key not in hints:
            raise InputError(f"{name} has no setting {key!r}: it has {', '.join(hints)}")
        _check(name, key, value, hints[key])
    network = chosen.build(replace(chosen.config, **settings))
    network.preset = name
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
            module.weight.data = channels_last(module.weight.data)
    return network


def _check(name: str, key: str, value: object, hint: Any) -> None:
    choices = get_args(hint)
    if choices and value not in choices:
        raise InputError(f"{name}: {key} must be one of {', '.join(map(repr, choices))}, got {value!r}")
    if not choices and type(value) is not hint:
        raise InputError(f"{name}: {key} must be of type {hint.__name__}, got {value!r}")
    if hint is int:
        at_least(f"{name}: {key}", value, 1)  # type: ignore[arg-type]
    if hint is float and not 0 <= value < 1:  # type: ignore[operator]
        raise InputError(f"{name}: {key} must lie in [0, 1), got {value}")
