"""A matrix of blocks against the dense one: the same solution, whatever the graph of its cells."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

from safenet.measure.rows.block_cholesky import BlockCholesky, elimination

WIDTH = 3
GRAPHS = {
    "chain": [(i, i + 1) for i in range(7)],
    "ring": [(i, (i + 1) % 8) for i in range(8)],
    "grid": [(3 * i + j, 3 * i + j + 1) for i in range(3) for j in range(2)]
    + [(3 * i + j, 3 * i + 3 + j) for i in range(2) for j in range(3)],
    "apart": [(0, 1), (2, 3)],
    "one": [],
}


def matrix(edges):
    """A positive matrix with blocks on the edges, as blocks and dense; either triangle of a pair may be given."""
    count = max((max(edge) for edge in edges), default=0) + 1
    random = np.random.default_rng(1)
    dense = np.zeros((count * WIDTH, count * WIDTH))
    blocks = {}
    for number, (i, j) in enumerate(edges):
        block = random.normal(size=(WIDTH, WIDTH))
        dense[i * WIDTH : (i + 1) * WIDTH, j * WIDTH : (j + 1) * WIDTH] = block
        dense[j * WIDTH : (j + 1) * WIDTH, i * WIDTH : (i + 1) * WIDTH] = block.T
        blocks[(i, j) if number % 2 else (j, i)] = block if number % 2 else block.T
    shift = 1 - min(0.0, np.linalg.eigvalsh(dense).min())
    dense += shift * np.eye(len(dense))
    blocks |= {(i, i): shift * np.eye(WIDTH) for i in range(count)}
    return blocks, dense, count


@pytest.mark.parametrize("edges", GRAPHS.values(), ids=GRAPHS)
def test_it_solves_as_the_dense_matrix_does(edges):
    blocks, dense, count = matrix(edges)
    kept = {key: block.copy() for key, block in blocks.items()}
    vector = np.random.default_rng(2).normal(size=(count, WIDTH))
    found = BlockCholesky(blocks, count, 0.0).solve(vector)
    np.testing.assert_allclose(found.ravel(), np.linalg.solve(dense, vector.ravel()), rtol=1e-10)
    for key, block in kept.items():
        np.testing.assert_array_equal(blocks[key], block)


def test_a_chain_is_eliminated_without_new_couplings():
    blocks, _, count = matrix(GRAPHS["chain"])
    order, neighbours = elimination(blocks, count)
    assert sorted(order) == list(range(count))
    assert sum(map(len, neighbours)) == len(GRAPHS["chain"])


def test_a_ring_gains_one_coupling_for_each_cell_but_three():
    blocks, _, count = matrix(GRAPHS["ring"])
    _, neighbours = elimination(blocks, count)
    assert sum(map(len, neighbours)) == count + (count - 3)


def test_a_pivot_that_rounding_made_negative_gets_a_larger_ridge():
    block = np.array([[1.0, 1 + 1e-12], [1 + 1e-12, 1.0]])
    solved = BlockCholesky({(0, 0): block}, 1, 1e-13).solve(np.array([[1.0, 1.0]]))
    np.testing.assert_allclose(solved, [[0.5, 0.5]], rtol=1e-9)


def test_a_matrix_that_is_not_positive_is_refused():
    with pytest.raises(LinAlgError):
        BlockCholesky({(0, 0): -np.eye(2)}, 1, 1e-13)
