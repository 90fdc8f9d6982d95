"""The bodies by the names that files give them: those of the package, and those that a user registers."""

from typing import Any

from eitlens.domain.base import Domain
from eitlens.domain.disk import Disk
from eitlens.domain.square import Square
from eitlens.errors import InputError
from eitlens.registry import Registry

SQUARE = Square(200)
"""The body where a file names none: that of the paper, which the trained networks know."""


def _accepted(name: str, thing: object) -> Domain:
    if not isinstance(thing, Domain) or thing.name != name:
        raise InputError(f"body {name!r}: expected an eitlens.Domain whose name is {name!r}, got {thing!r}")
    return thing


BODIES: Registry[Domain] = Registry("body", {body.name: body for body in (SQUARE, Disk(200))}, _accepted)


def without_square(values: dict[str, Any]) -> dict[str, Any]:
    """Values for a file, less the body where it is the square: older files have no such key."""
    return {key: value for key, value in values.items() if (key, value) != ("body", SQUARE.name)}
