"""DeepXDE, with the backend that DDE_BACKEND names: TimePDE on given points, PointSetBC, Adam.

DeepXDE evaluates the residual at the points of the conditions too, and then drops those values. Its JAX backend gives
conditions no function to differentiate, so there u_t(x, 0) = 0 is a second equation at points of its own; and it has no
L-BFGS.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import deepxde as dde
import numpy as np
from work import PROBLEMS, WAVES, WEIGHT, Enough, Laps, Problem, Race, frequencies, layers, serve

JAX = os.environ["DDE_BACKEND"] == "jax"
# The documentation's Burgers example: 3 × 20 on 2540 points and 80 + 160, Adam, then L-BFGS; in float64, which L-BFGS
# needs. Its wave example has 3 × 100, Adam alone, and multi-scale Fourier features, which neither backend has.
RACES: dict[str, dict[str, Any]] = {
    "wave": {"width": 100, "interior": 2_540, "condition": 160},
    "burgers": {"width": 20, "interior": 2_540, "condition": 160},
    "reaction": {"width": 20, "interior": 2_540, "condition": 160},
}
ADAM_SHARE = 0.3  # of a race's time; the examples give Adam 10,000 to 15,000 iterations

if JAX:
    import jax
    import jax.numpy as jnp
    from flax import linen
else:
    import torch
    from torch_ import network as torch_network


def derivative(inputs: Any, outputs: Any, name: str) -> Any:
    """u, u_x, u_tt …, as a column"""
    axes = ["xt".index(axis) for axis in name]
    if not axes:
        return outputs[0] if JAX else outputs
    if len(axes) == 1:
        found = dde.grad.jacobian(outputs, inputs, i=0, j=axes[0])
    else:
        found = dde.grad.hessian(outputs, inputs, i=axes[0], j=axes[1])
    return found[0] if JAX else found


def data_of(problem: Problem, interior: int, condition: int) -> tuple[Any, list[float]]:
    """The points and terms, and the weights of the terms: λ/2, since DeepXDE's terms are means of squares."""
    geometry = dde.geometry.GeometryXTime(
        dde.geometry.Interval(problem.lower[0], problem.upper[0]),
        dde.geometry.TimeDomain(0, problem.upper[1]),
    )
    inside, conditions, boundary = problem.interior(interior), problem.conditions(condition), 0
    bcs, slopes, weights = [], [], []
    for c in conditions.values():
        if c.partner is not None:
            bcs.append(dde.icbc.PeriodicBC(geometry, 0, lambda _, on_boundary: on_boundary))
            boundary = condition
        elif c.derivative and JAX:
            slopes.append(c)
            continue
        elif c.derivative:
            operator = lambda x, u, _, name=c.derivative: derivative(x, u, name)  # noqa: E731
            bcs.append(dde.icbc.PointSetOperatorBC(c.points, c.target[:, None], operator))
        else:
            bcs.append(dde.icbc.PointSetBC(c.points, c.target[:, None]))
        weights.append(WEIGHT / 2)
    anchors = np.vstack([inside, *(c.points for c in slopes)])
    share = len(inside) / len(anchors)

    def equation(x: Any, u: Any) -> Any:
        residual = problem.residual(lambda name: derivative(x, u, name))
        if not slopes:
            return residual
        # x is [conditions; interior; points of u_t]; each equation counts only at its own points.
        own = jnp.arange(x.shape[0])[:, None] < x.shape[0] - condition
        return [jnp.where(own, residual, 0), jnp.where(own, 0, derivative(x, u, slopes[0].derivative))]

    equations = [1 / (2 * share), *(WEIGHT / (2 * (1 - share)) for _ in slopes)]
    data = dde.data.TimePDE(geometry, equation, bcs, num_boundary=boundary, anchors=anchors)
    return data, [*equations, *weights]


def use(precision: str) -> None:
    dde.config.set_default_float(precision)
    if JAX:
        jax.config.update("jax_enable_x64", precision == "float64")


def quiet(model: Any, **options: Any) -> None:
    model.train(display_every=10**9, verbose=0, **options)


class Watch(dde.callbacks.Callback):
    """After every iteration, waits until the step is finished and calls `each`."""

    def __init__(self, each: Any) -> None:
        super().__init__()
        self.each = each

    def on_batch_end(self) -> None:
        if JAX:
            jax.block_until_ready(self.model.params)
        self.each()


# ---- networks


def network(name: str) -> Any:
    """The network with the weights shared by all systems; the JAX backend's are set after its model is compiled."""
    if JAX and name == "pinn":
        return dde.nn.FNN([2, 50, 50, 50, 50, 1], "tanh", "Glorot uniform")
    if JAX:
        return FlaxSafeNet()
    if name == "pinn":
        net = dde.nn.FNN([2, 50, 50, 50, 50, 1], "tanh", "Glorot uniform")
        net.linears.load_state_dict(torch_network(name).layers.state_dict())
        return net
    net = torch_network(name)
    net.regularizer = None  # attributes that DeepXDE reads
    net.auxiliary_vars = None
    return net


