"""The command line: what it prints, when it prints it, and how it refuses."""

import csv
import os
import re
import signal
import subprocess
import sys
from functools import partial

import pytest
from typer.testing import CliRunner

import equipoise
from equipoise._cli import app
from equipoise._compare import COLUMNS, compare_methods
from equipoise.problems import REFERENCES
from equipoise.run import solve
from equipoise.solvers import SOLVERS

ENDLESS = ("--tol", "0", "--max-steps", "1000000000", "--max-seconds", "60")


def invoke(*arguments):
    return CliRunner().invoke(app, arguments)


def command(*arguments):
    return [sys.executable, "-m", "equipoise", *arguments]


def plain(text):
    """Without colours, which some hosts force upon every program."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture
def started():
    """Start a command in a process of its own, which is ended in any case."""
    running = []

    def start(*arguments, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
        env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TERM": "xterm"}
        running.append(subprocess.Popen(command(*arguments), env=env, **options))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_the_version():
    assert invoke("--version").output == f"equipoise {equipoise.__version__}\n"
    answer = subprocess.run(command("--version"), check=True, capture_output=True, text=True)
    assert answer.stdout == f"equipoise {equipoise.__version__}\n"


def test_a_comparison_as_csv():
    answer = invoke(
        "compare",
        "--method",
        "augmented_newton",
        "--method",
        "imela",
        "--problem",
        "convex",
        "--csv",
    )
    assert answer.exit_code == 0
    header, *rows = csv.reader(answer.output.splitlines())
    assert tuple(header) == COLUMNS
    first, second = (dict(zip(COLUMNS, row, strict=True)) for row in rows)
    assert (first["method"], first["status"]) == ("augmented_newton", "converged")
    assert float(first["objective"]) == pytest.approx(1.0, abs=1e-4)
    assert second["method"] == "imela"


def test_a_comparison_as_a_table_has_its_cells_below_their_titles():
    answer = invoke("compare", "--method", "switching", "--method", "imela", "--problem", "simple")
    header, *rows = answer.output.splitlines()
    assert re.split("  +", header) == list(COLUMNS)
    assert [re.split("  +", row)[:3] for row in rows] == [
        ["simple", "switching", "converged"],
        ["simple", "imela", "not for it"],
    ]
    ends = [match.end() for match in re.finditer(r"\S+( \S+)*", header)][len(COLUMNS) - 9 :]
    for row in rows:
        assert [match.end() for match in re.finditer(r"\S+", row)][-9:] == ends


def test_a_comparison_covers_every_method_and_says_what_does_not_apply():
    rows = list(compare_methods(problems=["simple"], max_steps=50))
    assert [row[1] for row in rows] == list(SOLVERS)
    assert all(len(row) == len(COLUMNS) for row in rows)
    assert {row[1]: row[2] for row in rows}["imela"] == "not for it"
    assert set(REFERENCES) >= {"simple", "active", "bilinear", "convex", "auc"}


@pytest.mark.parametrize("layout", [["--csv"], []], ids=["csv", "table"])
def test_rows_come_as_they_are_done_and_stay_when_interrupted(started, layout):
    methods = ("--method", "imela", "--method", "switching", "--method", "iqrc")
    process = started("compare", "--problem", "simple", *methods, *ENDLESS, *layout)
    assert "problem" in process.stdout.readline()
    assert "not for it" in process.stdout.readline()  # the second method runs for a minute
    process.send_signal(signal.SIGINT)
    rest, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(r"(simple[, ]+switching[, ]+interrupted.*\n)?", rest)
    assert said == "Interrupted: 1 of 3 runs were finished.\n"


def test_an_interrupted_run_is_shown_and_is_the_last(monkeypatch):
    def interrupt(iteration):
        if iteration.step == 7:
            raise KeyboardInterrupt

    monkeypatch.setattr("equipoise._compare.solve", partial(solve, callback=interrupt))
    answer = invoke("compare", "--problem", "convex", "--method", "switching", "--method", "iqrc")
    assert answer.exit_code == 130
    (row,) = answer.stdout.splitlines()[1:]
    assert row.split()[:3] == ["convex", "switching", "interrupted"]
    assert answer.stderr == "Interrupted: 0 of 2 runs were finished.\n"


def test_an_interrupt_between_two_runs_ends_the_comparison_too(monkeypatch):
    def rows(*arguments, **options):
        yield tuple("a" for _ in COLUMNS)
        raise KeyboardInterrupt

    monkeypatch.setattr("equipoise._cli.compare_methods", rows)
    answer = invoke("compare", "--method", "switching", "--csv")
    assert answer.exit_code == 130
    assert answer.stdout.splitlines() == [",".join(COLUMNS), ",".join("a" for _ in COLUMNS)]
    assert f"1 of {len(REFERENCES)} runs" in answer.stderr


def test_forced_colours_bring_no_bar_into_a_file(monkeypatch, started):
    monkeypatch.setenv("FORCE_COLOR", "1")
    process = started("compare", "--method", "augmented_newton", "--problem", "convex", "--csv")
    out, said = process.communicate(timeout=60)
    assert "\x1b" not in out + said
    assert len(out.splitlines()) == 2


@pytest.mark.parametrize("where", ["stdout", "stderr"])
def test_a_bar_on_a_terminal_and_never_among_rows_that_go_elsewhere(started, where):
    ours, theirs = pytest.importorskip("pty").openpty()
    options = (
        "--method",
        "augmented_newton",
        "--problem",
        "convex",
        "--problem",
        "simple",
        "--csv",
    )
    process = started("compare", *options, **{where: theirs})
    os.close(theirs)
    shown = b"".join(iter(lambda: _read(ours), b"")).decode()
    os.close(ours)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "augmented_newton on convex" in shown
    assert "1/2" in shown
    if where == "stdout":
        assert shown.count("converged") == 2
        assert said == ""
    else:
        assert "converged" not in shown
        assert [row[0] for row in csv.reader(out.splitlines())] == ["problem", "convex", "simple"]


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--tol", "-1", "must be non-negative and finite, got -1.0"),
        ("--tol", "nan", "must be non-negative and finite, got nan"),
        ("--max-steps", "0", "must be an integer of at least 1, got 0"),
        ("--max-seconds", "-1", "must be positive and finite, got -1.0"),
        ("--max-seconds", "inf", "must be positive and finite, got inf"),
        ("--method", "newton", "'newton' is not a method; there are"),
        ("--problem", "hard", "'hard' is not a problem; there are simple"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(option, value, said):
    answer = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["compare", option, value])
    assert answer.exit_code == 2
    assert isinstance(answer.exception, SystemExit)
    assert answer.stdout == ""
    assert said in plain(answer.stderr)
    assert option in plain(answer.stderr) or option in ("--method", "--problem")


def test_the_methods_are_listed():
    output = plain(invoke("methods").output)
    assert all(name in output for name in SOLVERS)


def test_brackets_in_a_guarantee_are_shown(monkeypatch):
    monkeypatch.setattr("equipoise._cli.guarantee_rows", lambda: [("m", "a", "[f_i]_+", "b", "c")])
    assert "[f_i]_+" in plain(invoke("methods").output)
