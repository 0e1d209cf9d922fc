"""A module around a perceptron has its interface."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float

from ..features import Features
from .perceptron import Perceptron


class Around(eqx.Module):
    """`inner`, changed in what it computes; its parameters are those of `inner`."""

    inner: Perceptron | Around

    @property
    def features(self) -> Features:
        return self.inner.features

    @property
    def weights(self) -> tuple[Float[Array, ...], ...]:
        return self.inner.weights

    @property
    def biases(self) -> tuple[Float[Array, ...], ...]:
        return self.inner.biases

    @property
    def perceptron(self) -> Perceptron | Around:
        """The part whose parameters are trained."""
        return self.inner.perceptron

    @property
    def parameters(self) -> int:
        return self.inner.parameters
