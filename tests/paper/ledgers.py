"""What the ledger says of a claim, by made-up rows."""

import pytest

from safenet.paper import Evidence, ledger
from synthetic import printed


def judged(rows, name, looks=()):
    return next(entry for entry in ledger(Evidence(rows, looks=looks)) if entry.name == name)


@pytest.fixture(scope="module")
def both():
    labels = ("optimizer_comparison_config1", "optimizer_comparison_config2")
    return [row for label in labels for row in printed(label)]