def set_weights(model: Any, name: str) -> None:
    """Set the weights in Flax's tree of parameters: dense layers in order, then frequencies and amplitudes."""
    if not JAX:
        return
    omega, amplitude, _ = frequencies()
    leaves = {f"denses_{i}": {"kernel": W.T, "bias": b} for i, (W, b) in enumerate(layers(name))}
    leaves |= {} if name == "pinn" else {"omega": omega, "amplitude": amplitude}
    like = model.net.params
    model.net.params = jax.tree.map(lambda old, new: jnp.asarray(new, old.dtype), like, {"params": leaves})
    model.params = [model.net.params, *model.params[1:]]


if JAX:

    class FlaxSafeNet(dde.nn.NN):
        """SAFE-NET as a Flax module, for one point or many."""

        regularization: Any = None
        params: Any = None
        _input_transform: Any = None
        _output_transform: Any = None

        def setup(self) -> None:
            omega, amplitude, self.scale = frequencies()
            self.omega = self.param("omega", lambda _: jnp.asarray(omega, dde.config.default_float()))
            self.amplitude = self.param(
                "amplitude", lambda _: jnp.asarray(amplitude, dde.config.default_float())
            )
            self.denses = [linen.Dense(50), linen.Dense(1)]

        def __call__(self, inputs: Any, training: bool = False) -> Any:
            phase = inputs[..., None, :] * self.omega
            (sx, cx), (st, ct) = ((jnp.sin(phase[..., i]), jnp.cos(phase[..., i])) for i in (0, 1))
            products = jnp.stack([sx * ct, cx * st, sx * st, cx * ct], axis=-1) * self.amplitude
            waves = jnp.sin(inputs[..., :1] * jnp.asarray(WAVES, inputs.dtype))
            features = jnp.concatenate([products.reshape(*inputs.shape[:-1], -1), waves], axis=-1)
            return self.denses[1](jnp.tanh(self.denses[0](features / self.scale)))


# ---- tasks


def iterate(task: dict[str, Any]) -> dict[str, Any]:
    use(task["precision"])
    data, weights = data_of(PROBLEMS["wave"], task["interior"], task["condition"])
    model = dde.Model(data, network(task["network"]))
    model.compile("adam", lr=1e-3, loss_weights=weights, verbose=0)
    set_weights(model, task["network"])
    laps = Laps(task)
    with suppress(Enough):
        quiet(model, iterations=10**6, callbacks=[Watch(laps.lap)])
    if JAX:
        count = sum(leaf.size for leaf in jax.tree.leaves(model.net.params))
    else:
        count = sum(p.numel() for p in model.net.parameters())
    return {**laps.answer, "loss": float(np.sum(model.losshistory.loss_train[0])), "parameters": count}


def solve(task: dict[str, Any]) -> dict[str, Any]:
    use("float64")
    dde.config.set_random_seed(task["seed"])
    problem, recipe = PROBLEMS[task["problem"]], RACES[task["problem"]]
    data, weights = data_of(problem, recipe["interior"], recipe["condition"])
    net = dde.nn.FNN([2] + [recipe["width"]] * 3 + [1], "tanh", "Glorot normal")
    middle, half = np.add(problem.lower, problem.upper) / 2, np.subtract(problem.upper, problem.lower) / 2
    to_box = [float(v) for v in (*middle, *half)]
    stack = (
        (lambda columns: jnp.stack(columns, axis=-1))
        if JAX
        else (lambda columns: torch.stack(columns, dim=-1))
    )
    net.apply_feature_transform(lambda x: stack([(x[..., i] - to_box[i]) / to_box[2 + i] for i in (0, 1)]))
    model = dde.Model(data, net)
    model.compile("adam", lr=1e-3, loss_weights=weights, verbose=0)
    race = Race(task)
    adam = True

    def each() -> None:
        race.step()
        if race.due:
            race.look(model.predict)
        if adam and not JAX and race.seconds > ADAM_SHARE * race.limit:
            model.stop_training = True

    try:
        quiet(model, iterations=10**6, callbacks=[Watch(each)])
        adam = False
        dde.optimizers.set_LBFGS_options(gtol=0, maxiter=10**6)
        dde.optimizers.config.LBFGS_options |= {"iter_per_step": 20, "fun_per_step": 25}  # between two looks
        model.compile("L-BFGS", loss_weights=weights, verbose=0)
        quiet(model, callbacks=[Watch(each)])
        race.look(model.predict)
    except Enough:
        pass
    return race.answer


if __name__ == "__main__":
    serve(("deepxde", "jax", "flax") if JAX else ("deepxde", "torch"), {"iterate": iterate, "solve": solve})
