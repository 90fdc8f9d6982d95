"""Requests of the page about tanks: one that is drawn, and files of one that was measured."""

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, StringConstraints, ValidationError

from eitlens.domain import Disk, Domain, bodies
from eitlens.errors import InputError
from eitlens.measure.setup import Setup
from eitlens.phantom import Phantom
from eitlens.web.schema import LARGEST_SEED, Name, Strict, phantom_within, reason

BODIES: dict[str, Domain] = {
    "disk": Disk(64, scale=0.1),
    "ellipse": bodies.ellipse(0.1, 0.07),
    "thorax": bodies.thorax(),
    "rectangle": bodies.rectangle(0.2, 0.14),
}
"""Bodies to draw in: an outline that fills the box, and metres of a unit of its coordinates."""
ELECTRODES, COVERAGE = (8, 32), (0.1, 0.9)
"""The fewest and the most that are drawn: with 64 an image by Gauss-Newton takes half a minute."""
SNR = (20.0, 120.0)
"""Decibels, from 10 % of noise to next to none."""
MOST_METHODS, MOST_FILES, MOST_FRAMES = 6, 64, 16
"""Methods and frames of one answer, and files of one measurement."""
LARGEST_HEADER, LARGEST_UPLOAD = 1 << 16, 1 << 24
_FILE = 8 << 20  # bytes of one file

Pattern = Annotated[
    str, StringConstraints(pattern=r"^(adjacent|opposite|trigonometric|skip-[1-9]|all-against-1)$")
]
Methods = Annotated[tuple[Name, ...], Field(max_length=MOST_METHODS)]


class DrawnTank(Strict):
    """A tank in words and plain numbers."""

    body: Literal["disk", "ellipse", "thorax", "rectangle"]
    electrodes: Annotated[int, Field(ge=ELECTRODES[0], le=ELECTRODES[1])]
    coverage: Annotated[float, Field(ge=COVERAGE[0], le=COVERAGE[1])]
    pattern: Pattern


class TankDrawing(Strict):
    """What is drawn in a tank, how it is measured, and the methods that image it."""

    client: Name
    tank: DrawnTank
    phantom: Annotated[Phantom, PlainValidator(lambda shapes: phantom_within(shapes, 0))] = Field(
        alias="shapes"
    )
    snr: Annotated[float, Field(ge=SNR[0], le=SNR[1])]
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)]
    methods: Methods
    save: bool = False
    """Whether the measurement is answered as a file, instead of images."""


class GivenSetup(Strict):
    """What a person says of a tank where its file does not; no path of a file is taken."""

    body: Literal["disk", "ellipse", "thorax", "rectangle"] | None = None
    electrodes: Annotated[int, Field(ge=4, le=128)] | None = None
    pattern: Pattern | None = None
    first: Annotated[float, Field(ge=-360, le=360)] | None = None
    coverage: Annotated[float, Field(ge=COVERAGE[0], le=COVERAGE[1])] | None = None
    unit: Literal["V", "mV", "uV"] | None = None
    clockwise: bool | None = None
    driven: bool | None = None
    rotating: bool | None = None
    flipped: bool | None = None
    calibrated: bool | None = None

    def setup(self) -> Setup:
        """The setup as readers of files take it."""
        said: dict[str, Any] = self.model_dump(exclude_none=True)
        if self.body is not None:
            said["body"] = BODIES[self.body]
        return Setup(**said)


class SentFile(Strict):
    """The name of a file, for messages, and its size in the body of the request."""

    name: Annotated[str, Field(min_length=1, max_length=120)]
    size: Annotated[int, Field(ge=0, le=_FILE)]


class TankFiles(Strict):
    """A measured tank: files of frames and of the empty tank, and which frames are imaged how."""

    client: Name
    methods: Methods
    files: Annotated[tuple[SentFile, ...], Field(min_length=1, max_length=MOST_FILES)]
    reference: Annotated[tuple[SentFile, ...], Field(max_length=MOST_FILES)] = ()
    reference_frames: Annotated[int, Field(ge=0, le=100_000)] = 0
    """So many frames at the beginning are of the empty tank; 0 where the file or `reference` has them."""
    setup: GivenSetup = GivenSetup()
    first: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    count: Annotated[int, Field(ge=1, le=MOST_FRAMES)] = 1


def read_tank(body: bytes) -> TankDrawing:
    """The drawing in a request's body."""
    try:
        return TankDrawing.model_validate_json(body)
    except ValidationError as error:
        raise InputError(reason(error)) from None


def read_files(body: bytes) -> tuple[TankFiles, list[bytes]]:
    """The request and its files: a line of JSON, and then the bytes of each file, those of the reference last."""
    line, end, _ = body[: LARGEST_HEADER + 1].partition(b"\n")
    if not end:
        raise InputError(
            f"request: expected a line of JSON of at most {LARGEST_HEADER:,} bytes, then the files"
        )
    try:
        asked = TankFiles.model_validate_json(line)
    except ValidationError as error:
        raise InputError(reason(error)) from None
    parts, at = [], len(line) + 1
    for file in (*asked.files, *asked.reference):
        parts.append(body[at : at + file.size])
        at += file.size
    if at != len(body):
        raise InputError(
            f"files: {at - len(line) - 1:,} bytes were announced, {len(body) - len(line) - 1:,} came"
        )
    return asked, parts
