"""`safenet ui` in a browser: type an equation, solve it, move the slider, download; bad input; two tabs; a phone."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import safenet as sn
from browsing import CHROMIUM, browser  # noqa: F401
from safenet.errors import SafeNetError
from safenet.ui.process import Process
from safenet.ui.statement import Statement, read, script

SOURCE = Path(sn.__file__).parents[1]
HEAT = Statement(
    "heat", "u_t = u_xx/10", "u(0, t) = 0\nu(1, t) = 0\nu(x, 0) = sin(pi*x)", "x = [0, 1]\nt = [0, 1]"
)


# ---- the boxes


def test_boxes_are_the_problem_of_the_same_file():
    stated = sn.Problem(
        "u_t = u_xx/10",
        domain={"x": (0, 1), "t": (0, 1)},
        conditions=["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"],
    )
    assert read(HEAT) == stated


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    "name", ["wave", "backstep", "four-holes", "nh-heat", EXAMPLES / "shocks/burgers.toml"]
)
def test_a_problem_comes_back_from_its_boxes(name):
    problem = sn.library.named(str(name))
    boxed = read(Statement.of(problem.toml()))
    assert boxed == problem
    assert (boxed.name, boxed.title) == (problem.name, problem.title)


@pytest.mark.parametrize(
    ("box", "text", "said", "at"),
    [
        ("equations", "u_t = u_xx/1O", "a sign is missing before 'O'", "             ^"),
        (
            "conditions",
            "u(0, t) = 0\nu(1, q) = 0",
            "condition 2, column 6: the name 'q' is not known",
            "     ^",
        ),
        ("domain", "x = [0, 1\nt = [0, 1]", "not valid TOML", ""),
        ("domain", "x = [1, 0]\nt = [0, 1]", "empty or reversed", ""),
        ("equations", "", "there is no equation yet", ""),
        ("equations", "__import__('os')", "the character", "^"),
    ],
)
def test_what_is_wrong_in_a_box_is_said_with_its_place(box, text, said, at):
    from dataclasses import replace

    with pytest.raises(SafeNetError) as caught:
        read(replace(HEAT, **{box: text}))
    assert said in caught.value.message
    assert at in caught.value.message
    assert "line" not in caught.value.message.split("TOML")[0]  # of a file that nobody sees


def test_the_script_does_what_the_page_did(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = script(read(HEAT), "modes", "runs/heat")
    known = {"__name__": "a module"}
    exec(compile(program, "heat.py", "exec"), known)
    assert known["problem"] == read(HEAT)
    assert "sn.solve(problem, 'modes', out='runs/heat')" in program


def test_a_problem_from_the_gallery_replaces_what_was_typed(tmp_path):
    pytest.importorskip("panel")
    from safenet.ui.page import Page

    page = Page(tmp_path)
    page.boxes["equations"].value_input = "u_t = u_xx/5"
    page._picked("burgers")
    assert page.problem.equations == sn.library.problem("burgers").equations
    page._picked("")
    assert page.problem == read(HEAT)


def test_a_worker_that_dies_as_a_job_is_given_to_it_is_replaced(tmp_path, monkeypatch):
    started = []

    class Dead:
        """Ended between the question and the job."""

        stdin = stdout = property(lambda self: self)

        def poll(self):
            return None

        def write(self, text):
            raise BrokenPipeError

    def start(process):
        process.child = Dead()
        started.append(process.child)

    monkeypatch.setattr(Process, "start", start)
    process = Process()
    process.solve("", "", tmp_path, "auto", None)
    assert not process.busy
    assert len(started) == 2
    assert "ended unexpectedly" in process.events.get_nowait()["failed"]


def test_every_problem_of_the_library_has_a_picture():
    from safenet import listed

    folder = SOURCE / "safenet" / "ui" / "thumbnails"
    assert {path.stem for path in folder.glob("*.png")} == set(listed.PROBLEMS)


def test_a_result_of_an_earlier_statement_is_greyed_out_until_the_statement_is_back(tmp_path):
    pytest.importorskip("panel")
    from safenet.ui.page import Page

    page = Page(tmp_path)
    page._check()
    page.asked = page._statement()
    sn.solve(page.problem, out=tmp_path / "heat")
    page._heard({"done": True, "folder": str(tmp_path / "heat")})
    conditions = page.boxes["conditions"]
    for text, old in (("u(0, t) = 0\nu(x, 0) = sin(pi*x)", True), (conditions.value, False)):
        conditions.param.update(value=text, value_input=text)
        page._check()
        assert (page.earlier.visible, "opacity" in page.result.styles) == (old, old)
    assert len(page.result) == 3
    page.close()


def test_a_port_in_use_is_named_with_another():
    pytest.importorskip("panel")
    from safenet.ui.serve import ADDRESS, serve

    with socket.socket() as taken:
        taken.bind((ADDRESS, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SafeNetError, match=f"port {port} is in use") as refused:
            serve(port, show=False)
    assert refused.value.remedy == f"--port {port + 1}"


# ---- in a browser


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a page, served as `safenet ui` does, and the folder it works in."""
    pytest.importorskip("panel")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    place = tmp_path_factory.mktemp("page")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-c",
        "from safenet.cli import main; main()",
        "ui",
        "--port",
        str(port),
        "--no-browser",
    ]
    server = subprocess.Popen(command, cwd=place, env={**os.environ, "PYTHONPATH": str(SOURCE)})
    address = f"http://127.0.0.1:{port}/"
    began = time.monotonic()
    while True:
        try:
            urllib.request.urlopen(address + "favicon.ico")
            break
        except OSError:
            assert server.poll() is None, "the server ended"
            assert time.monotonic() - began < 120, "the server does not answer"
            time.sleep(0.1)
    yield address, place
    server.terminate()
    server.wait(10)


