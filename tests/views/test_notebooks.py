"""In a notebook a problem is LaTeX, a solution a table, a plot a picture; and the tutorials run as they stand."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

import safenet as sn
from safenet.errors import SafeNetError
from safenet.run import progress
from safenet.run.notebook import NotebookMonitor, table

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
WHERE = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
ON = {"x": (0, 1), "t": (0, 1)}


@pytest.fixture(scope="module")
def heat():
    return sn.solve(sn.Problem("u_t = u_xx/10", domain=ON, conditions=WHERE, name="heat"))


# ---- problems as text


def test_a_problem_of_text_is_that_of_its_file():
    text = sn.Problem("u_t = nu*u_xx", domain=ON, conditions=WHERE, parameters={"nu": "1/10"}, name="heat")
    assert text == sn.loads(text.toml())
    assert text == sn.Problem("u_t = u_xx/10", domain=ON, conditions=WHERE)
    assert text.unknowns == ("u",)


def test_unknowns_are_those_that_the_texts_differentiate_in_their_order():
    lotka = sn.Problem(
        ["a_t = a - a*b", "diff(b, t) = a*b - b"], domain={"t": (0, 1)}, conditions=["a(0) = 1", "b(0) = 2"]
    )
    assert lotka.unknowns == ("a", "b")


def test_text_and_sympy_go_together():
    import sympy as sp

    x, t = sp.symbols("x t")
    u = sp.Function("u")
    mixed = sp.Eq(u(x, t).diff(t), u(x, t).diff(x, 2) / 10)
    assert sn.Problem(mixed, domain={x: (0, 1), t: (0, 1)}, conditions=WHERE) == sn.Problem(
        "u_t = u_xx/10", domain=ON, conditions=WHERE
    )


def test_a_condition_on_a_piece_may_be_text():
    disc = sn.Disc((0, 0), 1)
    stated = sn.Problem("u_xx + u_yy = -1", domain=disc, conditions=["u_n = 0 on rim", sn.On("lid", "u = 0")],
                        pieces={"lid": "y > 1/2", "rim": "rest"})  # fmt: skip
    assert [condition.piece for condition in stated.conditions] == ["rim", "lid"]
    assert sn.loads(stated.toml()) == stated


@pytest.mark.parametrize(
    ("equation", "said"),
    [
        ("u_t = k*u_xx", "equation 1, column 7: the name 'k' is not known"),
        ("u_t = ", "equation 1, column 6: the right side is missing"),
        ("u = 3", "no derivative of an unknown"),
    ],
)
def test_what_is_wrong_in_a_text_is_said_with_its_place(equation, said):
    with pytest.raises(SafeNetError) as caught:
        sn.Problem(equation, domain=ON, conditions=[])
    assert said in caught.value.message


# ---- what a cell shows


def test_coordinates_may_come_in_the_order_of_the_axes(heat):
    assert heat(0.3, 0.5) == heat(x=0.3, t=0.5) == heat(0.3, t=0.5)
    np.testing.assert_array_equal(heat(np.array([0.1, 0.2]), 0.5), heat(x=[0.1, 0.2], t=0.5))
    with pytest.raises(SafeNetError, match="3 coordinates for the axes x, t"):
        heat(0.1, 0.2, 0.3)
    with pytest.raises(SafeNetError, match="3 coordinates"):
        heat(0.1, 0.2, t=0.3)


def test_a_problem_is_shown_as_latex():
    text = sn.library.problem("wave")._repr_latex_()
    assert r"u_{tt} &= c^{2} u_{xx} \\" in text
    assert r"u_{t}(x, 0) &= 0" in text
    assert r"x \in [0, 1],\; t \in [0, 1],\quad c = 2,\quad \beta = 4" in text
    assert r"u &= 4 y \left(1 - y\right)\quad\text{on inlet}" in sn.library.problem("backstep").latex()


def test_pieces_and_long_names_have_their_latex():
    problem = sn.Problem("rho_t = Re*rho_xx + where(x > 1/2, 1, 0)", domain=ON, conditions=["rho(x, 0) = 0"],
                         parameters={"Re": 3})  # fmt: skip
    text = problem.latex()
    assert r"\rho_{t} &= \mathrm{Re} \rho_{xx} + \begin{cases} 1 &" in text


def test_an_unknown_function_and_a_periodic_axis_have_their_latex():
    x = np.linspace(0, 1, 9)
    beam = sn.Problem(
        "diff(a*u_x, x) = -1",
        domain={"x": (0, 1)},
        conditions=["u(0) = 0", "u(1) = 0"],
        unknown={"a": {"of": ["x"], "start": 1, "above": 0}},
        data=sn.Data(x=x, u=x * (1 - x) / 2, sigma=0.01),
    )
    assert r"u_{x} a_{x}(x) + u_{xx} a(x) &= -1" in beam.latex()
    ring = sn.Problem("u_t + u_x = 0", domain=ON, conditions=["u(x, 0) = sin(2*pi*x)"], periodic=["x"])
    assert r"\text{periodic in } x" in ring.latex()


def test_a_solution_says_in_a_line_and_in_a_table_what_came_out(heat):
    assert repr(heat).startswith("Solution(heat: u(x, t), solved, estimated error ")
    assert len(repr(heat)) < 100
    shown = heat._repr_html_()
    assert "solved" in shown
    assert "estimated error" in shown
    assert len(shown) < 4000
    assert repr(heat.diff("x", 2)) == "Solution(heat: u(x, t), ∂x^2)"
    assert "residual" in heat.error()._repr_html_()


def test_nothing_in_a_table_is_taken_for_html():
    assert "<script>" not in table("<script>", [("<script>", "<script>")], "<script>")


def test_the_progress_of_a_notebook_is_one_bar_that_goes_away(monkeypatch):
    pytest.importorskip("IPython")
    monitor, shown = NotebookMonitor(), []
    monkeypatch.setattr(monitor, "_display", shown.append)
    monitor.phase("marching", "t = 0 … 0.5", 0.5)
    assert 'value="0.500"' in shown[0]
    assert "marching: t = 0 … 0.5" in shown[0]
    monitor.handle = object()
    monitor.ended()
    assert shown[-1] == ""


def test_in_a_silent_phase_the_bar_counts_on_and_prints_no_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_EVERY", 0.05)
    monkeypatch.setattr(progress, "BEAT", 0.01)
    monitor, shown = NotebookMonitor(), []
    monkeypatch.setattr(monitor, "_display", shown.append)
    monitor.handle = object()
    monitor.phase("march", "compiling")
    time.sleep(0.3)
    monitor.ended()
    assert len(shown) > 3
    assert all("march: compiling" in bar for bar in shown[:-1])
    assert shown[-1] == ""
    drawn = len(shown)
    time.sleep(0.1)
    assert len(shown) == drawn
    assert capsys.readouterr() == ("", "")


# ---- the tutorials


def executed(path, folder):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return notebook


@pytest.mark.parametrize(
    "path",
    NOTEBOOKS,
    ids=lambda path: path.stem,
)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's machinery
def test_the_tutorial_runs_in_a_fresh_kernel_and_shows_its_pictures(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(sn.__file__).parents[1]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.delenv("MPLBACKEND", raising=False)  # a kernel has its own
    notebook = executed(path, tmp_path)
    for cell in notebook.cells:
        lines = cell.source.splitlines() or [""]
        if cell.cell_type == "code" and ".plot(" in lines[-1]:
            assert any("image/png" in output.get("data", {}) for output in cell.outputs), cell.source


def test_there_are_three_tutorials_and_they_were_saved_with_their_pictures():
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        assert '"image/png"' in path.read_text(encoding="utf-8")
        assert path.stat().st_size < 400_000
        assert os.sep + "tmp" + os.sep not in path.read_text(encoding="utf-8")
