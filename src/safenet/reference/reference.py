"""u*(x, t, …), known so well that a difference from it is the error of the solution that is compared.

A reference says three things: its values, a bound on its own relative L2 error, and how it was made.  The
bound matters as much as the values, because nothing measured against a reference means anything below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Values = Array | dict[str, Array]


@dataclass(frozen=True)
class Reference:
    """‖u_ref − u‖ ≤ accuracy · ‖u‖, with u_ref = evaluate(x=…, t=…).

    `evaluate` receives float64 arrays of one common shape, named by axis, and returns values of that shape:
    one array, or a dict of arrays when there are several unknowns.
    """

    evaluate: Callable[..., Values]
    accuracy: float
    origin: str

    def __call__(self, **coordinates: ArrayLike) -> Values:
        """u_ref at the coordinates, which broadcast against each other."""
        arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in coordinates.values()))
        return self.evaluate(**dict(zip(coordinates, arrays, strict=True)))
