"""a(x, y) by numbers: splines follow what they were made from, in NumPy, JAX and SymPy, and through a file."""

import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import safenet as sn
from safenet.problem import functions
from safenet.problem.facts.structure import breaks
from safenet.problem.functions import Table
from safenet.problem.splines import Line, through
from safenet.problem.toml import write

HEAT = """
unknowns = ["u"]
equations = ["u_t = diff(k*u_x, x)"]
conditions = ["u(0, t) = -1 + k(0)", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
[domain]
x = [0, 1]
t = [0, 1]
"""


def k(x):
    return 1 + x**2 / 2


def heat(table, text=HEAT):
    return sn.loads(text, tables={"k": table})


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_a_spline_goes_through_its_values(degree):
    x, y = np.linspace(0, 1, 6), np.sort(np.random.default_rng(0).random(5))
    values = np.random.default_rng(1).random((6, 5))
    spline = through([x, y], values, degree)
    np.testing.assert_allclose(spline(np.meshgrid(x, y, indexing="ij"), (0, 0)), values, atol=1e-12)
    low, high = spline.range((0, 0))
    assert low <= values.min()
    assert values.max() <= high


def test_a_cubic_is_its_own_spline_with_all_derivatives():
    x = np.linspace(-1, 2, 9)
    spline, at = through([x], x**3 - x, 3), np.linspace(-1, 2, 40)
    for order, exact in enumerate([at**3 - at, 3 * at**2 - 1, 6 * at, 6 + 0 * at]):
        np.testing.assert_allclose(spline([at], (order,)), exact, atol=1e-10)
        low, high = spline.range((order,))
        assert low <= exact.min() + 1e-9
        assert exact.max() - 1e-9 <= high


def test_jax_has_the_values_and_slopes_of_numpy():
    spline = through([np.linspace(0, 1, 7), np.linspace(0, 2, 8)], np.random.default_rng(0).random((7, 8)), 3)
    x, y = np.random.default_rng(1).random((2, 20))
    np.testing.assert_allclose(spline([jnp.asarray(x), jnp.asarray(y)], (0, 1), jnp), spline([x, y], (0, 1)))
    slope = jax.vmap(jax.grad(lambda a, b: spline([a, b], (0, 0), jnp)))(x, y)
    np.testing.assert_allclose(slope, spline([x, y], (1, 0)), rtol=1e-9, atol=1e-10)


def test_b_splines_sum_to_one():
    line = Line.uniform(-1, 3, 5)
    np.testing.assert_allclose(line.design(np.linspace(-1, 3, 17)).sum(axis=1), 1)


def test_a_table_is_differentiated_and_placed_in_equations():
    problem = heat(Table(k, x=(0, 1)))
    assert problem.equations[0].text == "u_t = u_x*k_x + u_xx*k"
    assert problem.conditions[0].text == "u(0, t) = -1 + k(0)"
    x, t = sp.symbols("x t", real=True)
    u, K = sp.Function("u"), sp.Function("k")
    u = u(x, t)
    written = sn.Problem(
        sp.Eq(u.diff(t), (K(x) * u.diff(x)).diff(x)),
        domain={x: (0, 1), t: (0, 1)},
        conditions=[
            sp.Eq(u.subs(x, 0), K(0) - 1),
            sp.Eq(u.subs(x, 1), 0),
            sp.Eq(u.subs(t, 0), sp.sin(sp.pi * x)),
        ],
        tables={"k": k_table()},
    )
    assert written == problem
    assert written != heat(Table(lambda x: 1 + x, x=(0, 1)))


def k_table():
    return Table(k, x=(0, 1))


