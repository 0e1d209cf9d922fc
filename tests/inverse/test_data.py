"""Data and unknown numbers: what a statement may say, what is refused and where, what survives a file."""

import numpy as np
import pytest
import sympy as sp

import safenet as sn
from safenet.problem.facts.posedness import doubts
from safenet.problem.toml import write

HEAT = """
unknowns = ["u"]
equations = ["u_t = nu*u_xx"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
[domain]
x = [0, 1]
t = [0, 1]
[unknown]
nu = { start = 0.1, above = 0 }
[[data]]
file = "probe.csv"
"""
PROBE = "x,t,u\n0.5,0.1,0.9\n0.25,0.2,0.6\n"


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "probe.csv").write_text(PROBE)
    return tmp_path


def stated(desk, text=HEAT, probe=PROBE):
    (desk / "probe.csv").write_text(probe)
    (desk / "heat.toml").write_text(text)
    return sn.read(desk / "heat.toml")


def test_an_unknown_number_is_a_parameter_whose_value_is_its_start(desk):
    problem = stated(desk)
    (symbol,) = problem.parameters
    assert symbol.name == "nu"
    assert float(problem.parameters[symbol]) == 0.1
    forward = problem.forward({"nu": 0.3})
    assert not forward.unknown
    assert not forward.data
    assert float(forward.parameters[symbol]) == 0.3
    assert problem.with_parameters(nu=0.2).unknown == {}


def test_a_problem_with_data_is_read_back_from_another_place(desk, tmp_path_factory):
    problem = stated(desk, HEAT + 'sigma = 0.01\nvalue = "u"\n')
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "again.toml"
    write(problem, elsewhere)
    again = sn.read(elsewhere)
    assert again == problem
    np.testing.assert_array_equal(again.measured[0].sigma, [0.01, 0.01])
    assert again.found({"nu": 0.7}) == again  # what was found is no part of the statement
    assert again != stated(desk, HEAT.replace("0.1,", "0.2,") + 'sigma = 0.01\nvalue = "u"\n')
    assert again != stated(desk, HEAT + 'sigma = 0.01\nvalue = "u"\n', PROBE.replace("0.9", "0.8"))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "npz", "parquet", "header"])
def test_files_arrays_and_frames_are_the_same_data(tmp_path, suffix):
    x, t, u = np.random.default_rng(0).random((3, 7))
    path = tmp_path / f"probe.{suffix}"
    if suffix == "npz":
        np.savez(path, x=x, t=t, u=u)
    elif suffix == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"x": x, "t": t, "u": u}), path)
    elif suffix == "header":
        np.savetxt(path, np.column_stack([x, t, u]), fmt="%.17g", header="x t u")
    else:
        mark = {"csv": ",", "tsv": "\t"}[suffix]
        np.savetxt(
            path,
            np.column_stack([x, t, u]),
            fmt="%.17g",
            delimiter=mark,
            header=mark.join("xtu"),
            comments="",
        )
    read = sn.Data(path)
    for name, column in {"x": x, "t": t, "u": u}.items():
        np.testing.assert_array_equal(read.columns[name], column)
    assert read.key == sn.Data({"x": x, "t": t, "u": u}).key == sn.Data(x=x, t=t, u=u).key


def test_a_grid_of_xarray_is_a_row_for_each_of_its_points():
    xarray = pytest.importorskip("xarray")
    grid = xarray.DataArray(
        np.arange(6.0).reshape(2, 3), coords={"x": [0.0, 1.0], "t": [0.0, 0.5, 1.0]}, name="u"
    )
    columns = sn.Data(grid.to_dataset()).columns
    rows = {(x, t): u for x, t, u in zip(columns["x"], columns["t"], columns["u"], strict=True)}
    assert rows[1.0, 0.5] == 4.0
    assert len(rows) == 6


def test_an_expression_of_unknowns_and_derivatives_is_measured():
    problem = sn.loads(HEAT.split("[[data]]")[0])
    data = sn.Data(x=[0.5], t=0.1, flux=[1.0], value="-nu*u_x")
    (measured,) = problem.with_data(data).measured
    assert measured.name == "-nu*u_x"
    assert {jet.orders for jet in measured.jets.values()} == {(1, 0)}


