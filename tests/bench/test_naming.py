"""A problem is its content: what is another problem is called otherwise, in whichever suite."""

from test_suites import DECAY, parsed


def names(tmp_path, problems):
    text = f"problems = [{problems}]\nmethods = ['pinn']\nrecipes = ['paper-4']"
    cases = parsed(text, tmp_path).cases()
    assert len({case.group for case in cases}) == len(cases)
    return [case.cell.removesuffix(" · pinn · paper-4") for case in cases]


def test_parameters_that_are_not_the_problems_own_are_in_its_name(tmp_path):
    (tmp_path / "decay.toml").write_text(DECAY)
    assert names(tmp_path, '"decay.toml"') == ["decay"]
    assert names(tmp_path, '{ name = "decay.toml", k = 5 }') == ["decay k=5"]
    both = '{ name = "decay.toml", k = 3 }, { name = "decay.toml", k = 5 }'
    assert names(tmp_path, both) == ["decay k=3", "decay k=5"]
    assert names(tmp_path, '"convection", { name = "convection", beta = 5 }') == [
        "convection",
        "convection beta=5",
    ]


def test_other_problems_of_one_name_are_told_apart(tmp_path):
    (tmp_path / "decay.toml").write_text(DECAY)
    (tmp_path / "other.toml").write_text(DECAY.replace("u(0) = 1", "u(0) = 2"))
    (tmp_path / "wave.toml").write_text(DECAY.replace('"decay"', '"wave"'))
    found = names(tmp_path, '"decay.toml", "other.toml", "wave.toml", "wave"')
    assert len(set(found)) == 4
    assert [name.split(" #")[0] for name in found] == ["decay", "decay", "wave", "wave"]
    assert found[3] == "wave"  # the library's alone
