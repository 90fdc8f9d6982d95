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
    from eitlens.classical import direct_sampling, index_function, picard_sum
    from eitlens.dataset import Dataset
    from eitlens.domain import Disk, Domain, Square
    from eitlens.electrodes import CompleteElectrodeSolver, Electrodes
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
    from eitlens.imaging import Imager, Reconstruction, reconstruct
    from eitlens.measure import Measurement
    from eitlens.phantom import (
        Ellipse,
        EllipseSampler,
        Phantom,
        PhantomBatch,
        Polygon,
        PolygonSampler,
        area_fraction,
        circle,
        indicator,
        stack,
    )
    from eitlens.registry import register, registered

__version__ = "0.1.0"

_HOME = {
    "eitlens.classical": ("direct_sampling", "index_function", "picard_sum"),
    "eitlens.dataset": ("Dataset",),
    "eitlens.domain": ("Disk", "Domain", "Square"),
    "eitlens.electrodes": ("CompleteElectrodeSolver", "Electrodes"),
    "eitlens.errors": ("ConvergenceError", "InputError"),
    "eitlens.feature": ("harmonic_extension",),
    "eitlens.forward": (
        "BoundaryIntegralSolver",
        "ElementElectrodeSolver",
        "ElementSolver",
        "Field",
        "GridSolver",
        "LevelSet",
        "MeshField",
        "NeumannToDirichlet",
        "Sensitivity",
        "Solver",
        "add_noise",
        "add_white_noise",
    ),
    "eitlens.imaging": ("Imager", "Measurement", "Reconstruction", "reconstruct"),
    "eitlens.phantom": (
        "Ellipse",
        "EllipseSampler",
        "Phantom",
        "PhantomBatch",
        "Polygon",
        "PolygonSampler",
        "area_fraction",
        "circle",
        "indicator",
        "stack",
    ),
    "eitlens.registry": ("register", "registered"),
}
_MODULES = {"imaging": "eitlens.imaging", "models": "eitlens.models", "currents": "eitlens.forward.currents"}
_NAMES = {name: home for home, names in _HOME.items() for name in names}

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
    "LevelSet",
    "Measurement",
    "MeshField",
    "NeumannToDirichlet",
    "Phantom",
    "PhantomBatch",
    "Polygon",
    "PolygonSampler",
    "Reconstruction",
    "Sensitivity",
    "Solver",
    "Square",
    "add_noise",
    "add_white_noise",
    "area_fraction",
    "circle",
    "currents",
    "direct_sampling",
    "harmonic_extension",
    "imaging",
    "index_function",
    "indicator",
    "models",
    "picard_sum",
    "reconstruct",
    "register",
    "registered",
    "stack",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'eitlens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