@pytest.mark.parametrize(
    ("text", "probe", "said", "line"),
    [
        (HEAT.replace("probe.csv", "prob.csv"), PROBE, "did you mean 'probe.csv'", 10),
        (HEAT, PROBE.replace("x,t,u", "x,s,u"), "there is no column t", 10),
        (HEAT, PROBE.replace("x,t,u", "x,t,w"), "the column 'w' is neither an axis nor an unknown", 10),
        (HEAT, PROBE.replace("x,t,u", "x,t,u + w"), "'w' is not known", 10),
        (HEAT, PROBE.replace("x,t,u", "x [m],t,u"), "rename the column 'x [m]' to x", 10),
        (HEAT, PROBE.replace("x,t,u", "x,t,U (K)"), "rename the column 'U (K)' to u", 10),
        (HEAT + 'ignore = ["er"]', PROBE, "no column 'er' to ignore", 10),
        (HEAT + 'ignore = "err"', PROBE, "ignore is not a list", 12),
        (HEAT + "at = 5", PROBE, "at is not a table", 12),
        (HEAT + 'value = "u + w"', PROBE, "'w' is not known", 10),
        (HEAT + 'sigma = "s"', PROBE, "no column s for sigma", 10),
        (HEAT + "sigma = -1", PROBE, "a standard deviation is positive", 10),
        (HEAT + "sigm = 1", PROBE, "did you mean 'sigma'", 12),
        (HEAT, PROBE + "1.5,0.1,0\n", "row 3 has x = 1.5", 10),
        (HEAT, PROBE + "0.5,0.1,nan\n", "no finite number for u; the first is row 3", 10),
        (HEAT, PROBE + "0.5,0.1\n", "line 4: 2 cells for 3 columns", 10),
        (HEAT, PROBE + '0.5,0.1,"0,3"\n', "'0,3' in the column u is not a number", 10),
        (HEAT, "1,2,3\n", "numbers where names are expected", 10),
        (HEAT, "x,t,u\n", "no rows", 10),
        (HEAT, "x,t\n0.5,0.5\n", "nothing is measured", 10),
        (HEAT.replace("start = 0.1", "start = -1"), PROBE, "starts at -1, and must be above 0", 9),
        (HEAT.replace("start", "begin"), PROBE, "no property 'begin'", 9),
        (
            HEAT.replace("above = 0", "above = 0, below = -1"),
            PROBE,
            "exclude every value: above 0 and below -1",
            9,
        ),
        (HEAT.replace("nu*u_xx", "u_xx"), PROBE, "nu appears in no equation", 9),
        (
            HEAT.replace("x = [0, 1]", 'x = [0, "nu"]').replace("u(1,", "u(nu,"),
            PROBE,
            "an end of the domain depends on",
            9,
        ),
        (HEAT.replace("[unknown]", "[parameters]\nnu = 1\n[unknown]"), PROBE, "both a parameter and an", 11),
    ],
)
def test_what_is_wrong_is_said_with_its_place(desk, text, probe, said, line):
    with pytest.raises(sn.SafeNetError) as caught:
        stated(desk, text, probe)
    assert said in str(caught.value)
    assert caught.value.where.line == line


def test_columns_of_different_length_are_refused():
    with pytest.raises(sn.SafeNetError, match="differ in length"):
        sn.Data(x=[0.1, 0.2], t=[0.1, 0.2, 0.3], u=1.0)


def test_unknown_numbers_without_data_are_not_invented():
    with pytest.raises(sn.SafeNetError, match="no data"):
        sn.solve(sn.loads(HEAT.split("[[data]]")[0]))


