"""Wrong values of every kind, one by one: the message names owner, parameter, rule and value."""

import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import equipoise as eq
from equipoise import Facts, check_problem, sets, solvers
from equipoise._cli import app
from equipoise.datasets import make_census
from tests.inputs.examples.shared import Y

RULES = {
    "demographic_parity": "bound",
    "equal_opportunity": "bound",
    "equalized_odds": "bound",
    "false_positive_parity": "bound",
    "false_negative_parity": "bound",
    "coverage": "at_least",
    "recall": "at_least",
    "precision": "at_least",
    "f_score": "at_least",
    "error_rate": "at_most",
    "false_positive_rate": "at_most",
    "false_negative_rate": "at_most",
    "bounded_group_loss": "at_most",
    "group_loss": "excess",
    "parity_pair": "r",
    "loss_budget": "kappa",
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("wrong", ["0.1", b"1", np.str_("0.1"), True, np.True_, [0.1], 1j])
def test_a_bound_is_a_number(name, wrong):
    rule = rf"^{name}: `{RULES[name]}` must be a number, got "
    with pytest.raises(ValueError, match=rule):
        getattr(eq, name)(wrong)


def test_bounds_of_the_other_rules_are_numbers_too():
    with pytest.raises(ValueError, match=r"^churn: `at_most` must be a number, got '0.1'"):
        eq.churn("0.1", Y)
    with pytest.raises(ValueError, match=r"^minority_coverage: `c` must be a number, got '0.1'"):
        eq.minority_coverage("0.1", "F")
    for wrong in ("0.1", b"1", True, np.True_, np.str_("1")):
        with pytest.raises(TypeError, match=r"compare with a number or another rate, got"):
            _ = eq.rate("positive") <= wrong


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Facts(weak_convexity=-1), "Facts: `weak_convexity` must lie between 0 and inf"),
        (lambda: Facts(smooth="a"), "Facts: `smooth` must be True or False, got 'a'"),
        (lambda: Facts(convex=1), "Facts: `convex` must be True or False, got 1"),
        (
            lambda: solvers.ConEx(multipliers=(-1,)),
            r"ConEx: `multipliers` must be non-negative, got \(-1,\)",
        ),
        (
            lambda: sets.L2Ball(1.0).project(np.array([np.nan, 1.0])),
            "L2Ball: `x` must be finite, but entry 0 is nan",
        ),
        (lambda: check_problem(3, [1.0]), "check_problem: `problem` must be a Problem, got 3"),
        (
            lambda: make_census(10, seed=-1),
            "make_census: `seed` must be an integer of at least 0, got -1",
        ),
        (
            lambda: sets.L2Ball(10**5000),
            "L2Ball: `radius` must be a number in the range of floating point, got a int",
        ),
        (
            lambda: eq.recall(group=["F", "M"], at_least=0.5),
            "recall: `group` must be one value.*, got",
        ),
    ],
)
def test_what_was_silent_or_foreign_is_named(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


OPTIONS = {
    "tol": ("-1", "nan", "inf", "a", ""),
    "max-steps": ("0", "-1", "1.5", "nan", "a", "1" + "0" * 400),
    "max-seconds": ("0", "-1", "nan", "inf", "a"),
    "method": ("a", ""),
    "problem": ("a", ""),
}


@pytest.mark.parametrize(
    ("option", "value"), [(key, value) for key, values in OPTIONS.items() for value in values]
)
def test_the_command_line_names_the_option_and_exits_with_2(option, value):
    answer = CliRunner().invoke(app, ["compare", f"--{option}={value}"])
    assert answer.exit_code == 2
    assert isinstance(answer.exception, SystemExit)  # no traceback
    assert f"'--{option}'" in answer.output


def test_the_command_line_as_a_program():
    command = [sys.executable, "-m", "equipoise", "compare", "--tol", "-1"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