def opened(browser, address, width=1280):
    """A tab with the page, and what it complained about."""
    tab = browser.new_page(viewport={"width": width, "height": 900}, accept_downloads=True)
    tab.set_default_timeout(60_000)
    complaints = []
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(address)
    tab.get_by_text("This is how I read it").wait_for()
    return tab, complaints


def downloaded(tab, name):
    with tab.expect_download() as waiting:
        tab.get_by_text(name, exact=True).click()
    return Path(waiting.value.path())


def test_from_an_equation_of_ones_own_to_its_solution(browser, served):
    """Under a minute from opening the page, on a machine that does other things beside it."""
    address, place = served
    began = time.monotonic()
    tab, complaints = opened(browser, address)
    equations = tab.get_by_label("Equations")
    equations.fill("u_t = u_xx/1O")
    tab.get_by_text("a sign is missing before 'O'").wait_for()
    assert tab.get_by_role("button", name="Solve").is_disabled()
    equations.fill("u_t = u_xx/5")
    tab.get_by_text("a sign is missing").wait_for(state="hidden")
    tab.get_by_role("button", name="Solve").click()
    other, _ = opened(browser, address, width=390)  # a second tab, on a phone, while the first solves
    tab.get_by_text("saved in").wait_for()
    assert time.monotonic() - began < 60
    assert tab.get_by_text("solved", exact=True).first.is_visible()

    # The slider goes to t = 0.3, and the value is that of exp(−π²t/5)·sin(πx).
    handle = tab.locator(".noUi-handle").first
    handle.focus()
    for _ in range(30):
        handle.press("ArrowRight")
    tab.get_by_text("t = 0.3)").wait_for()
    assert "0.55312" in tab.get_by_text("t = 0.3)").inner_text()

    rows = downloaded(tab, "heat.csv").read_text().splitlines()
    assert rows[0] == "x,t,u"
    assert len(rows) == 1 + 101 * 101
    assert downloaded(tab, "heat.png").read_bytes().startswith(b"\x89PNG")
    assert sn.loads(downloaded(tab, "heat.toml").read_text()).equations[0].text == "u_t = u_xx/5"
    assert (place / "runs" / "heat" / "result.json").is_file()
    assert complaints == []

    # The other tab has its own boxes, and nothing sticks out of a phone's screen.
    assert other.get_by_label("Equations").input_value() == "u_t = u_xx/10"
    assert other.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_a_solve_is_stopped_and_what_it_has_is_kept(browser, served):
    address, place = served
    tab, _ = opened(browser, address)
    tab.get_by_role("button", name="allen-cahn").click()
    tab.get_by_text("Newton on cells").first.wait_for()
    tab.get_by_role("button", name="Solve").click()
    tab.get_by_text("marching on cells: t").wait_for()
    tab.get_by_role("button", name="Stop").click()
    tab.get_by_text("interrupted", exact=True).first.wait_for()
    assert sn.load(place / "runs" / "allen-cahn").result.outcome == sn.Outcome.INTERRUPTED