@pytest.mark.parametrize("name", ["err", "Unnamed: 0", "index", "nu", "station/id"])
def test_a_column_that_is_neither_axis_nor_unknown_is_named_and_can_be_ignored(desk, name):
    probe = f"x,t,u,{name}\n0.5,0.1,0.9,A\n0.25,0.2,0.6,B\n"
    with pytest.raises(sn.SafeNetError, match="ignore = "):
        stated(desk, probe=probe)  # not a number
    probe = probe.replace("A", "1").replace("B", "2")
    with pytest.raises(
        sn.SafeNetError, match=f"the column '{name}' is neither an axis nor an unknown"
    ) as caught:
        stated(desk, probe=probe)
    for way in (f'sigma = "{name}"', 'value = "…"', f'ignore = ["{name}"]'):
        assert way in caught.value.remedy
    plain = stated(desk)
    for text in (probe, probe.replace(",1\n", ",A\n")):
        assert stated(desk, f'{HEAT}ignore = ["{name}"]\n', text) == plain
    columns = {"x": [0.5, 0.25], "t": [0.1, 0.2], "u": [0.9, 0.6], name: ["A", "B"]}
    assert sn.Data(columns, ignore=name).key == sn.Data(**columns, ignore=[name]).key == plain.data[0].key


def test_an_index_without_a_name_can_be_ignored(desk):
    indexed = ",x,t,u\n0,0.5,0.1,0.9\n1,0.25,0.2,0.6\n"
    with pytest.raises(sn.SafeNetError, match="a column has no name"):
        stated(desk, probe=indexed)
    assert stated(desk, f'{HEAT}ignore = [""]\n', indexed) == stated(desk)


def masked_u():
    return np.ma.masked_array([0.9, 9.96921e36], mask=[False, True])


@pytest.mark.parametrize("kind", ["columns", "mapping", "structured", "sigma", "pandas", "xarray", "netcdf"])
def test_a_masked_value_is_refused_as_nan_is(kind, tmp_path):
    problem = sn.loads(HEAT.split("[[data]]")[0])
    columns = {"x": np.array([0.5, 0.25]), "t": np.array([0.1, 0.2]), "u": masked_u()}
    if kind == "columns":
        data = sn.Data(**columns)
    elif kind == "mapping":
        data = sn.Data(columns)
    elif kind == "structured":
        table = np.ma.zeros(2, dtype=[(name, float) for name in columns])
        for name, column in columns.items():
            table[name] = column
        data = sn.Data(table)
    elif kind == "sigma":
        data = sn.Data(**columns | {"u": 1.0}, sigma=masked_u())
    elif kind == "pandas":
        pandas = pytest.importorskip("pandas")
        data = sn.Data(pandas.DataFrame(columns | {"u": pandas.array([1, None], dtype="Int64")}))
    else:
        xarray = pytest.importorskip("xarray")
        grid = xarray.Dataset({"u": ("x", masked_u())}, coords={"x": [0.5, 0.25], "t": 0.1})
        if kind == "netcdf":
            path = tmp_path / "u.nc"
            grid.to_netcdf(path, engine="scipy", encoding={"u": {"_FillValue": -999.0}})
            grid = xarray.open_dataset(path, engine="scipy")
        data = sn.Data(grid)
    with pytest.raises(sn.SafeNetError, match=r"no finite number for (u|sigma); the first is row 2"):
        problem.with_data(data)


def test_complex_values_are_refused():
    for source in (
        {"x": [0.5], "t": [0.1], "u": [1 + 2j]},
        {"x": [0.5], "t": [0.1], "u": np.array([1 + 0j])},
    ):
        with pytest.raises(sn.SafeNetError, match="the column u of the data has complex numbers"):
            sn.Data(source)


@pytest.mark.parametrize("mark", [";", "\t", " "])
def test_decimal_commas_are_read_where_they_can_be_nothing_else(tmp_path, mark):
    path = tmp_path / "probe.csv"
    text = "x;t;u\n0,5;1;-2,5e-3\n0,25;0,125;3\n".replace(";", mark)
    path.write_text(text)
    columns = sn.Data(path).columns
    np.testing.assert_array_equal(columns["x"], [0.5, 0.25])
    np.testing.assert_array_equal(columns["t"], [1, 0.125])
    np.testing.assert_array_equal(columns["u"], [-2.5e-3, 3])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x;t;u\n1,250;0.5;3\n", "write 0.5, not 0,5"),  # points beside commas
        ("x;t;u\n1,250;1,000;3\n", "write 0.5, not 0,5"),  # or thousands
        ("x,t,u\n0,5,0,1,0,9\n", "6 cells for 3 columns .*\n.*decimal commas .* write 0.5, not 0,5"),
    ],
)
def test_other_commas_are_refused_with_what_to_write(tmp_path, text, said):
    path = tmp_path / "probe.csv"
    path.write_text(text)
    with pytest.raises(sn.SafeNetError, match=said):
        sn.Data(path)


