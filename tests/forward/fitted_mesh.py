"""The grid solver's matrix put together in another way: a mesh whose triangles really follow the interface."""

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
import skfem
from numpy.typing import NDArray
from skfem.helpers import dot

Array = NDArray[np.float64]


def cell_matrix(n: int, sigma: Array) -> sparse.csr_matrix:
    """Mean of linear elements on two triangles a cell and of bilinear elements, σ given in cells."""
    line = np.linspace(-1, 1, n + 1)
    quads = skfem.MeshQuad.init_tensor(line, line)
    bilinear = _stiffness(quads, skfem.ElementQuad1(), _at_centres(quads, sigma))
    triangles = _triangles(n)
    linear = _stiffness(triangles, skfem.ElementTriP1(), _at_centres(triangles, sigma))
    return (_in_grid_order(bilinear, quads, n) + _in_grid_order(linear, triangles, n)) / 2


def level_set_matrix(n: int, values: Array, inside: float, outside: float) -> sparse.csr_matrix:
    """Linear elements on the pieces of cut triangles, the nine-point element elsewhere; grid nodes come first."""
    size = n + 1
    line = np.linspace(-1, 1, size)
    points = [np.array(p) for p in np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)]
    phi, crossings, pieces = values.ravel(), {}, []

    def crossing(a: int, b: int) -> int:
        key = (min(a, b), max(a, b))
        if key not in crossings:
            t = phi[a] / (phi[a] - phi[b])
            crossings[key] = len(points)
            points.append(points[a] + t * (points[b] - points[a]))
        return crossings[key]

    for triangle in _node_triangles(n):
        signs = phi[triangle] < 0
        if signs.all() or not signs.any():
            pieces.append((triangle, signs[0]))
            continue
        lone = int(np.argmax(signs)) if signs.sum() == 1 else int(np.argmin(signs))
        a, b, c = np.roll(triangle, -lone)
        p, q = crossing(a, b), crossing(a, c)
        pieces.append(((a, p, q), signs[lone]))
        far = np.linalg.norm(points[p] - points[a]) / np.linalg.norm(points[b] - points[a])
        other = np.linalg.norm(points[q] - points[a]) / np.linalg.norm(points[c] - points[a])
        halves = [(p, b, c), (p, c, q)] if far >= other else [(q, c, b), (q, b, p)]
        pieces += [(half, not signs[lone]) for half in halves]
    mesh = skfem.MeshTri(np.array(points).T, np.array([list(piece) for piece, _ in pieces]).T)
    sigma = np.where([within for _, within in pieces], inside, outside)
    matrix = _stiffness(mesh, skfem.ElementTriP1(), sigma)
    return (matrix - _saddle(n, values, inside, outside, matrix.shape[0])).tocsr()


def boundary_data(matrix: sparse.csr_matrix, loop: NDArray[np.int64], g: Array, h: float) -> Array:
    """The zero-mean trace for the load h g at the loop nodes, by sparse LU with one node held."""
    load = np.zeros((matrix.shape[0], len(g)))
    load[loop] = h * g.T
    u = np.zeros_like(load)
    u[1:] = linalg.splu(matrix[1:, 1:].tocsc()).solve(load[1:])
    f = u[loop].T
    return np.asarray(f - f.mean(1, keepdims=True))


def _stiffness(mesh: skfem.Mesh, element: skfem.Element, sigma: Array) -> sparse.csr_matrix:
    basis = skfem.Basis(mesh, element)
    constant = skfem.ElementTriP0() if isinstance(mesh, skfem.MeshTri) else skfem.ElementQuad0()
    form = skfem.BilinearForm(lambda u, v, w: w.sigma * dot(u.grad, v.grad))
    return form.assemble(basis, sigma=basis.with_element(constant).interpolate(sigma)).tocsr()


def _node_triangles(n: int) -> NDArray[np.int64]:
    node = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = (s.ravel() for s in (node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]))
    return np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def _triangles(n: int) -> skfem.MeshTri:
    line = np.linspace(-1, 1, n + 1)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)
    return skfem.MeshTri(points.T, _node_triangles(n).T)


def _at_centres(mesh: skfem.Mesh, sigma: Array) -> Array:
    n = len(sigma)
    i, j = np.floor((mesh.p[:, mesh.t].mean(1) + 1) * n / 2).astype(int)
    return np.asarray(sigma[i, j])


def _in_grid_order(matrix: sparse.csr_matrix, mesh: skfem.Mesh, n: int) -> sparse.csr_matrix:
    i, j = np.rint((mesh.p + 1) * n / 2).astype(int)
    order = np.argsort(i * (n + 1) + j)
    return matrix[order][:, order]


def _saddle(n: int, values: Array, inside: float, outside: float, size: int) -> sparse.csr_matrix:
    """The part σ e eᵀ / 6 that turns two triangles into the nine-point element, in cells that are not cut."""
    node = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    corners = np.stack([s.ravel() for s in (node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:])])
    within = values.ravel()[corners] < 0
    sigma = np.where(within.all(0), inside, np.where(within.any(0), 0.0, outside))
    cell = np.tile(np.arange(n * n), 4)
    signs = np.repeat([1.0, -1.0, 1.0, -1.0], n * n)
    e = sparse.csr_matrix((signs, (cell, corners.ravel())), shape=(n * n, size))
    return e.T @ sparse.diags(sigma / 6) @ e
