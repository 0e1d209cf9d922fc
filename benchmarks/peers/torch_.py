"""Plain PyTorch, as its users write it: nn.Module, autograd.grad with create_graph, Adam; and under torch.compile.

torch.compile cannot differentiate through autograd.grad, so there derivatives are torch.func.grad under vmap, and loss
and gradient are one compiled function. (Nested torch.func.jvp fails to compile in torch 2.13.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from work import PROBLEMS, WAVES, WEIGHT, Enough, Laps, Problem, Race, cores, frequencies, layers, serve

POINTS = {"interior": 4_000, "condition": 200}  # of a race
ADAM_SHARE = 0.2  # of a race's time, then L-BFGS


class Pinn(torch.nn.Module):
    def __init__(self, inputs: int = 2, widths: tuple[int, ...] = (50, 50, 50, 50)) -> None:
        super().__init__()
        sizes = [inputs, *widths, 1]
        self.layers = torch.nn.ModuleList(map(torch.nn.Linear, sizes[:-1], sizes[1:]))

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:-1]:
            points = torch.tanh(layer(points))
        return self.layers[-1](points)


class SafeNet(Pinn):
    """Layers on c {sin | cos}(ω₁ x) {sin | cos}(ω₂ t) and on the waves of the initial value."""

    def __init__(self) -> None:
        omega, amplitude, self.scale = frequencies()
        super().__init__(amplitude.size + len(WAVES), (50,))
        self.omega = torch.nn.Parameter(torch.tensor(omega))
        self.amplitude = torch.nn.Parameter(torch.tensor(amplitude))

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        phase = points[:, None, :] * self.omega
        (sx, st), (cx, ct) = torch.sin(phase).unbind(2), torch.cos(phase).unbind(2)
        products = torch.stack([sx * ct, cx * st, sx * st, cx * ct], dim=2) * self.amplitude
        waves = torch.sin(points[:, :1] * torch.tensor(WAVES, dtype=points.dtype))
        return super().forward(torch.cat([products.flatten(1), waves], dim=1) / self.scale)


def network(name: str) -> Pinn:
    """The network with the weights shared by all systems."""
    made = Pinn() if name == "pinn" else SafeNet()
    with torch.no_grad():
        for layer, (W, b) in zip(made.layers, layers(name), strict=True):
            layer.weight.copy_(torch.tensor(W))
            layer.bias.copy_(torch.tensor(b))
    return made.to(torch.get_default_dtype())


def by_autograd(net: Callable[[torch.Tensor], torch.Tensor], points: torch.Tensor) -> Callable[[str], Any]:
    """d("xx"): each derivative takes one pass of reverse mode and is computed once."""
    points = points.clone().requires_grad_()
    found = {"": net(points)}

    def d(name: str) -> torch.Tensor:
        if name not in found:
            below = d(name[:-1])
            slopes = torch.autograd.grad(below, points, torch.ones_like(below), create_graph=True)[0]
            found[name[:-1] + "x"], found[name[:-1] + "t"] = slopes[:, :1], slopes[:, 1:]
        return found[name]

    return d


def by_transforms(net: Callable[[torch.Tensor], torch.Tensor], points: torch.Tensor) -> Callable[[str], Any]:
    """d("xx") point by point, by torch.func, which torch.compile can handle."""

    def d(name: str) -> torch.Tensor:
        f = lambda point: net(point[None])[0, 0]  # noqa: E731
        for axis in name:
            f = _slope(f, "xt".index(axis))
        return torch.func.vmap(f)(points)[:, None]

    return d


def _slope(f: Callable[[torch.Tensor], torch.Tensor], axis: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda point: torch.func.grad(f)(point)[axis]


def loss_of(problem: Problem, interior: int, condition: int, derivatives: Any = by_autograd) -> Any:
    """net ↦ Σ λ/(2n) Σ r² over the equation and the conditions."""

    def tensor(array: np.ndarray) -> torch.Tensor:
        return torch.tensor(array, dtype=torch.get_default_dtype())

    inside = tensor(problem.interior(interior))
    conditions = [
        (
            tensor(c.points),
            tensor(c.target)[:, None],
            c.derivative,
            None if c.partner is None else tensor(c.partner),
        )
        for c in problem.conditions(condition).values()
    ]

    def rows(net: Any) -> Iterator[tuple[float, torch.Tensor]]:
        yield 1.0, problem.residual(derivatives(net, inside))
        for points, target, derivative, partner in conditions:
            value = derivatives(net, points)(derivative) if derivative else net(points)
            yield WEIGHT, value - (target if partner is None else net(partner))

    return lambda net: sum(weight / 2 * (r**2).mean() for weight, r in rows(net))


def iterate(task: dict[str, Any]) -> dict[str, Any]:
    torch.set_default_dtype(getattr(torch, task["precision"]))
    net = network(task["network"])
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    problem, sizes = PROBLEMS["wave"], (task["interior"], task["condition"])
    step = (
        compiled_step(net, optimiser, problem, sizes)
        if task["compile"]
        else eager_step(net, optimiser, problem, sizes)
    )
    laps, first = Laps(task), None
    try:
        while True:
            loss = step()
            first = loss if first is None else first
            laps.lap()
    except Enough:
        return {**laps.answer, "loss": first, "parameters": sum(p.numel() for p in net.parameters())}


def eager_step(net: Pinn, optimiser: Any, problem: Problem, sizes: tuple[int, int]) -> Callable[[], float]:
    loss_at = loss_of(problem, *sizes)

    def step() -> float:
        optimiser.zero_grad()
        loss = loss_at(net)
        loss.backward()
        optimiser.step()
        return float(loss.detach())

    return step


def compiled_step(net: Pinn, optimiser: Any, problem: Problem, sizes: tuple[int, int]) -> Callable[[], float]:
    loss_at = loss_of(problem, *sizes, by_transforms)
    parameters = dict(net.named_parameters())

    def at(values: dict[str, torch.Tensor]) -> torch.Tensor:
        return loss_at(lambda points: torch.func.functional_call(net, values, (points,)))

    gradient = torch.compile(torch.func.grad_and_value(at))

    def step() -> float:
        slopes, loss = gradient({name: value.detach() for name, value in parameters.items()})
        for name, value in parameters.items():
            value.grad = slopes[name]
        optimiser.step()
        return float(loss)

    return step


def solve(task: dict[str, Any]) -> dict[str, Any]:
    """Adam, then L-BFGS with the strong Wolfe line search; in float64, where the line search does not stall."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(task["seed"])
    problem = PROBLEMS[task["problem"]]
    net, loss_at = Pinn(), loss_of(problem, **POINTS)
    for layer in net.layers:
        torch.nn.init.xavier_normal_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    middle = torch.tensor(np.add(problem.lower, problem.upper) / 2)
    half = torch.tensor(np.subtract(problem.upper, problem.lower) / 2)
    scaled = lambda points: net((points - middle) / half)  # noqa: E731
    race = Race(task)

    def predict(grid: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return scaled(torch.tensor(grid)).numpy()

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = loss_at(scaled)
        loss.backward()
        race.step()
        if race.due:
            race.look(predict)
        return loss

    try:
        optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
        while race.seconds < ADAM_SHARE * race.limit:
            optimiser.step(closure)
        optimiser = torch.optim.LBFGS(
            net.parameters(), max_iter=10**6, history_size=50, line_search_fn="strong_wolfe",
            tolerance_grad=0, tolerance_change=0,
        )  # fmt: skip
        optimiser.step(closure)
        race.look(predict)
    except Enough:
        pass
    return race.answer


if __name__ == "__main__":
    torch.set_num_threads(cores())
    serve(("torch",), {"iterate": iterate, "solve": solve})