def test_functions_grids_files_and_scattered_points_are_the_same(tmp_path):
    x = np.linspace(0, 1, 21)
    rows = np.column_stack([x, k(x)])
    np.savetxt(
        tmp_path / "k.csv",
        np.random.default_rng(0).permutation(rows),
        "%.17g",
        ",",
        header="x,k",
        comments="",
    )
    given = [Table(k, x=(0, 1)), Table(k(x), x=x), Table(tmp_path / "k.csv")]
    given.append(Table(lambda x: k(x) if x < 2 else 0.0, x=(0, 1)))  # a function of numbers, not of arrays
    xarray = pytest.importorskip("xarray")
    given.append(Table(xarray.DataArray(k(x), coords={"x": x})))
    at = np.linspace(0, 1, 50)
    for table in given:
        np.testing.assert_allclose(table.spline([at], (0,)), k(at), atol=1e-9)
    a, b = np.random.default_rng(1).random((2, 400))
    scattered = Table({"x": a, "y": b, "value": np.sin(a + 2 * b)})
    c, d = 0.1 + 0.8 * np.random.default_rng(2).random((2, 50))
    np.testing.assert_allclose(scattered.spline([c, d], (0, 0)), np.sin(c + 2 * d), atol=5e-3)


def test_tables_travel_with_the_problem(tmp_path):
    problem = heat(Table(k, x=(0, 1)))
    write(problem, tmp_path / "heat.toml")
    again = sn.read(tmp_path / "heat.toml")
    assert again == problem
    assert pickle.loads(pickle.dumps(problem)) == problem
    np.testing.assert_array_equal(again.tables["k"].values, problem.tables["k"].values)


def test_kinks_and_jumps_are_facts():
    x = np.linspace(0, 1, 5)
    text = HEAT.replace("diff(k*u_x, x)", "k*u_xx")
    assert breaks(heat(Table(k(x), x=x, interpolation="linear"), text))[0] == (0.25, 0.5, 0.75)
    assert breaks(heat(Table(k(x), x=x, interpolation="constant"), text))[0] == (0.125, 0.375, 0.625, 0.875)
    assert breaks(heat(Table(k(x), x=x), text))[0] == ()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: heat(Table(k(np.arange(5)), x=np.arange(5.0), interpolation="constant")),
            "the slope of a jump",
        ),
        (lambda: heat(Table(k, x=(0, 0.5))), "from 0 to 0.5"),
        (lambda: heat(Table(k, y=(0, 1))), "not an axis of the domain"),
        (lambda: heat(Table([1, np.nan], x=[0, 1])), "not finite"),
        (lambda: heat(Table([1, 2, 3], x=[0, 1])), "(3,) values for (2,) ticks"),
        (lambda: Table(k, x=(0, 1), interpolation="cubic"), "no interpolation"),
        (lambda: Table(k, x=(0, 1), interpolation=["spline"]), "no interpolation ['spline']"),
        (lambda: Table([1, 2, 3], x=0), "the axis x of the table has 0 dimensions"),
        (lambda: Table({"x": [0, 1], "k": [1, 2]}, of=3), "the axes of the table are 3"),
        (lambda: Table({"x": [0, 1], "k": [1, 2]}, of=[0]), "the axes of the table are [0]"),
        (lambda: Table(lambda x: missing, x=(0, 1)), "the function fails: NameError"),  # noqa: F821
        (
            lambda: sn.loads(HEAT.replace("k*", "2*").replace("k(0)", "2"), tables={"k": k_table()}),
            "in no equation",
        ),
        (lambda: sn.loads(HEAT + '[tables]\nk = "none.csv"'), "there is no file"),
        (lambda: sn.loads(HEAT + "[tables]\nk = 3"), "has no file"),
    ],
)
def test_what_is_wrong_is_said(make, said):
    with pytest.raises(sn.SafeNetError) as caught:
        make()
    assert said in str(caught.value)


@pytest.mark.slow
def test_a_solution_with_a_table_is_that_with_its_formula():
    text = HEAT.replace("k(0) - 1", "0")
    formula = sn.solve(sn.loads(text.replace("k*", "(1 + x**2/2)*")), sn.March())
    table = sn.solve(heat(Table(k, x=(0, 1)), text), sn.March())
    x = np.linspace(0, 1, 21)
    np.testing.assert_allclose(table(x=x, t=0.1), formula(x=x, t=0.1), atol=1e-6)


def test_a_python_function_has_the_axes_that_its_arguments_name():
    on = {"x": (0, 2), "y": (0, 1)}
    tables = {"k": lambda y: 1 + y**2}
    problem = sn.Problem("diff(k*u_x, x) + u_yy = 0", domain=on, conditions=["u(0, y) = 0"], tables=tables)
    assert problem.tables["k"].of == ("y",)
    assert problem.tables["k"].spline([0.5], (0,)) == pytest.approx(1.25)


