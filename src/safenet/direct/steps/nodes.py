"""u, u′, …, u^(m) at the nodes of an integration, from the symbols: the data of its polynomials in time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...measure.compiled import compiled
from ...problem.facts.first_order import FirstOrder
from ..thresholds import HERMITE_MOST, HERMITE_OPERATIONS


def derivatives_at_nodes(system: FirstOrder) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """(times, states) → u, u′, …, u^(m) of each field at every node, (nodes, fields, m + 1).

    The lowest are components of the state; differentiating goes on from the highest of these.
    """
    ends = (*system.places[1:], len(system.state))
    orders = [end - place for place, end in zip(system.places, ends, strict=True)]
    fields = list(zip(system.places, orders, strict=True))
    most = max(1, HERMITE_MOST + 1 - min(orders))
    rules, names = [], [system.time, *system.state]
    for k, (expressions, known) in enumerate(system.derivatives(most)):
        if k > 1 and sum(expression.count_ops() for expression in expressions) > HERMITE_OPERATIONS:
            break
        rules.append(compiled(expressions, names))
        names = [*names, *known]

    def derivatives(times: np.ndarray, values: np.ndarray) -> np.ndarray:
        found = [*values.T]
        for rule in rules:
            found += [np.broadcast_to(one, times.shape) for one in rule(times, *found)]
        table = np.stack(found, axis=-1).reshape(len(times), len(rules) + 1, -1)
        count = min(orders) + len(rules)
        steps = [[(max(0, k - n + 1), place + min(k, n - 1)) for k in range(count)] for place, n in fields]
        return np.stack([np.stack([table[:, k, i] for k, i in each], axis=1) for each in steps], axis=1)

    return derivatives
