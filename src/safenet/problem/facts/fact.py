"""@fact: what the symbols prove about a problem is derived once, and the problem keeps the answer.

A problem never changes, so neither do its facts; a problem with other parameters is another object, without facts at
first. A refusal is a fact, too: it is kept and raised again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from ...errors import SafeNetError

if TYPE_CHECKING:
    from ..problem import Problem

P = ParamSpec("P")
T = TypeVar("T")


def fact(derive: Callable[Concatenate[Problem, P], T]) -> Callable[Concatenate[Problem, P], T]:
    """`derive(problem, …)`, computed once per problem and arguments. Answers are shared: do not change them."""

    @wraps(derive)
    def known(problem: Problem, /, *args: P.args, **options: P.kwargs) -> T:
        key: Any = (derive, args, tuple(options.items()))
        if key not in problem.facts:
            try:
                problem.facts[key] = derive(problem, *args, **options)
            except SafeNetError as refusal:
                problem.facts[key] = refusal
        answer = problem.facts[key]
        if isinstance(answer, SafeNetError):
            raise SafeNetError(answer.message, answer.remedy, answer.where)
        return cast("T", answer)

    return known
