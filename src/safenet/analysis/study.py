"""solution → spectra, kernels, Gram matrices and a diagnosis: the entry point of this folder.

sn.spectrum(solution)                                   for a trained network
sn.spectrum(problem, method="pinn", adam=3000)          for a method's network after 3000 iterations of Adam
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .. import library
from ..direct.least_squares import LeastSquares
from ..errors import SafeNetError, nearest
from ..fields.series import LinearForm
from ..measure.heldout import held_out
from ..measure.points import Points, sample
from ..networks.methods import build
from ..problem import Problem
from ..problem.facts.structure import named_frequencies
from ..run.plans import Job
from ..solution import Solution
from ..solving.door import carry_out
from ..train.objective import PhysicsLoss, physics_loss
from ..train.plan import Plan
from ..train.solver import Train
from ..train.terms import term_names
from ..train.weighting import NTK, weighting
from .curvature import DENSE, curvature, widened
from .density import Spectrum, eigenvalue_spectrum, quadrature_spectrum
from .diagnosis import Advice, FrequencyShares, diagnose, faint, frequency_shares
from .gram import Gram, feature_grams
from .kernel import Kernel, tangent_kernels
from .lanczos import PROBES, STEPS
from .preconditioned import seen_by_lbfgs, seen_by_levenberg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPTIMISERS = ("lbfgs", "levenberg")
ADAM = 100_000  # iterations of Adam in the schedule, which is scaled to the number asked for
# A Hessian-vector product with 6.8k parameters at 1000 points takes a tenth of a second on two cores. The defaults on
# a CPU: points (interior, per condition), (probes, steps), and the most parameters for which all eigenvalues are found.
CPU_POINTS, CPU_QUADRATURE, CPU_DENSE = (500, 50), (4, 30), 1000


@dataclass(frozen=True)
class Analysis:
    """Measurements at one θ. `spectra` has `loss` first, then the terms asked for, then what optimisers see."""

    problem: str
    method: str
    what: str
    parameters: int
    points: tuple[int, int]
    loss: float
    spectra: dict[str, Spectrum]
    kernels: dict[str, Kernel]
    grams: dict[str, Gram]
    frequencies: FrequencyShares | None
    advice: list[Advice]
    seconds: float
    notes: list[str] = field(default_factory=list)

    @property
    def lambda_max(self) -> float:
        return self.spectra["loss"].lambda_max

    @property
    def lambda_min(self) -> float:
        return self.spectra["loss"].lambda_min

    @property
    def condition(self) -> float | None:
        """None where the spectrum is a quadrature: `spectra["loss"].condition_at_least` bounds it from below."""
        return self.spectra["loss"].condition

    def plot(self) -> Figure:
        """The spectral densities, and the eigenvalues of the tangent kernels."""
        from .picture import plot

        return plot(self)

    def to_json(self) -> dict[str, Any]:
        whole = self.spectra["loss"].to_json()
        shares = self.frequencies
        return {
            "problem": self.problem,
            "method": self.method,
            "what": self.what,
            **whole,
            "parameters": self.parameters,
            "points": list(self.points),
            "loss": self.loss,
            "spectra": {name: spectrum.to_json() for name, spectrum in self.spectra.items()},
            "kernels": {name: kernel.to_json() for name, kernel in self.kernels.items()},
            "grams": {name: gram.to_json() for name, gram in self.grams.items()},
            "stiffest_frequencies": shares.leading() if shares is not None else None,
            "advice": [advice.to_json() for advice in self.advice],
            "notes": self.notes,
            "seconds": round(self.seconds, 3),
        }

    def __str__(self) -> str:
        lines = [f"{self.problem}, {self.method}: {self.what}"]
        lines.append(
            f"  loss            {self.loss:.3e}, {self.parameters} parameters, "
            f"{self.points[0]} points and {self.points[1]} on each condition"
        )
        for name, spectrum in self.spectra.items():
            how = "exact" if spectrum.exact else "{} probes of {} steps".format(*spectrum.nodes.shape)
            lines.append(
                f"  {name:<15} λ from {spectrum.lambda_min:.3e} to {spectrum.lambda_max:.3e}, "
                f"condition {'' if spectrum.rank == spectrum.size else 'at least '}{spectrum.condition_at_least:.1e} "
                f"({spectrum.operator}, {how})"
            )
        for name, kernel in self.kernels.items():
            lines.append(
                f"  kernel          {name}: κ_max {kernel.eigenvalues[0]:.3e}, "
                f"condition {'' if kernel.resolved else 'at least '}{kernel.condition:.1e}, "
                f"effective rank {kernel.effective_dimension():.0f} of {len(kernel.residual)}; gradient descent would "
                f"leave {kernel.remaining():.0%} of its loss, {kernel.remaining_loss():.1e} of {kernel.loss:.1e}"
            )
        for name, gram in self.grams.items():
            lines.append(f"  Gram matrix     {name}: condition {gram.condition:.3g} ({len(gram.matrix)})")
        lines += [f"  note            {note}" for note in self.notes]
        lines += [f"  advice          {advice}" for advice in self.advice] or [
            "  advice          none: no rule applies"
        ]
        return "\n".join(lines)


def spectrum(
    subject: Solution | Problem,
    *,
    operator: str | None = None,
    terms: bool = False,
    optimiser: str | None = None,
    dense: bool | None = None,
    probes: int | None = None,
    steps: int | None = None,
    points: int | None = None,
    condition_points: int | None = None,
    seed: int = 0,
    method: str = "safe-net",
    adam: int = 0,
    say: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Analysis:
    """The spectrum of the loss at a solution's parameters, its tangent kernels, and a diagnosis.

    `operator` is hessian (default) or gauss-newton (default where the two agree). `terms` adds the spectrum of each
    term, `optimiser` (lbfgs or levenberg) the one that this optimiser sees. `dense` chooses all eigenvalues (at most
    10,000 parameters; the default as far as they go) or Lanczos quadrature with `probes` (100) of `steps` (200). On a
    CPU the defaults are smaller; the result says what was used. If the subject is a problem, the network of `method`
    (with `options` as in `solve`) is analysed after `adam` iterations of Adam. `say` is called with each line of
    progress.

    Examples:
        >>> analysis = sn.spectrum(decay, method="pinn", width=4, depth=1, points=20, condition_points=1)
        >>> print("hessian" in str(analysis).lower())
        True
    """
    began = time.monotonic()
    if optimiser not in (None, *OPTIMISERS):
        raise SafeNetError(f"unknown optimiser {optimiser!r}", nearest(str(optimiser), OPTIMISERS))
    if isinstance(subject, Problem):
        subject = _network(subject, method, adam, seed, say, options)
    on_cpu = jax.default_backend() == "cpu"
    plan = _training(subject)
    counts = _points(plan, points, condition_points, on_cpu)
    drawn = sample(subject.problem, *counts, plan.sampler, plan.seed)
    loss, theta, what, notes = loss_of(subject, drawn)
    size = int(theta.shape[0])
    linear = subject.problem.linear and getattr(subject.field, "subject", "") == LinearForm.subject
    # If the loss is quadratic in θ, JᵀJ is its Hessian and costs less.
    chosen = operator or ("gauss-newton" if linear else "hessian")
    default = CPU_QUADRATURE if on_cpu else (PROBES, STEPS)
    quadrature = (default[0] if probes is None else probes, default[1] if steps is None else steps)
    limit = CPU_DENSE if on_cpu and chosen == "hessian" else DENSE
    sampled = probes is not None or steps is not None
    if dense and sampled:
        raise SafeNetError(
            "a dense spectrum has no probes and steps", "leave out dense, or the number of probes and steps"
        )
    exact = (size <= limit and not sampled) if dense is None else dense
    how = f"all {size:,} eigenvalues" if exact else "{} probes of {} Lanczos steps".format(*quadrature)

    def measured(name: str, A: Any) -> Spectrum:
        say(f"spectrum of {name}: {how}")
        if exact:
            return eigenvalue_spectrum(chosen, A.dense())
        return quadrature_spectrum(chosen, A, *quadrature, seed)

    spectra = {"loss": measured("the loss", curvature(loss, theta, chosen))}
    names = term_names(subject.problem)
    if terms:
        spectra |= {name: measured(name, curvature(loss, theta, chosen, i)) for i, name in enumerate(names)}
    if optimiser == "lbfgs":
        seen, facts = seen_by_lbfgs(loss, theta, chosen)
        spectra |= {
            "where L-BFGS is": measured("where L-BFGS is", seen.A),
            "seen by L-BFGS": measured("L-BFGS", seen),
        }
        notes.append(
            f"after {facts['steps']} steps L-BFGS has a loss of {facts['loss']:.3e} and stores {facts['pairs']} pairs"
        )
    if optimiser == "levenberg":
        spectra["seen by Levenberg–Marquardt"] = measured("Levenberg", seen_by_levenberg(loss, theta, chosen))
        notes.append("Levenberg–Marquardt at its initial damping μ = 0.01")
    say("tangent kernels")
    kernels = tangent_kernels(loss, theta, names)
    named = float(np.linalg.norm([max(along, default=0.0) for along in named_frequencies(subject.problem)]))
    frequencies = frequency_shares(loss, theta, kernels["loss"].stiffest, named)
    rounding = _rounding(subject, drawn, loss, theta)
    stiffness = {name: float(kernels[name].eigenvalues[0]) for name in names}
    equations = len(subject.problem.equations)
    trained = len(subject.history) > 0
    unmet = held_out(subject.problem, subject.field) if trained and faint(stiffness, equations) else None
    return Analysis(
        problem=subject.problem.name,
        method=subject.plan.method or subject.plan.solver,
        what=what,
        parameters=size,
        points=counts,
        loss=float(loss(theta)[0]),
        spectra=spectra,
        kernels=kernels,
        grams=feature_grams(subject.problem, subject.field),
        frequencies=frequencies,
        advice=diagnose(
            stiffness,
            equations,
            frequencies,
            kernels["loss"],
            rounding,
            _carried_out(subject),
            _starved(kernels, names[:equations], trained),
            unmet,
        ),
        seconds=time.monotonic() - began,
        notes=notes,
    )


def loss_of(solution: Solution, points: Points) -> tuple[PhysicsLoss, Float[Array, " p"], str, list[str]]:
    """The loss defined by a solution's plan and its parameters, in float64; what the parameters are, and notes."""
    network, plan = solution.field, _training(solution)
    if in_parts := getattr(network, "in_parts", ""):
        a_network, one_form = _instead(solution)
        possible = LeastSquares().obstacle(solution.problem) is None
        raise SafeNetError(
            f"this solution consists of {in_parts}: it has no single loss to analyse",
            f"analyse a network ({a_network})" + (f", or one series ({one_form})" if possible else ""),
        )
    loss, theta = _loss(solution, widened(network), points)
    notes = [f"analysed in float64, trained in {plan.precision}"] if plan.precision != "float64" else []
    if isinstance(loss.weighting, NTK):
        loss = loss.weighted(loss.adapt(theta, None, jnp.asarray(0, jnp.int32)))
        notes.append("with the weights that the tangent kernel gives at these parameters")
    elif plan.network.weighting == "rba":
        notes.append(
            "with the plan's weights; the residual-based attention weights belong to the training points and are not "
            "used"
        )
    notes += [network.note] if getattr(network, "note", "") else []
    return loss, theta, getattr(network, "subject", "all parameters of the network"), notes


