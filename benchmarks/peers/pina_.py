"""PINA: a TimeDependentProblem whose conditions hold points and equations, its own solver and Lightning's trainer.

Each condition has its own points, given and not drawn; PINA's graph keeps labels on all tensors.
"""

from __future__ import annotations

import logging
import os
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from lightning.pytorch.callbacks import Callback
from pina import Condition, LabelTensor, Trainer
from pina.domain import CartesianDomain
from pina.equation import Equation
from pina.operator import grad
from pina.optim import TorchOptimizer
from pina.problem import SpatialProblem, TimeDependentProblem
from pina.solver import PhysicsInformedSingleModelSolver
from pina.weighting import ScalarWeighting
from torch_ import Pinn
from torch_ import network as torch_network
from work import PROBLEMS, WEIGHT, Enough, Laps, Problem, Race, cores, serve

POINTS = {"interior": 2_540, "condition": 160}  # of a race
ADAM_SHARE = 0.3  # of a race's time, then L-BFGS


def labelled(points: np.ndarray) -> LabelTensor:
    return LabelTensor(torch.tensor(points, dtype=torch.get_default_dtype()), ["x", "t"])


def derivative(points: LabelTensor, u: LabelTensor, name: str) -> LabelTensor:
    for axis in name:
        u = grad(u, points, components=u.labels, d=[axis])
    return u


def problem_of(problem: Problem, interior: int, condition: int) -> Any:
    """The class that a user of PINA writes."""

    def equation(points: LabelTensor, u: LabelTensor) -> Any:
        found: dict[str, Any] = {"": u}

        def d(name: str) -> torch.Tensor:
            if name not in found:
                d(name[:-1])
                found[name] = grad(found[name[:-1]], points, components=found[name[:-1]].labels, d=[name[-1]])
            return found[name].as_subclass(torch.Tensor)

        return problem.residual(d)

    def target(c: Any) -> Equation:
        values = torch.tensor(c.target[:, None], dtype=torch.get_default_dtype())
        return Equation(
            lambda points, u: derivative(points, u, c.derivative).as_subclass(torch.Tensor) - values
        )

    made = {"interior": Condition(input=labelled(problem.interior(interior)), equation=Equation(equation))}
    for name, c in problem.conditions(condition).items():
        if c.partner is None:
            made[name] = Condition(input=labelled(c.points), equation=target(c))
        else:
            # Both ends in one condition, whose residual is the difference of its halves.
            both = labelled(np.vstack([c.points, c.partner]))
            made[name] = Condition(input=both, equation=Equation(_ends))

    class Stated(TimeDependentProblem, SpatialProblem):
        output_variables = ["u"]  # noqa: RUF012  (what PINA asks for)
        spatial_domain = CartesianDomain({"x": [problem.lower[0], problem.upper[0]]})
        temporal_domain = CartesianDomain({"t": [problem.lower[1], problem.upper[1]]})
        domains: dict[str, Any] = {}  # noqa: RUF012
        conditions = made

    return Stated()


def _ends(points: LabelTensor, u: LabelTensor) -> torch.Tensor:
    left, right = u.as_subclass(torch.Tensor).chunk(2)
    return left - right


class Watch(Callback):
    """Calls `each(loss)` after every iteration."""

    def __init__(self, each: Any) -> None:
        self.each = each

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, *_: Any) -> None:
        self.each(outputs["loss"])


def train(problem: Any, net: torch.nn.Module, optimiser: TorchOptimizer, each: Any) -> None:
    weights = {name: 0.5 if name == "interior" else WEIGHT / 2 for name in problem.conditions}
    solver = PhysicsInformedSingleModelSolver(
        problem, net, optimizer=optimiser, weighting=ScalarWeighting(weights)
    )
    Trainer(
        solver, max_epochs=10**6, accelerator="cpu", callbacks=[Watch(each)], shuffle=False,
        logger=False, enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False,
    ).train()  # fmt: skip


def iterate(task: dict[str, Any]) -> dict[str, Any]:
    torch.set_default_dtype(getattr(torch, task["precision"]))
    problem = problem_of(PROBLEMS["wave"], task["interior"], task["condition"])
    net = Unlabelled(torch_network(task["network"]))
    laps, losses = Laps(task), []

    def each(loss: torch.Tensor) -> None:
        losses.append(loss)
        laps.lap()

    with suppress(Enough):
        train(problem, net, TorchOptimizer(torch.optim.Adam, lr=1e-3), each)
    return {**laps.answer, "loss": float(losses[0]), "parameters": sum(p.numel() for p in net.parameters())}


class Unlabelled(torch.nn.Module):
    """A network of plain tensors, optionally with the box scaled to [−1, 1]²."""

    def __init__(self, inner: torch.nn.Module, box: Any = ((-1.0, -1.0), (1.0, 1.0))) -> None:
        super().__init__()
        lower, upper = torch.tensor(box, dtype=torch.get_default_dtype())
        self.inner, self.middle, self.half = inner, (lower + upper) / 2, (upper - lower) / 2

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.inner((points.as_subclass(torch.Tensor) - self.middle) / self.half)


def solve(task: dict[str, Any]) -> dict[str, Any]:
    """Adam, then torch's L-BFGS through the same solver; float64."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(task["seed"])
    stated = PROBLEMS[task["problem"]]
    problem = problem_of(stated, **POINTS)
    net = Unlabelled(Pinn(), (stated.lower, stated.upper))
    race, phase = Race(task), {"ends": ADAM_SHARE}

    def predict(grid: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return net(torch.tensor(grid)).numpy()

    def each(_: Any) -> None:
        race.step()
        if race.due:
            race.look(predict)
        if race.seconds > phase["ends"] * race.limit:
            raise NextPhase

    try:
        try:
            train(problem, net, TorchOptimizer(torch.optim.Adam, lr=1e-3), each)
        except NextPhase:
            phase["ends"] = 2.0
        options = {"max_iter": 20, "history_size": 50, "line_search_fn": "strong_wolfe"}
        options |= {"tolerance_grad": 0, "tolerance_change": 0}
        train(problem, net, TorchOptimizer(torch.optim.LBFGS, **options), each)
    except Enough:
        pass
    return race.answer


class NextPhase(Exception):  # noqa: N818  (an event, not an error)
    """Adam's share of the time is over."""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    os.environ.setdefault("KMP_WARNINGS", "0")
    torch.set_num_threads(cores())
    serve(("pina-mathlab", "torch", "lightning"), {"iterate": iterate, "solve": solve})
