"""(step, {name: value}) → TensorBoard, Weights & Biases, MLflow, or your own: a `Tracker` is a monitor with one method.

from safenet.views.tracking import Tracker, tracker

class Mine(Tracker):
    def record(self, step, values):
        print(step, values)

sn.solve(problem, monitor=Mine())                            # or the one that `--track` makes:
sn.solve(problem, monitor=tracker("tensorboard:logs/wave"))
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from ..errors import SafeNetError, nearest
from ..run.progress import Monitor


class Tracker(Monitor):
    """Turns the progress of a run into numbers over one count of steps, which continues from phase to phase.

    A sink must have `record`; `close` is called with the content of result.json when the run has ended.
    """

    before, last = 0, 0  # steps of the phases that have ended, and of the current one

    def record(self, step: int, values: Mapping[str, float]) -> None:
        raise NotImplementedError

    def close(self, result: Mapping[str, Any] | None = None) -> None:
        """Called when the run has ended, with its result if it has one."""

    def losses(self, iteration: int, total: int, loss: float, terms: Mapping[str, float]) -> None:
        self._tell(iteration, {"loss": loss, **{f"terms/{name}": value for name, value in terms.items()}})

    def step(self, iteration: int, loss: float) -> None:
        self._tell(iteration, {"residual": loss})

    def level(self, unknowns: int, residual: float) -> None:
        self._tell(self.last + 1, {"held-out residual": residual, "coefficients": float(unknowns)})

    def _tell(self, iteration: int, values: Mapping[str, float]) -> None:
        if iteration < self.last:  # a new phase counts from the beginning
            self.before += self.last
        self.last = iteration
        self.record(self.before + iteration, values)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TensorBoard(Tracker):
    """Event files in a folder: `tensorboard --logdir FOLDER`."""

    def __init__(self, folder: str) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise _absent("TensorBoard", "tensorboardX") from None
        self._writer = SummaryWriter(folder)

    def record(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def close(self, result: Mapping[str, Any] | None = None) -> None:
        if result is not None:
            self.record(self.before + self.last, _numbers(result))
        self._writer.close()


class WeightsAndBiases(Tracker):
    """A run in a project of Weights & Biases."""

    def __init__(self, project: str) -> None:
        try:
            import wandb
        except ImportError:
            raise _absent("Weights & Biases", "wandb") from None
        self._run = wandb.init(project=project)

    def record(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def close(self, result: Mapping[str, Any] | None = None) -> None:
        if result is not None:
            self._run.summary.update({**_words(result), **_numbers(result)})
        self._run.finish()


class MLflow(Tracker):
    """A run in an experiment of MLflow, on the server that MLFLOW_TRACKING_URI names."""

    def __init__(self, experiment: str) -> None:
        try:
            import mlflow
        except ImportError:
            raise _absent("MLflow", "mlflow") from None
        self._mlflow = mlflow
        mlflow.set_experiment(experiment)
        mlflow.start_run()

    def record(self, step: int, values: Mapping[str, float]) -> None:
        # MLflow does not allow these characters in a name.
        named = {name.translate(str.maketrans("(),=*+'", "-------")): value for name, value in values.items()}
        self._mlflow.log_metrics(named, step=step)

    def close(self, result: Mapping[str, Any] | None = None) -> None:
        if result is not None:
            self._mlflow.log_params(_words(result))
            self.record(self.before + self.last, _numbers(result))
        self._mlflow.end_run()


SINKS: dict[str, type[TensorBoard] | type[WeightsAndBiases] | type[MLflow]] = {
    "tensorboard": TensorBoard,
    "wandb": WeightsAndBiases,
    "mlflow": MLflow,
}


def tracker(text: str) -> Tracker:
    """`tensorboard:FOLDER`, `wandb:PROJECT` or `mlflow:EXPERIMENT`."""
    kind, colon, target = text.partition(":")
    if kind not in SINKS:
        raise SafeNetError(f"there is no tracker {kind!r}", nearest(kind, SINKS))
    if not colon or not target:
        raise SafeNetError(f"the tracker {text!r} has no target", "e.g. tensorboard:logs, wandb:my-project")
    return SINKS[kind](target)


def _absent(name: str, package: str) -> SafeNetError:
    return SafeNetError(f"{name} needs the package {package}", f"pip install {package}")


def _numbers(result: Mapping[str, Any]) -> dict[str, float]:
    l2re = result.get("l2re")
    errors = (
        {f"l2re/{name}": value for name, value in l2re.items()} if isinstance(l2re, dict) else {"l2re": l2re}
    )
    names = ("residual", "max_error", "parameters", "iterations", "evaluations", "seconds")
    numbers = errors | {name: result.get(name) for name in names}
    return {f"result/{name}": float(value) for name, value in numbers.items() if value is not None}


def _words(result: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: str(result.get(name)) for name in ("problem", "solver", "method", "recipe", "seed", "outcome")
    }