def _instead(solution: Solution) -> tuple[str, str]:
    """How to analyse a network of the same problem, and how to solve it by one linear form.

    Commands refer to the problem by its name in the library or by the file in the run's folder; else Python is shown.
    """
    problem = solution.problem
    if problem.name in library.names() and library.problem(problem.name) == problem:
        name = problem.name
    elif solution.folder is not None:
        name = str(solution.folder / "problem.toml")
    else:
        return (
            'sn.spectrum(problem, method="safe-net", adam=1000)',
            "sn.solve(problem, sn.LeastSquares())",
        )
    return (
        f"safenet spectrum {name} --method safe-net --adam 1000",
        f"safenet solve {name} --solver least-squares",
    )


def _loss(solution: Solution, network: Any, points: Points) -> tuple[PhysicsLoss, Float[Array, " p"]]:
    plan = _carried_out(solution)
    return physics_loss(solution.problem, network, points, plan.weighing, weighting(plan.network))


def _training(solution: Solution) -> Plan:
    """The plan of a training; a series has none and gets the usual points and weights."""
    plan = solution.plan
    return plan if isinstance(plan, Plan) else Plan(interior=4_000, condition=400, sampler="sobol")


def _carried_out(solution: Solution) -> Plan:
    """The plan of the chosen candidate, with the learning rate and weight of the equations that it had."""
    plan = _training(solution)
    candidates = zip(plan.settled, solution.result.candidates, strict=False)
    return next((settled for settled, facts in candidates if facts["chosen"]), plan)


