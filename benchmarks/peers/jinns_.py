"""jinns: LossPDENonStatio on given points, its own solve(); in a race, Adam and then its natural gradient descent.

jinns orders inputs (t, x). A boundary condition gets one point of each facet, so u_t(x, 0) = 0 is a third facet.
Times are taken by a validation module, jinns's own hook into its compiled loop.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns
import numpy as np
import optax
from jax.experimental import io_callback
from jinns.data._AbstractDataGenerator import AbstractDataGenerator
from jinns.data._Batchs import PDENonStatioBatch
from jinns.loss._BoundaryConditionAbstract import BoundaryConditionAbstract
from jinns.validation._validation import AbstractValidationModule
from work import PROBLEMS, WAVES, WEIGHT, Enough, Laps, Problem, Race, frequencies, layers, serve

POINTS = {"interior": 2_540, "condition": 160}  # of a race
WIDTHS = (20, 20, 20)  # small, as natural gradients solve with a matrix over all parameters
ADAM_SHARE = 0.1  # of a race's time
STRIDE = 5  # iterations per lap: a call out of the compiled loop costs as much as a small iteration


class Layers(eqx.Module):
    """tanh layers of (t, x), scaled to [−1, 1]² if a box is given."""

    weights: list[jax.Array]
    biases: list[jax.Array]
    middle: tuple[float, ...] = eqx.field(static=True, default=(0.0, 0.0))
    half: tuple[float, ...] = eqx.field(static=True, default=(1.0, 1.0))

    def __call__(self, t_x: jax.Array) -> jax.Array:
        return self.through((t_x[::-1] - jnp.array(self.middle)) / jnp.array(self.half))

    def through(self, value: jax.Array) -> jax.Array:
        for W, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            value = jnp.tanh(W @ value + b)
        return self.weights[-1] @ value + self.biases[-1]


class SafeNet(Layers):
    omega: Any = None
    amplitude: Any = None

    def __call__(self, t_x: jax.Array) -> jax.Array:
        phase = self.omega * t_x[::-1]
        (sx, cx), (st, ct) = ((jnp.sin(phase[:, i]), jnp.cos(phase[:, i])) for i in (0, 1))
        products = jnp.stack([sx * ct, cx * st, sx * st, cx * ct], axis=1) * self.amplitude
        waves = jnp.sin(t_x[1] * jnp.array(WAVES))
        return self.through(jnp.concatenate([products.ravel(), waves]) / frequencies()[2])


def network(name: str) -> Layers:
    """The network with the weights shared by all systems."""
    weights, biases = zip(*((jnp.array(W), jnp.array(b)) for W, b in layers(name)), strict=True)
    if name == "pinn":
        return Layers(list(weights), list(biases))
    omega, amplitude, _ = frequencies()
    return SafeNet(list(weights), list(biases), omega=jnp.array(omega), amplitude=jnp.array(amplitude))


def derivative(u: Any, params: Any, t_x: jax.Array, name: str) -> jax.Array:
    """u_x, u_tt … by reverse mode, as jinns's own equations do."""
    value = lambda point: u(point, params)[0]  # noqa: E731
    for axis in name:
        value = _slope(value, "tx".index(axis))
    return value(t_x)[None]


def _slope(f: Any, axis: int) -> Any:
    return lambda point: jax.grad(f)(point)[axis]


class Equation(jinns.loss.PDENonStatio):
    residual: Any = eqx.field(static=True, kw_only=True)

    def equation(self, t_x: jax.Array, u: Any, params: Any) -> jax.Array:
        return self.residual(lambda name: derivative(u, params, t_x, name))


class Sides(BoundaryConditionAbstract):
    """Facets: the two ends and, if requested, points of u_t = 0; if periodic, the difference of the ends."""

    periodic: bool = eqx.field(static=True)

    def equation_u(self, inputs: jax.Array, u: Any, params: Any) -> tuple[jax.Array, ...]:
        ends = [u(inputs[:, i], params) for i in (0, 1)]
        if self.periodic:
            return (ends[0] - ends[1],)
        return (*ends, *(derivative(u, params, inputs[:, i], "t") for i in range(2, inputs.shape[1])))

    def equation_f(self, inputs: jax.Array, params: Any, gridify: bool = False) -> tuple[jax.Array, ...]:
        return tuple(jnp.zeros(1) for _ in range(1 if self.periodic else inputs.shape[1]))


class Given(AbstractDataGenerator):
    """The same points in every iteration."""

    batch: PDENonStatioBatch
    rar_parameters: Any = None

    def get_batch(self) -> tuple[Any, PDENonStatioBatch]:
        return self, self.batch