def test_a_header_of_blanks_above_rows_of_commas_is_read(tmp_path):
    path = tmp_path / "probe.csv"
    path.write_text("# x t u\n1, 2, 3\n4, 5, 6\n")
    np.testing.assert_array_equal(sn.Data(path).columns["u"], [3, 6])


def test_several_data_may_come_as_a_list(desk):
    problem = sn.loads(HEAT.split("[[data]]")[0])
    a, b = sn.Data(x=[0.5], t=0.1, u=[0.9]), sn.Data(x=[0.5], t=0.2, u=[0.8])
    assert problem.with_data([a, b]) == problem.with_data(a, b) == problem.with_data((a,), b)
    assert problem.with_data([]) is problem


def test_the_same_values_given_twice_are_told(desk):
    problem = stated(desk)
    again = problem.with_data(sn.Data(desk / "probe.csv", sigma=0.01))
    assert not any("twice" in text for text in doubts(problem))
    assert any("the same 2 values of u at the same x, t are given twice" in text for text in doubts(again))
    other = problem.with_data(sn.Data(desk / "probe.csv", value="u_x"))
    assert not any("twice" in text for text in doubts(other))


@pytest.mark.parametrize("name", ["pi", "e", "π"])
@pytest.mark.parametrize("group", ["unknown", "parameters", "tables", "unknowns"])
def test_the_name_of_a_constant_is_refused_in_a_file(tmp_path, name, group):
    (tmp_path / "k.csv").write_text("x,k\n0,1\n1,2\n")
    text = 'unknowns = ["u"]\nequations = ["u_t = u_xx"]\n[domain]\nx = [0, 1]\nt = [0, 1]\n'
    entry = {"unknown": "1", "parameters": "2", "tables": '"k.csv"'}
    if group == "unknowns":
        text = text.replace('"u"', f'"u", "{name}"')
    else:
        text += f'[{group}]\n"{name}" = {entry[group]}\n'
    (tmp_path / "heat.toml").write_text(text)
    with pytest.raises(sn.SafeNetError, match=f"'{name}' has the name of a constant") as caught:
        sn.read(tmp_path / "heat.toml")
    assert caught.value.where.line == (1 if group == "unknowns" else 7)


@pytest.mark.parametrize("name", ["pi", "e"])
@pytest.mark.parametrize("written", ["text", "symbols"])
def test_the_name_of_a_constant_is_refused_in_python(name, written):
    x, number, u = sp.Symbol("x"), sp.Symbol(name), sp.Function("u")
    field, table = sp.Function(name)(x), {name: sn.Table([1, 2], x=[0, 1])}
    asked = {
        "unknown": ("u_x = {}", u(x).diff(x) - number, {"unknown": {name: 1}}),
        "parameters": ("u_x = {}", u(x).diff(x) - number, {"parameters": {name: 1}}),
        "range": ("u_x = {}", u(x).diff(x) - number, {"parameters": {name: (1, 2)}}),
        "tables": ("u_x = {}", u(x).diff(x) - field, {"tables": table}),
        "unknowns": ("{}_x = 1", field.diff(x) - 1, {"unknowns": [name]}),
    }
    for group, (text, symbols, given) in asked.items():
        if (group, name) == ("range", "e"):
            continue  # an axis may be called e
        equation = text.format(name) if written == "text" else symbols
        with pytest.raises(sn.SafeNetError, match=f"'{name}' has the name of a constant"):
            sn.Problem(equation, domain={"x": (0, 1)}, **given)
