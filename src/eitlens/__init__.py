"""eitlens: see inside a body from measurements on its boundary (electrical impedance tomography).

    import eitlens as eit

    square = eit.Square(200)
    phantom = eit.Phantom([eit.Ellipse(center=(0.2, -0.1), semi_axes=(0.15, 0.3), angle=0.4)])
    currents = eit.currents.cosine(square, 3)
    difference = eit.BoundaryIntegralSolver(square).difference(phantom, currents)
    image = eit.direct_sampling(square, difference)

Names are imported on first use, so that `import eitlens` and the command line stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eitlens import imaging, models
    from eitlens.classical import (
        LinearImage,
        TimeDifference,
        dbar,
        direct_sampling,
        fit_greit,
        index_function,
        linear_image,
        minimise,
        picard_sum,
    )
    from eitlens.dataset import Dataset
    from eitlens.domain import Disk, Domain, SmoothBody, Square, bodies
    from eitlens.electrodes import (
        CompleteElectrodeSolver,
        Electrodes,
        Instrument,
        Pattern,
        TankConfig,
        empty_tank,
        simulate_readings,
    )
    from eitlens.errors import ConvergenceError, InputError
    from eitlens.feature import harmonic_extension
    from eitlens.forward import (
        BoundaryIntegralSolver,
        ElementElectrodeSolver,
        ElementSolver,
        Field,
        GridSolver,
        LevelSet,
        MeshField,
        NeumannToDirichlet,
        Sensitivity,
        Solver,
        add_noise,
        add_white_noise,
        currents,
    )
    from eitlens.imaging import (
        Imager,
        Reconstruction,
        gauss_newton,
        level_sets,
        outlines,
        reconstruct,
        total_variation,
    )
    from eitlens.measure import Measurement, Setup
    from eitlens.phantom import (
        Ellipse,
        EllipseSampler,
        ObjectSampler,
        Phantom,
        PhantomBatch,
        Polygon,
        PolygonSampler,
        RoundedPolygon,
        Star,
        WorldSampler,
        area_fraction,
        circle,
        cross,
        indicator,
        rectangle,
        stack,
    )
    from eitlens.registry import register, registered

__version__ = "0.1.0"

_MODULES = {
    "bodies": "eitlens.domain.bodies",
    "imaging": "eitlens.imaging",
    "models": "eitlens.models",
    "currents": "eitlens.forward.currents",
}
_FLOORS = (
    "errors",
    "registry",
    "domain",
    "phantom",
    "forward",
    "feature",
    "electrodes",
    "classical",
    "measure",
    "dataset",
    "imaging",
)
"""From the lowest up: a floor imports the floors below it anyway, so a search from below imports little in vain."""

__all__ = [
    "BoundaryIntegralSolver",
    "CompleteElectrodeSolver",
    "ConvergenceError",
    "Dataset",
    "Disk",
    "Domain",
    "Electrodes",
    "ElementElectrodeSolver",
    "ElementSolver",
    "Ellipse",
    "EllipseSampler",
    "Field",
    "GridSolver",
    "Imager",
    "InputError",
    "Instrument",
    "LevelSet",
    "LinearImage",
    "Measurement",
    "MeshField",
    "NeumannToDirichlet",
    "ObjectSampler",
    "Pattern",
    "Phantom",
    "PhantomBatch",
    "Polygon",
    "PolygonSampler",
    "Reconstruction",
    "RoundedPolygon",
    "Sensitivity",
    "Setup",
    "SmoothBody",
    "Solver",
    "Square",
    "Star",
    "TankConfig",
    "TimeDifference",
    "WorldSampler",
    "add_noise",
    "add_white_noise",
    "area_fraction",
    "bodies",
    "circle",
    "cross",
    "currents",
    "dbar",
    "direct_sampling",
    "empty_tank",
    "fit_greit",
    "gauss_newton",
    "harmonic_extension",
    "imaging",
    "index_function",
    "indicator",
    "level_sets",
    "linear_image",
    "minimise",
    "models",
    "outlines",
    "picard_sum",
    "reconstruct",
    "rectangle",
    "register",
    "registered",
    "simulate_readings",
    "stack",
    "total_variation",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(_MODULES[name])
    for floor in _FLOORS if name in __all__ else ():
        module = import_module(f"eitlens.{floor}")
        if name in getattr(module, "__all__", vars(module)):
            globals()[name] = found = getattr(module, name)  # the next use finds it at once
            return found
    raise AttributeError(f"module 'eitlens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
