"""Features of your own: fronts that move and find their place, joined with `+` to the library's Fourier products.

u_t + u u_x = ν u_xx has the travelling front u = (1 − tanh((x − t/2)/(4ν)))/2. It is narrow: a small network on sines
and cosines hardly finds it, and one that is told to look for fronts does.
"""

import jax
import jax.numpy as jnp
from sympy import Eq, Function, Rational, symbols, tanh

import safenet as sn
from safenet.features import Features, domain_features, fourier_products
from safenet.networks import perceptron
from safenet.training.levenberg import LevenbergMarquardt
from safenet.training.objective import physics_loss
from safenet.training.points import sample
from safenet.training.status import Status

x, t = symbols("x t", real=True)
u = Function("u")(x, t)
nu = Rational(1, 50)
front = (1 - tanh((x - t / 2) / (4 * nu))) / 2
burgers = sn.Problem(
    Eq(u.diff(t) + u * u.diff(x), nu * u.diff(x, 2)),
    on={x: (-1, 1), t: (0, 1)},
    where=[Eq(u.subs(place), front.subs(place)) for place in ({t: 0}, {x: -1}, {x: 1})],
    exact=front,
)


class Fronts(Features):
    """φ_k(x, t) = tanh((x − place_k − speed_k t)/width_k). Arrays are trained; a feature maps one point."""

    place: jax.Array
    speed: jax.Array
    width: jax.Array

    @property
    def size(self):
        return self.place.size

    def __call__(self, point):
        x, t = point
        return jnp.tanh((x - self.place - self.speed * t) / self.width)


def train(features):
    """A network of one hidden layer on `features`, by Levenberg–Marquardt: a Solution like that of sn.solve."""
    network = perceptron(features, 1, width=12, depth=1, activation="tanh", key=jax.random.key(0), dtype=jnp.float64)
    points = sample(burgers, interior=1024, condition=128, sampler="sobol", seed=0)
    loss, theta = physics_loss(burgers, network, points)
    phase = LevenbergMarquardt(iterations=150)
    state = phase.start(loss, theta)
    while state.status == Status.RUNNING:
        state, _ = phase.advance(loss, state, 50)
    return sn.Solution(burgers, loss.field(state.theta), sn.Plan())


fourier = fourier_products(burgers, 16, "box", "decay", key=jax.random.key(1), dtype=jnp.float64)
fronts = Fronts(place=jnp.linspace(-0.5, 0.5, 3), speed=jnp.zeros(3), width=jnp.full(3, 0.3))
errors = {}
for name, features in {
    "Fourier products": fourier,
    "Fourier products + x, t": fourier + domain_features(burgers, more=(x, t)),  # any SymPy expressions
    "Fourier products + fronts": fourier + fronts,
}.items():
    sol = train(features)
    errors[name] = sol.error().l2re
    print(f"{name:26} {features.size:3} features, {sol.network.parameters} parameters: L2RE {errors[name]:.1e}")

found = sol.network.features.parts[-1]
print(f"The fronts began with the speed 0 and ended with {', '.join(f'{c:.2f}' for c in found.speed)}.")
