"""What the page may ask for. Everything has a limit, and whatever is wrong is said in one line."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from eitlens.errors import InputError

MOST_SHAPES, MOST_VERTICES, MOST_MODELS, MOST_CURRENTS = 12, 256, 4, 3
LARGEST_TAU, LARGEST_SEED = 2.0, 2**31 - 1
CONDUCTIVITIES = (1e-3, 1e3)
_REASONS = 3

Coordinate = Annotated[float, Field(ge=-1, le=1)]
Point = tuple[Coordinate, Coordinate]
Length = Annotated[float, Field(ge=0.015, le=1)]
Conductivity = Annotated[float, Field(ge=CONDUCTIVITIES[0], le=CONDUCTIVITIES[1])]
Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.-]+$")]
Names = Annotated[tuple[Name, ...], Field(max_length=MOST_MODELS)]


class _Strict(BaseModel):
    """No unknown keys, no text for numbers, no NaN or infinity."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class EllipseShape(_Strict):
    """An ellipse, the angle in radians."""

    kind: Literal["ellipse"]
    center: Point
    semi_axes: tuple[Length, Length]
    angle: Annotated[float, Field(ge=-100, le=100)] = 0.0
    conductivity: Conductivity


class PolygonShape(_Strict):
    """A simple polygon."""

    kind: Literal["polygon"]
    vertices: Annotated[tuple[Point, ...], Field(min_length=3, max_length=64)]
    conductivity: Conductivity


class Drawing(_Strict):
    """Inclusions drawn on the page, how they are measured, and which networks look at them."""

    client: Name
    shapes: Annotated[
        tuple[Annotated[EllipseShape | PolygonShape, Field(discriminator="kind")], ...],
        Field(min_length=1, max_length=MOST_SHAPES),
    ]
    currents: Annotated[int, Field(ge=1, le=MOST_CURRENTS)]
    tau: Annotated[float, Field(ge=0, le=LARGEST_TAU)]
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)]
    models: Names
    quick: bool = False

    @model_validator(mode="after")
    def _few_vertices(self) -> "Drawing":
        total = sum(len(shape.vertices) for shape in self.shapes if isinstance(shape, PolygonShape))
        if total > MOST_VERTICES:
            raise ValueError(f"{total} vertices in all polygons together, at most {MOST_VERTICES}")
        return self


class Choice(_Strict):
    """Who asks, and which networks look at an uploaded measurement."""

    client: Name
    models: Names


def read_drawing(body: bytes) -> Drawing:
    """The drawing in a request's body."""
    try:
        return Drawing.model_validate_json(body)
    except ValidationError as error:
        raise InputError(_reason(error)) from None


def read_choice(client: str, models: str) -> Choice:
    """The choice in a request's query, models separated by commas."""
    try:
        return Choice(client=client, models=tuple(name for name in models.split(",") if name))
    except ValidationError as error:
        raise InputError(_reason(error)) from None


def _reason(error: ValidationError) -> str:
    """The first few mistakes in one line. What was sent is not repeated: it may be long, or NaN."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, item['loc'])) or 'request'}: {item['msg']}" for item in found[:_REASONS]]
    more = len(found) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")
