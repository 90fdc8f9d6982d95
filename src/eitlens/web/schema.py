"""The requests of the page. Everything has a limit, and whatever is wrong is said in one line."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from eitlens.errors import InputError
from eitlens.phantom import Phantom, files

MOST_SHAPES, MOST_MODELS, MOST_CURRENTS = 12, 4, 3  # networks read three currents; all others bound the time
MOST_VERTICES, MOST_IN_ALL = 64, 256
"""Of a polygon, and of all together: the time of a solve grows with both."""
LARGEST_TAU, LARGEST_SEED = 2.0, 2**31 - 1  # noise of twice the signal; what JavaScript draws
CONDUCTIVITIES = (1e-3, 1e3)  # against 1 around: at 1,000 the data are 0.3 % from a perfect conductor's
_REASONS, _OURS = 3, "Value error, "
"""So many mistakes are told of; what pydantic puts in front of ours."""

Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.-]+$")]
Names = Annotated[tuple[Name, ...], Field(max_length=MOST_MODELS)]


class Strict(BaseModel):
    """No unknown keys, no text for numbers, no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def phantom_within(shapes: object, fewest: int) -> Phantom:
    """The phantom of at least so many shapes as they are in a file, within the limits of the page."""
    if not isinstance(shapes, list) or not fewest <= len(shapes) <= MOST_SHAPES:
        raise InputError(f"expected a list of {fewest} to {MOST_SHAPES} shapes")
    corners = [0, *map(_corners, shapes)]  # before the shapes are made, which takes time
    if max(corners) > MOST_VERTICES or sum(corners) > MOST_IN_ALL:
        given = f"{max(corners)} and {sum(corners)}"
        raise InputError(f"vertices: at most {MOST_VERTICES} a polygon and {MOST_IN_ALL} in all, got {given}")
    phantom, (least, most) = files.from_dict({"shapes": shapes}), CONDUCTIVITIES
    for k, sigma in enumerate(phantom.inside):
        if not least <= sigma <= most:
            raise InputError(f"shape {k}: conductivity: expected {least:g} to {most:g}, got {sigma:g}")
    return phantom


def _corners(shape: object) -> int:
    vertices = shape.get("vertices") if isinstance(shape, dict) else None
    return len(vertices) if isinstance(vertices, list) else 0


class Drawing(Strict):
    """Inclusions drawn on the page, how they are measured, and which networks look at them."""

    client: Name
    phantom: Annotated[Phantom, PlainValidator(lambda shapes: phantom_within(shapes, 1))] = Field(
        alias="shapes"
    )
    currents: Annotated[int, Field(ge=1, le=MOST_CURRENTS)]
    tau: Annotated[float, Field(ge=0, le=LARGEST_TAU)]
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)]
    models: Names
    quick: bool = False


class Choice(Strict):
    """The client of an upload, and the networks that look at its measurement."""

    client: Name
    models: Names


def read_drawing(body: bytes) -> Drawing:
    """The drawing in a request's body."""
    try:
        return Drawing.model_validate_json(body)
    except ValidationError as error:
        raise InputError(reason(error)) from None


def read_choice(client: str, models: str) -> Choice:
    """The choice in a request's query, models separated by commas."""
    try:
        return Choice(client=client, models=tuple(name for name in models.split(",") if name))
    except ValidationError as error:
        raise InputError(reason(error)) from None


def reason(error: ValidationError) -> str:
    """The first few mistakes in one line. What was sent is not repeated: it may be long, or NaN."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [
        f"{'.'.join(map(str, item['loc'])) or 'request'}: {item['msg'].removeprefix(_OURS)}"
        for item in found[:_REASONS]
    ]
    more = len(found) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")
