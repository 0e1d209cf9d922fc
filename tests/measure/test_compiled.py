"""compiled(…, scalar=True) against the same expressions on arrays: equal values, also where there is none."""

import numpy as np
import pytest
import sympy as sp

from safenet.measure.compiled import compiled
from safenet.problem.evaluate import COMPOSED, UNARY
from safenet.problem.language.where import Where

x, y = sp.symbols("x y", real=True)
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.3, -2.5, 800.0, -800.0, 1e-320]
EXPRESSIONS = [
    *(function(x) for function in (*UNARY, *COMPOSED)),
    *(sp.Max(x, y), sp.Min(x, y), sp.Max(x, y, 1), sp.atan2(x, y), sp.Heaviside(x, y), Where(x, y, x)),
    *(x ** sp.Rational(p, q) for p, q in ((1, 2), (-1, 2), (1, 3), (-1, 3), (-2, 1), (3, 1))),
    *(x**y, sp.sign(sp.log(x)), sp.exp(-1 / x**2), sp.Max(1, sp.log(x))),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_floats_have_the_values_of_arrays(expression):
    first, second = (grid.ravel() for grid in np.meshgrid(NUMBERS, NUMBERS))
    with np.errstate(all="ignore"):
        (wanted,) = compiled([expression], (x, y))(first, second)
    one_by_one = compiled([expression], (x, y), scalar=True)
    found = [one_by_one(*pair)[0] for pair in zip(first.tolist(), second.tolist(), strict=True)]
    np.testing.assert_allclose(found, np.broadcast_to(wanted, first.shape), rtol=1e-14)
