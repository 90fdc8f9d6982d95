"""Names for things that a file or a command line must spell, and the door through which users add their own.

Each kind of thing has one `Registry`, in the folder that says what the thing is. A program need not register
anything that it passes as an object.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from eitlens.checks import shown
from eitlens.errors import InputError

T = TypeVar("T")

HOMES = {
    "body": ("eitlens.domain.bodies", "BODIES"),
    "pattern": ("eitlens.electrodes.patterns", "PATTERNS"),
    "shape": ("eitlens.phantom.kinds", "KINDS"),
    "solver": ("eitlens.forward.automatic", "SOLVERS"),
    "sampler": ("eitlens.phantom.registry", "SAMPLERS"),
    "input": ("eitlens.feature.storage", "INPUTS"),
    "network": ("eitlens.models.registry", "NETWORKS"),
    "method": ("eitlens.imaging.methods", "METHODS"),
    "format": ("eitlens.measure.formats.registry", "FORMATS"),
}
"""Places of the registries by kind; imported when asked for, so that `import eitlens` stays light."""


class Registry(dict[str, T]):
    """The things of one kind by name; an unknown name is an `InputError` that lists the known ones.

    `accept(name, thing)` returns what is kept for a thing, or refuses it. The names given at the start belong to
    the package: they are not replaced, or files of before would mean something else.
    """

    def __init__(
        self, kind: str, things: Mapping[str, T], accept: Callable[[str, Any], T] | None = None
    ) -> None:
        super().__init__(things)
        self.kind, self._own, self._accept = kind, frozenset(things), accept

    def __getitem__(self, name: str) -> T:
        return super().__getitem__(name) if isinstance(name, str) else self.__missing__(name)

    def __missing__(self, name: str) -> T:
        raise InputError(
            f"no {self.kind} is called {shown(name)}: choose one of {', '.join(self)}; one of your own needs the "
            "module that registers it: --plugin MODULE"
        )

    def check(self, where: str, name: object) -> None:
        """Raise an `InputError` unless `name`, the value of the setting `where`, is there."""
        if not isinstance(name, str) or name not in self:
            raise InputError(
                f"{where} must be one of {', '.join(self)}, got {name!r}: if it is your own, give the module that "
                "registers it with --plugin"
            )

    def __setitem__(self, name: str, thing: Any) -> None:
        if not isinstance(name, str) or not name:
            raise InputError(f"{self.kind}: expected a name, got {name!r}")
        if name in self._own:
            raise InputError(f"{self.kind} {name!r} is one of eitlens itself: choose another name")
        super().__setitem__(name, self._accept(name, thing) if self._accept else thing)


def registered(kind: str) -> Registry[Any]:
    """Return all things of one kind by name; a kind that is not there is refused with those that are.

    >>> import eitlens as eit
    >>> list(eit.registered("method"))[:3]
    ['network', 'dsm', 'posterior']
    """
    if not isinstance(kind, str) or kind not in HOMES:
        raise InputError(f"register: there is no kind {shown(kind)}: the kinds are {', '.join(HOMES)}")
    module, name = HOMES[kind]
    found: Registry[Any] = getattr(import_module(module), name)
    return found


def register(kind: str, name: str, thing: Any = None) -> Any:
    """Give a thing of your own a name that files, configurations and the command line can spell.

    Returns the thing; without one, a decorator for it.

    >>> import eitlens as eit
    >>> @eit.register("sampler", "centre")
    ... class Centre(eit.EllipseSampler):
    ...     "Draws ellipses as the paper does, under a name of its own."
    >>> eit.registered("sampler")["centre"] is Centre
    True
    """
    if thing is None:
        return lambda later: register(kind, name, later)
    registered(kind)[name] = thing
    return thing