def stated(problem: Problem, interior: int, condition: int, u: Any) -> tuple[Any, Given, Any]:
    """(loss, points, parameters)"""
    conditions = problem.conditions(condition)
    start = conditions.pop("start")
    facets = [points for c in conditions.values() for points in (c.points, c.partner) if points is not None]
    batch = PDENonStatioBatch(
        domain_batch=jnp.array(problem.interior(interior)[:, ::-1].copy()),
        border_batch=jnp.array(np.stack([points[:, ::-1] for points in facets], axis=2)),
        initial_batch=jnp.array(start.points[:, :1]),
    )
    params = jinns.parameters.Params(nn_params=u.init_params, eq_params={})
    halves = {"dyn_loss": 0.5, "boundary_loss": WEIGHT / 2, "initial_condition": WEIGHT / 2}
    loss = jinns.loss.LossPDENonStatio(
        u=u,
        dynamic_loss=Equation(residual=problem.residual),
        boundary_condition=Sides(periodic=problem.periodic),
        initial_condition_fun=lambda x: problem.start(x, jnp),
        loss_weights=jinns.loss.LossWeightsPDENonStatio(**halves),
        params=params,
    )
    return loss, Given(batch), params


class Watch(AbstractValidationModule):
    """Every `call_every` iterations, passes the values on a grid to `each`, and stops if that returns true."""

    each: Any = eqx.field(static=True, kw_only=True)
    u: Any = eqx.field(static=True, kw_only=True)
    grid: Any = eqx.field(default=None, kw_only=True)
    call_every: int = eqx.field(static=True, default=STRIDE, kw_only=True)

    def __call__(self, params: Any) -> tuple[Any, Any, Any, Any]:
        probe = jnp.zeros((1, 2)) if self.grid is None else self.grid
        values = jax.vmap(lambda point: self.u(point, params)[0])(probe)
        stop = io_callback(self.each, jax.ShapeDtypeStruct((), bool), values, ordered=False)
        return self, stop, values[0], False


def train(optimiser: Any, loss: Any, points: Given, params: Any, watch: Watch) -> Any:
    return jinns.solve(
        n_iter=50_000, init_params=params, data=points, loss=loss, optimizer=optimiser,
        validation=watch, verbose=False, key=jax.random.key(0), print_loss_every=10**6,
    )[0]  # fmt: skip


def iterate(task: dict[str, Any]) -> dict[str, Any]:
    jax.config.update("jax_enable_x64", task["precision"] == "float64")
    u = jinns.nn.PINN(eq_type="PDENonStatio", eqx_network=network(task["network"]))
    loss, points, params = stated(PROBLEMS["wave"], task["interior"], task["condition"], u)
    first = float(loss(params, points.batch)[0])
    laps = Laps(task)

    def each(_: Any) -> Any:
        try:
            laps.lap(STRIDE)
        except Enough:
            return np.array(True)
        return np.array(False)

    train(optax.adam(1e-3), loss, points, params, Watch(each=each, u=u))
    return {**laps.answer, "loss": first, "parameters": sum(leaf.size for leaf in jax.tree.leaves(params))}


def solve(task: dict[str, Any]) -> dict[str, Any]:
    jax.config.update("jax_enable_x64", True)
    problem = PROBLEMS[task["problem"]]
    sizes = [2, *WIDTHS, 1]
    keys = jax.random.split(jax.random.key(task["seed"]), len(sizes))
    glorot = jax.nn.initializers.glorot_normal(in_axis=1, out_axis=0)
    weights = [glorot(k, (b, a), float) for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=False)]
    box = np.array([problem.lower, problem.upper])
    middle, half = tuple(box.mean(axis=0).tolist()), tuple((np.diff(box, axis=0)[0] / 2).tolist())
    made = Layers(weights, [jnp.zeros(W.shape[0]) for W in weights], middle, half)
    u = jinns.nn.PINN(eq_type="PDENonStatio", eqx_network=made)
    loss, points, params = stated(problem, **POINTS, u=u)
    race = Race(task)

    def until(share: float) -> Any:
        def each(values: Any) -> Any:
            race.step()
            try:
                if race.due:
                    race.look(lambda _: values)
            except Enough:
                return np.array(True)
            return np.array(race.seconds - race.compiled > share * race.limit)

        return each

    grid = jnp.array(race.grid[:, ::-1].copy())
    params = train(
        optax.adam(1e-3), loss, points, params, Watch(each=until(ADAM_SHARE), u=u, grid=grid, call_every=50)
    )
    natural = jinns.optimizers.vanilla_ngd(linesearch=optax.scale_by_backtracking_linesearch(15))
    race.program()
    train(natural, loss, points, params, Watch(each=until(1.0), u=u, grid=grid, call_every=1))
    return race.answer


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    warnings.simplefilter("ignore")
    serve(("jinns", "jax", "equinox", "optax"), {"iterate": iterate, "solve": solve})
