"""u, u′, …, u^(m) at the nodes of an integration, from the symbols: the data of its polynomials in time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...measure.compiled import compiled
from ...problem.facts.first_order import FirstOrder
from ..thresholds import HERMITE_MOST, HERMITE_OPERATIONS


def derivatives_at_nodes(system: FirstOrder) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """(times, states) → u, u′, …, u^(m) of each field at every node, (nodes, fields, m + 1)."""
    rules, names = [], [system.time, *system.state]
    for k, (expressions, known) in enumerate(system.derivatives(HERMITE_MOST)):
        if k > 1 and sum(expression.count_ops() for expression in expressions) > HERMITE_OPERATIONS:
            break
        rules.append(compiled(expressions, names))
        names = [*names, *known]

    def derivatives(times: np.ndarray, values: np.ndarray) -> np.ndarray:
        found = [*values.T]
        for rule in rules:
            found += [np.broadcast_to(one, times.shape) for one in rule(times, *found)]
        table = np.stack(found, axis=-1).reshape(len(times), len(rules) + 1, -1)
        return np.swapaxes(table[:, :, list(system.places)], 1, 2)

    return derivatives
