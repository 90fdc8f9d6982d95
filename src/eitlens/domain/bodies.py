"""The bodies a measurement may be of, by the name that its file gives. A new one is a line here."""

from eitlens.domain import Disk, Domain, Square

SQUARE = Square(200)
"""The body where nothing is said: that of the paper, which the trained networks know."""

BODIES: dict[str, Domain] = {body.name: body for body in (SQUARE, Disk(200))}
