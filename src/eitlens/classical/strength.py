"""The strength λ of a prior: how far a linear image follows it.

In whitened coordinates a reading c_k is √s_k times its unknown plus noise of variance 1, and the estimate keeps the
part f_k = s_k / (s_k + λ) of it. Several frames share one λ.

- `gcv`: generalised cross validation, Σ (1 - f_k)² c_k² / (Σ (1 - 1.4 f_k))² is least. It needs no noise level; the
  factor 1.4 keeps it from following the noise now and then.
- `discrepancy`: the weakest image that explains the data to their noise, Σ (1 - f_k)² c_k² = the number of readings.
- `l-curve`: the corner of log ‖residual‖ against log ‖image‖.

None of them knows that the linear model is wrong, and follows its errors where the noise is small. So no strength is
taken that explains a change of readings better than the model can: see `doubt`.

References: G. H. Golub, M. Heath, G. Wahba, Technometrics 21 (1979); Y.-J. Kim, C. Gu, "Smoothing spline Gaussian
regression", J. Royal Statistical Society B 66 (2004); V. A. Morozov, "On the solution of functional
equations by the method of regularization", Soviet Math. Doklady 7 (1966); P. C. Hansen, "Analysis of discrete ill-posed
problems by means of the L-curve", SIAM Review 34 (1992).
"""

from collections.abc import Callable

import torch
from jaxtyping import Float64
from torch import Tensor

from eitlens.errors import InputError

Spectrum = Float64[Tensor, "directions"]
Coefficients = Float64[Tensor, "frames directions"]

STRENGTHS = torch.logspace(-12, 1, 105, dtype=torch.float64)
"""Those that are tried, relative to the largest s_k."""
_MOST = 0.05  # of a change: on measured tanks with metal and plastic, images that explain more have stripes
_DECADE = 8  # of the strengths that are tried
_PAYS = 0.85  # of the residual at most is left with a tenth of the strength, or it does not pay
_NONE = 1e-9  # of the largest s_k: a direction with less has noise alone
_CAUTION = 1.4  # Kim and Gu
_ENOUGH = 8  # such directions, that tell the noise


def kept(spectrum: Spectrum, strength: Float64[Tensor, "*many"]) -> Float64[Tensor, "*many directions"]:
    """The parts f_k that the estimate keeps."""
    return spectrum / (spectrum + strength[..., None])


def residuals(spectrum: Spectrum, data: Coefficients, strengths: Tensor) -> Float64[Tensor, "strengths"]:
    """Σ (1 - f_k)² c_k², the mean of the frames."""
    power = data.square().mean(0)
    return ((1 - kept(spectrum, strengths)).square() * power).sum(-1)


def doubt(change: float, misfit: float) -> float:
    """The part of a change of readings that no linear model explains, at most 5 %.

    What a change of σ does to second order is about half of the first order times the relative change of readings. A
    model that explains the empty tank to a relative misfit explains what changes in it no better.
    """
    return min(max(change / 2, misfit), _MOST)


def chosen(rule: str, spectrum: Spectrum, data: Coefficients, unexplained: float = _MOST) -> float:
    """The strength by a rule of `RULES`, or the least one that a linear model with this doubt deserves."""
    return max(RULES[rule](spectrum, data), least(spectrum, data, unexplained))


def least(spectrum: Spectrum, data: Coefficients, unexplained: float) -> float:
    """The strength that leaves `unexplained` of the data, or a larger one from which on weaker ones do not pay.

    What the linear model cannot explain is followed at the cost of a much larger image: where a tenth of a strength
    that leaves 5 % or less lowers the residual by less than a seventh, it is not taken.
    """
    tried = STRENGTHS.to(spectrum) * spectrum.max()
    rest = (residuals(spectrum, data, tried) / data.square().mean(0).sum()).sqrt()
    first, last = (max(int((rest <= part).sum()) - 1, 0) for part in (_MOST, unexplained))
    number = first
    while number > max(last, _DECADE) and rest[number - _DECADE] < _PAYS * rest[number]:
        number -= 1
    return float(tried[max(number, last)])


def noise(spectrum: Spectrum, data: Coefficients) -> float | None:
    """The noise, from directions that no image has; None where there are too few of them."""
    none = spectrum <= _NONE * spectrum.max()
    return float(data[:, none].square().mean().sqrt()) if int(none.sum()) >= _ENOUGH else None


def gcv(spectrum: Spectrum, data: Coefficients) -> float:
    """The strength of least generalised cross validation: of all directions or of those that images have.

    The larger of the two: redundant readings tell of the noise, but not of what else an image may follow.
    """
    tried, seen = STRENGTHS.to(spectrum) * spectrum.max(), spectrum > _NONE * spectrum.max()

    def least(s: Spectrum, c: Coefficients, caution: float) -> float:
        free = (1 - caution * kept(s, tried)).sum(-1)
        score = residuals(s, c, tried) / free.square()
        return float(tried[score.where(free > 0, torch.inf).argmin()])

    return max(least(spectrum, data, _CAUTION), least(spectrum[seen], data[:, seen], 1.0))


def discrepancy(spectrum: Spectrum, data: Coefficients) -> float:
    """The largest strength with a residual within the noise; where none has one, an error."""
    tried = STRENGTHS.to(spectrum) * spectrum.max()
    rest = residuals(spectrum, data, tried)
    if bool(rest[0] > len(spectrum)):
        times = float((rest[0] / len(spectrum)).sqrt())
        raise InputError(
            f"discrepancy: no image explains the data to their noise: what is left is {times:.2g} times as large; give "
            "more noise, or choose the strength by gcv"
        )
    return float(tried[int((rest <= len(spectrum)).sum()) - 1])


def l_curve(spectrum: Spectrum, data: Coefficients) -> float:
    """The strength at the corner: where the curve of the logarithms bends most."""
    tried = STRENGTHS.to(spectrum) * spectrum.max()
    rest = residuals(spectrum, data, tried).clamp(min=1e-300).log()
    power = data.square().mean(0)
    image = (kept(spectrum, tried).square() * power / spectrum.clamp(min=1e-300)).sum(-1).log()
    x, y = (torch.gradient(part)[0] for part in (rest, image))
    xx, yy = (torch.gradient(part)[0] for part in (x, y))
    bend = (x * yy - y * xx) / (x.square() + y.square()).clamp(min=1e-300) ** 1.5
    return float(tried[bend[2:-2].argmax() + 2])


RULES: dict[str, Callable[[Spectrum, Coefficients], float]] = {
    "gcv": gcv,
    "discrepancy": discrepancy,
    "l-curve": l_curve,
}
"""The rules by name."""
