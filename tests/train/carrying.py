"""A plan carried out by itself, as the door does it for one job."""

from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from safenet.train.run import Run


def train(problem, plan, monitor=None, folder=None, resume=False, own=None, budget=None):
    run = Run(problem, plan, monitor or Monitor(), folder, own, budget or Budget())
    if resume:
        run.restore()
    return run.carry_out()
