"""sol.plot(): what a picture shows of a solution."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from solved_problems import exact, pieces, sound, untrained, wave  # noqa: F401

import safenet as sn
from running import DECAY, SOUND

PLATE = """
name = "plate"
unknowns = ["u"]
equations = ["u_xx + u_yy = -5*pi**2*sin(pi*x)*sin(2*pi*y)"]
conditions = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 2) = 0"]
exact = { u = "sin(pi*x)*sin(2*pi*y)" }
domain = { x = [0, 1], y = [0, 2] }
"""


class Ctrl_C(sn.Monitor):  # noqa: N801
    """An interruption after `levels` slabs."""

    def __init__(self, levels):
        self.levels = levels

    def level(self, unknowns, residual):
        self.levels -= 1
        if self.levels < 0:
            raise KeyboardInterrupt


def panels(figure):
    """The axes that are not colour bars."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def drawn(solution, tmp_path):
    """The figure, having been drawn: layout and ticks warn only then."""
    figure = solution.plot()
    assert isinstance(figure, Figure)
    figure.savefig(tmp_path / "figure.png", dpi=40)
    return figure


def titles(figure):
    return [axes.get_title() for axes in panels(figure)]


def test_one_axis_is_a_line_over_its_reference_and_an_error(tmp_path):
    figure = drawn(sn.solve(sn.loads(DECAY)), tmp_path)
    assert titles(figure) == ["$u$", "error $|u - u^*|$"]
    line, reference = panels(figure)[0].lines
    np.testing.assert_allclose(line.get_ydata(), np.exp(-3 * line.get_xdata()), atol=1e-10)
    np.testing.assert_allclose(reference.get_ydata(), np.exp(-3 * line.get_xdata()), atol=1e-14)
    assert panels(figure)[1].get_yscale() == "log"
    assert [axes.get_xlabel() for axes in panels(figure)] == ["$t$", "$t$"]


def test_time_runs_to_the_right_and_space_upwards(wave, tmp_path):
    figure = drawn(wave, tmp_path)
    assert titles(figure) == ["$u$", "reference $u^*$", "error $|u - u^*|$ (rounding)"]
    field, reference, error = (axes.images[0] for axes in panels(figure))
    assert (panels(figure)[0].get_xlabel(), panels(figure)[0].get_ylabel()) == ("$t$", "$x$")
    picture = field.get_array()
    x, t = np.linspace(0, 1, picture.shape[0])[:, None], np.linspace(0, 1, picture.shape[1])
    np.testing.assert_allclose(picture, exact(x, t), atol=1e-10)
    # The field and its reference share their colours, with zero in the middle.
    assert field.get_clim() == reference.get_clim()
    assert sum(field.get_clim()) == 0
    assert error.get_clim()[1] < 1e-10
    assert "relative L² error" in figure.get_suptitle()


def test_a_plane_in_space_keeps_its_first_axis_to_the_right(tmp_path):
    axes = panels(drawn(sn.solve(sn.loads(PLATE)), tmp_path))[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$x$", "$y$")
    assert axes.get_aspect() == 1
    picture = axes.images[0].get_array()
    x, y = np.linspace(0, 1, picture.shape[1]), np.linspace(0, 2, picture.shape[0])[:, None]
    np.testing.assert_allclose(picture, np.sin(np.pi * x) * np.sin(2 * np.pi * y), atol=1e-9)
    assert axes.get_ylim() == (0, 2)


def test_three_axes_are_drawn_at_several_times_up_to_the_last_that_is_known(tmp_path):
    whole, part = drawn(pieces(until=1.0), tmp_path), drawn(pieces(until=0.6), tmp_path)
    assert titles(whole)[:4] == [f"$u$ at $t$ = {t}" for t in ("0", "0.333", "0.667", "1")]
    assert titles(part)[:4] == [f"$u$ at $t$ = {t}" for t in ("0", "0.2", "0.4", "0.6")]
    assert all(title.startswith("error $|u - u^*|$") for title in titles(part)[4:])
    assert len(titles(part)) == 8
    part = drawn(pieces(until=0.5), tmp_path)
    picture = panels(part)[3].images[0].get_array()
    assert np.max(picture) == pytest.approx(np.exp(-(np.pi**2) / 10), rel=1e-9)


def test_two_unknowns_are_two_rows(sound, tmp_path):
    figure = drawn(sound, tmp_path)
    assert [title.removesuffix(" (rounding)") for title in titles(figure)] == [
        *("$p$", "reference $p^*$", "error $|p - p^*|$"),
        *("$v$", "reference $v^*$", "error $|v - v^*|$"),
    ]
    # 2 ≤ p ≤ 4 has no zero to show; v has.
    assert panels(figure)[0].images[0].get_cmap().name == "viridis"
    assert panels(figure)[3].images[0].get_cmap().name == "RdBu_r"


def test_without_a_reference_there_is_the_field_alone(tmp_path):
    figure = drawn(sn.solve(sn.loads(DECAY.replace("exact", "#"))), tmp_path)
    assert titles(figure) == ["$u$"]
    assert "estimated error" in figure.get_suptitle()


def test_a_derivative_is_drawn_alone_under_its_own_name(wave, tmp_path):
    figure = drawn(wave.diff("x").diff("t"), tmp_path)
    assert titles(figure) == ["$u_{xt}$"]
    assert "error" not in figure.get_suptitle()


def test_what_an_interrupted_march_has_not_reached_is_left_blank(tmp_path):
    text = """
name = "front"
unknowns = ["u"]
equations = ["u_t = u_xx/20 + u - u**3"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
"""
    solution = sn.solve(sn.loads(text), sn.March(), monitor=Ctrl_C(1))
    figure = drawn(solution, tmp_path)
    assert "interrupted" in figure.get_suptitle()
    picture = np.ma.filled(panels(figure)[0].images[0].get_array().astype(float), np.nan)
    columns = np.isnan(picture).all(axis=0)
    assert columns[-1]
    assert not columns[0]
    assert not np.isnan(picture[:, ~columns]).any()


def test_the_loss_history_has_a_curve_for_every_term(tmp_path):
    solution = untrained(SOUND)
    solution.history = np.column_stack([np.arange(1, 6), np.full((5, 7), 0.5)])
    losses = panels(drawn(solution, tmp_path))[-1]
    assert losses.get_yscale() == "log"
    labels = [line.get_label() for line in losses.lines]
    assert labels == ["loss", "equation 1", "equation 2", "v(0, t)", "v(1, t)", "p(x, 0)", "v(x, 0)"]
    assert len({(line.get_color(), line.get_linestyle()) for line in losses.lines}) == 7
