"""Features of your own: a boundary layer that finds its width, joined with `+` to the library's Fourier products.

−ε u″ + u′ = 1 with u(0) = u(1) = 0 rises like x and drops to 0 within about ε of the right end. A small network on
sines and cosines hardly finds that layer; one that is told to look for a layer does.
"""

import jax
import jax.numpy as jnp
from sympy import Eq, Function, Rational, exp, symbols

import safenet as sn
from safenet.features import Features, domain_features, fourier_products
from safenet.networks import perceptron

x = symbols("x")
u = Function("u")
epsilon = Rational(1, 300)
layer = sn.Problem(
    Eq(-epsilon * u(x).diff(x, 2) + u(x).diff(x), 1),
    domain={x: (0, 1)},
    conditions=[Eq(u(0), 0), Eq(u(1), 0)],
    exact=x - (exp((x - 1) / epsilon) - exp(-1 / epsilon)) / (1 - exp(-1 / epsilon)),
)


class Layer(Features):
    """φ(x) = exp((x − 1)/width). Arrays are trained; a feature maps one point to a vector of length `size`."""

    width: jax.Array

    @property
    def size(self):
        return 1

    def __call__(self, point):
        return jnp.exp((point - 1) / self.width)


def train(features):
    """A network of one hidden layer on `features`, by Levenberg–Marquardt."""
    network = perceptron(
        features, 1, width=8, depth=1, activation="tanh", key=jax.random.key(0), dtype=jnp.float64
    )
    schedule = [sn.LevenbergMarquardt(60)]
    return sn.solve(layer, sn.Train(network, schedule, points=512, condition_points=1))


fourier = fourier_products(layer, 16, "box", "decay", key=jax.random.key(1), dtype=jnp.float64)
polynomials = domain_features(layer, more=(x, x**2))  # expressions of the axes are features too
errors = {}
for name, features in {
    "Fourier products": fourier,
    "with two polynomials and a layer": fourier + polynomials + Layer(width=jnp.array(0.05)),
}.items():
    sol = train(features)
    errors[name] = sol.error().l2re
    print(f"{name:33} {features.size} features, {sol.field.parameters} parameters: L2RE {errors[name]:.1e}")

width = float(sol.field.features.parts[-1].width)
print(f"The layer began with the width 0.05 and ended with {width:.5f}; ε is {float(epsilon):.5f}.")
