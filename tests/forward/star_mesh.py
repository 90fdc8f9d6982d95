"""Finite elements for one star-shaped polygon at the centre of the unit disk: an independent method for its modes."""

import numpy as np
import scipy.sparse.linalg as linalg
import skfem
from numpy.typing import NDArray
from skfem.helpers import dot

Array = NDArray[np.float64]


def modes(vertices: Array, inside: float, count: int, rays: int, levels: int = 20) -> Array:
    """Λ_σ - Λ_1 between cos kθ / √π and sin kθ / √π, by quadratic elements that follow the edges.

    `rays` an edge, crowded towards the vertices, and `levels` between the polygon and the circle and as many inside,
    crowded towards the polygon. An insulator, 0, is left out of the mesh.
    """
    mesh = _mesh(vertices, rays, levels)
    centre = mesh.p[:, mesh.t].mean(1)
    within = _inside(vertices, centre)
    empty = _matrix(mesh, np.ones(len(within)), count)
    if inside == 0:
        return (
            _matrix(mesh.remove_elements(np.nonzero(within)[0]), np.ones(int((~within).sum())), count) - empty
        )
    return _matrix(mesh, np.where(within, inside, 1.0), count) - empty


def _mesh(vertices: Array, rays: int, levels: int) -> skfem.MeshTri:
    """Rays through points of the edges, cut by levels; the outermost points are on the circle."""
    graded = 0.5 - 0.5 * np.cos(np.pi * np.arange(rays) / rays)
    ends = np.roll(vertices, -1, 0)
    edge = (vertices[:, None] + graded[None, :, None] * (ends - vertices)[:, None]).reshape(-1, 2)
    wall = edge / np.linalg.norm(edge, axis=1, keepdims=True)
    share = (np.arange(1, levels + 1) / levels) ** 2.5
    inner = [edge * (1 - s) for s in share[::-1][1:]]
    outer = [edge + s * (wall - edge) for s in share]
    rings = [*inner, edge, *outer]
    size = len(edge)
    points = np.concatenate([np.zeros((1, 2)), *rings])
    k = np.arange(size)
    after = (k + 1) % size
    triangles = [np.stack([np.zeros(size, int), 1 + k, 1 + after], 1)]
    for ring in range(len(rings) - 1):
        a, b = 1 + ring * size + k, 1 + ring * size + after
        triangles += [np.stack([a, a + size, b + size], 1), np.stack([a, b + size, b], 1)]
    return skfem.MeshTri(points.T.copy(), np.concatenate(triangles).T.copy())


def _inside(vertices: Array, points: Array) -> NDArray[np.bool_]:
    a, b = vertices[:, :, None], np.roll(vertices, -1, 0)[:, :, None]
    x, y = points
    straddles = (a[:, 1] > y) != (b[:, 1] > y)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = x < a[:, 0] + (y - a[:, 1]) * (b[:, 0] - a[:, 0]) / (b[:, 1] - a[:, 1])
    return np.asarray((straddles & left).sum(0) % 2 == 1)


def _matrix(mesh: skfem.MeshTri, sigma: Array, count: int) -> Array:
    """The load and the trace of each wave: aᵀ K⁻¹ a."""
    basis = skfem.Basis(mesh, skfem.ElementTriP2(), intorder=4)
    form = skfem.BilinearForm(lambda u, v, w: w.sigma * dot(u.grad, v.grad))
    stiffness = form.assemble(basis, sigma=basis.with_element(skfem.ElementTriP0()).interpolate(sigma))
    wall = mesh.facets_satisfying(lambda x: np.hypot(*x) > 0.8, boundaries_only=True)
    rim = skfem.FacetBasis(mesh, skfem.ElementTriP2(), facets=wall, intorder=6)
    waves = [
        skfem.LinearForm(lambda v, w, k=k, f=f: f(k * np.arctan2(w.x[1], w.x[0])) * v / np.sqrt(np.pi))
        for f in (np.cos, np.sin)
        for k in range(1, count + 1)
    ]
    load = np.stack([wave.assemble(rim) for wave in waves], 1)
    found = np.zeros_like(load)
    found[1:] = linalg.splu(stiffness[1:, 1:].tocsc()).solve(load[1:])
    return np.asarray(load.T @ found)