def test_a_text_takes_a_python_function_too():
    text = (
        'unknowns = ["u"]\nequations = ["diff(k*u_x, x) = -1"]\nconditions = ["u(0) = 0", "u(a) = 0"]\n'
        '[domain]\nx = [0, "a"]\n[parameters]\na = 2\n'
    )
    problem = sn.loads(text, tables={"k": lambda x: 1 + x**2})
    assert problem.tables["k"].of == ("x",)
    assert problem.tables["k"].ticks[0][[0, -1]] == pytest.approx([0, 2])


def test_a_python_function_that_jumps_is_not_taken_for_smooth(monkeypatch):
    monkeypatch.setitem(functions.SAMPLES, 1, (33, 257))
    with pytest.warns(sn.SafeNetWarning, match="bends or jumps"):
        sn.Table(lambda x: np.where(x < 0.3, 1.0, 2.0), x=(0, 1))


def test_a_jump_under_a_derivative_on_a_line_is_refused():
    """Elements are for the plane, and all others would take the slope of the jump for zero."""
    rock = sn.Table([1.0, 4.0], x=[0.25, 0.75], interpolation="constant")
    problem = sn.Problem(
        "diff(k*u_x, x) = -1", domain={"x": (0, 1)}, conditions=["u(0) = 0", "u(1) = 0"], tables={"k": rock}
    )
    with pytest.raises(sn.SafeNetError, match="does not suit it"):
        sn.solve(problem)


def test_a_masked_value_of_a_table_is_refused():
    x, k = np.linspace(0, 1, 4), np.ma.masked_array([1.0, 2, 3, 1e20], mask=[0, 0, 0, 1])
    with pytest.raises(sn.SafeNetError, match="1 values of the table are masked"):
        sn.Table(k, x=x)
    with pytest.raises(sn.SafeNetError, match="the first is row 4"):
        sn.Table({"x": x, "k": k})
    with pytest.raises(sn.SafeNetError, match="complex"):
        sn.Table(1j * x, x=x)


def test_a_table_of_one_axis_may_name_it_alone():
    assert Table({"xi": [0, 0.5, 1], "k": [1, 2, 3]}, of="xi").of == ("xi",)


@pytest.mark.parametrize(
    ("entry", "said"),
    [("of = 3", "the axes of the table are 3"), ("interpolation = 3", "no interpolation 3")],
)
def test_what_a_file_says_of_a_table_is_checked(entry, said, tmp_path):
    (tmp_path / "k.csv").write_text("x,k\n0,1\n0.5,2\n1,3\n")
    (tmp_path / "heat.toml").write_text(HEAT + f'[tables]\nk = {{ file = "k.csv", {entry} }}\n')
    with pytest.raises(sn.SafeNetError, match=said) as caught:
        sn.read(tmp_path / "heat.toml")
    assert caught.value.where.path == ("tables", "k")


def damaged(path, kind):
    """A file that no reader can read, each damaged in another way."""
    np.savez(path, x=np.arange(1000.0), u=np.arange(1000.0))
    whole = path.read_bytes()
    if kind == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "changed":
        path.write_bytes(whole[:200] + bytes(100) + whole[300:])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "one array":
        with path.open("wb") as stream:
            np.save(stream, np.arange(3.0))


@pytest.mark.parametrize("kind", ["cut", "changed", "empty", "one array"])
def test_a_damaged_archive_is_refused_by_its_name(kind, tmp_path):
    path = tmp_path / "probe.npz"
    damaged(path, kind)
    with pytest.raises(sn.SafeNetError, match=r"probe\.npz"):
        sn.Data(path)


@pytest.mark.parametrize(
    ("cell", "said"), [("1_000", "'1_000' in the column u is not"), ("1" * 140_000, "cannot read")]
)
def test_a_cell_that_is_no_number_is_refused(cell, said, tmp_path):
    path = tmp_path / "probe.csv"
    path.write_text(f"x,u\n0,{cell}\n")
    with pytest.raises(sn.SafeNetError) as caught:
        sn.Data(path)
    assert said in str(caught.value)