def _starved(kernels: Mapping[str, Kernel], equations: Sequence[str], trained: bool) -> float:
    """The conditions' share of the remaining loss; before training, of the loss that gradient descent would leave."""
    squares = (kernels["loss"].residual if trained else kernels["loss"].left()) ** 2
    rows = sum(len(kernels[name].residual) for name in equations)
    return float(squares[rows:].sum() / squares.sum()) if squares.sum() > 0 else 0.0


def _points(plan: Plan, interior: int | None, condition: int | None, on_cpu: bool) -> tuple[int, int]:
    most = CPU_POINTS if on_cpu else (plan.interior, plan.condition)
    usual = min(plan.interior, most[0]), min(plan.condition, most[1])
    asked = usual[0] if interior is None else interior, usual[1] if condition is None else condition
    if min(asked) < 1:
        raise SafeNetError(f"{min(asked)} points are too few", "give at least 1")
    return asked


def _network(
    problem: Problem, method: str, adam: int, seed: int, say: Callable[[str], None], options: dict[str, Any]
) -> Solution:
    """A method's initial network, or the network after `adam` iterations of the paper's Adam."""
    if adam < 0:
        raise SafeNetError(f"{adam} iterations of Adam are too few", "give 0 for the untrained network")
    plan = Train(method, "paper-4", seed=seed, scale=max(adam, 1) / ADAM, **options).plan(problem)
    if adam:
        say(f"{adam} iterations of Adam")
        return carry_out([Job(problem, plan)], estimate=False)[0]
    network = build(problem, plan.network, key=jax.random.key(seed), dtype=jnp.dtype(plan.precision))
    return Solution(problem, network, plan)


def _rounding(
    solution: Solution, points: Points, loss: PhysicsLoss, theta: Float[Array, " p"]
) -> float | None:
    """‖g₃₂ − g₆₄‖/‖g₆₄‖ of a network trained in float32; None for others."""
    plan = _training(solution)
    if plan.precision != "float32" or plan.network.weighting != "fixed":
        return None
    narrow, start = _loss(solution, solution.field, points)
    exact = np.asarray(_gradient(loss, theta))
    rounded = np.asarray(_gradient(narrow, start), dtype=float)
    return float(np.linalg.norm(rounded - exact) / np.linalg.norm(exact))


@eqx.filter_jit
def _gradient(loss: PhysicsLoss, theta: Float[Array, " p"]) -> Float[Array, " p"]:
    return jnp.asarray(jax.grad(lambda parameters: loss(parameters)[0])(theta))
