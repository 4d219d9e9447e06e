"""Functions of users that return nonsense: the message names the function, and what it returned."""

import numpy as np
import pytest

import equipoise as eq
from equipoise import Facts, FunctionProblem, Point, Problem, certify, check_problem, sets, solve
from tests.inputs.examples.shared import GROUPS, X, Y

START = np.array([0.5, 0.0])
GRADIENT = np.array([1.0, 0.0])


def right(x):
    """``|x|^2 / 2`` and its gradient."""
    return 0.5 * float(x @ x), x


NONSENSE = {
    "no gradient": 1.0,
    "nothing": None,
    "three things": (1.0, GRADIENT, GRADIENT),
    "text as value": ("0.5", GRADIENT),
    "complex value": (1j, GRADIENT),
    "truth value": (True, GRADIENT),
    "value of length 1": (np.ones(1), GRADIENT),
    "gradient too long": (1.0, np.ones(3)),
    "number as gradient": (1.0, 2.0),
    "complex gradient": (1.0, 1j * GRADIENT),
    "text as gradient": (1.0, ["a", "b"]),
    "numbers as text": (1.0, ["1.0", "0.0"]),
    "ragged gradient": (1.0, [[1.0], [1.0, 2.0]]),
    "no gradient at all": (1.0, None),
    "objects": (1.0, np.array([object(), object()])),
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_a_function_that_returns_nonsense_is_named(answer):
    for functions, name in (
        ((lambda x: answer, [right]), "the objective"),
        ((right, [right, lambda x: answer]), "constraint 2 ('second')"),
    ):
        listed = ("first", "second")[: len(functions[1])]
        problem = FunctionProblem(*functions, domain=sets.Box(-2, 2, dim=2), names=listed)
        for use in (
            lambda: problem.at(START),  # noqa: B023
            lambda: solve(problem, "switching", START, max_steps=3),  # noqa: B023
            lambda: certify(problem, START),  # noqa: B023
            lambda: check_problem(problem, START),  # noqa: B023
        ):
            with pytest.raises((ValueError, TypeError)) as error:
                use()
            assert str(error.value).startswith(f"FunctionProblem: {name} ")


@pytest.mark.parametrize(
    "answer",
    [
        (1, [1, 0]),
        (np.float32(1.0), np.array([1.0, 0.0], dtype=np.float32)),
        (np.array(1.0), np.array([1, 0])),
    ],
    ids=["list of integers", "single precision", "array without axes"],
)
def test_numbers_of_any_type_will_do(answer):
    problem = FunctionProblem(lambda x: answer, domain=sets.Box(-2, 2, dim=2))
    assert problem.at(START).objective == 1.0
    assert problem.at(START).gradient(0).tolist() == [1.0, 0.0]
    assert solve(problem, "switching", START, max_steps=3).x[0] < START[0]


def test_tensors_of_a_function_of_arrays_are_read():
    torch = pytest.importorskip("torch")
    gradient = torch.tensor([1.0, 0.0], requires_grad=True)
    problem = FunctionProblem(
        lambda x: (gradient.detach().sum(), gradient), domain=sets.Box(-2, 2, dim=2)
    )
    assert problem.at(START).gradient(0).tolist() == [1.0, 0.0]


class Mine(Problem):
    """``x_1`` under no constraint, with whatever is wrong."""

    dim, n_constraints, names, domain = 2, 0, (), sets.Box(-2, 2, dim=2)

    def __init__(self, **wrong):
        right = {"values": np.array([1.0]), "gradient": GRADIENT, "rows": None, "product": None}
        self.wrong = right | wrong
        vars(self).update({key: self.wrong[key] for key in vars(type(self)) if key in wrong})

    def at(self, x):
        if "point" in self.wrong:
            return self.wrong["point"]
        rows, product = self.wrong["rows"], self.wrong["product"]
        return Point(
            x,
            self.wrong["values"],
            lambda weights: self.wrong["gradient"],
            None if product is None else lambda weights, v: product,
            jacobian=None if rows is None else lambda indices: rows,
        )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"point": None}, "Mine.at: `answer` must be a Point, got None"),
        ({"values": 1.0}, r"Mine.at: `values` must have shape \(1,\)"),
        ({"values": np.ones(2)}, r"Mine.at: `values` must have shape \(1,\)"),
        ({"values": np.array([1j])}, "Mine.at: `values` must be an array of numbers"),
        ({"values": ["a"]}, "Mine.at: `values` must be an array of numbers"),
        ({"gradient": np.ones(3)}, r"Mine: `gradient of the objective` must have shape \(2,\)"),
        ({"gradient": 1j * GRADIENT}, "`gradient of the objective` must be an array of numbers"),
        ({"gradient": None}, "`gradient of the objective` must be an array of numbers"),
        ({"gradient": "ab"}, "`gradient of the objective` must be an array of numbers"),
        ({"dim": 2.5}, "Mine: `dim` must be an integer"),
        ({"n_constraints": -1}, "Mine: `n_constraints` must be an integer"),
        ({"names": ("one",)}, "Mine: `names` must have 0 entries"),
        ({"domain": None}, "Mine: `domain` must be a Set"),
    ],
)
def test_a_problem_that_answers_nonsense_is_named(wrong, message):
    problem = Mine(**wrong)
    with pytest.raises((ValueError, TypeError), match=message):
        solve(problem, "switching", START, max_steps=3)
    with pytest.raises((ValueError, TypeError), match=message):
        certify(problem, START, ())
    with pytest.raises((ValueError, TypeError), match=message):
        check_problem(problem, START).raise_if_wrong()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": np.ones((1, 3))}, r"Mine: `jacobian` must have shape \(1, 2\)"),
        ({"rows": GRADIENT}, r"Mine: `jacobian` must have shape \(1, 2\)"),
        ({"rows": "ab"}, "Mine: `jacobian` must be an array of numbers"),
        (
            {"product": np.ones(3), "gradient": 0 * GRADIENT},
            r"Mine: `Hessian product of the objective` must have shape \(2,\)",
        ),
    ],
)
def test_further_answers_of_a_problem_are_named(wrong, message):
    problem = Mine(**wrong)
    problem.facts = Facts(smooth=True)
    with pytest.raises((ValueError, TypeError), match=message):
        solve(problem, "sqp", START, max_steps=3)
    if "product" in wrong:  # the multipliers of no constraint need no rows
        with pytest.raises((ValueError, TypeError), match=message):
            certify(problem, START)


def test_lists_and_integers_of_a_problem_will_do():
    problem = Mine(values=[1], gradient=[1, 0])
    assert solve(problem, "switching", START, max_steps=3).x[0] < START[0]


SCORES = {
    "no slope": lambda s: 1.0,
    "nothing": lambda s: None,
    "text as value": lambda s: ("0.5", 0 * s),
    "complex value": lambda s: (1j, 0 * s),
    "several values": lambda s: (s, 0 * s),
    "slope too short": lambda s: (1.0, s[:3]),
    "complex slope": lambda s: (1.0, 1j * s),
    "text as slope": lambda s: (1.0, ["a"] * len(s)),
    "NaN": lambda s: (np.nan, 0 * s),
    "slope of NaN": lambda s: (1.0, np.nan * s),
}


@pytest.mark.parametrize("function", SCORES.values(), ids=SCORES)
def test_a_custom_constraint_that_returns_nonsense_is_named(function):
    rule = eq.custom(lambda s, y, groups: function(s), name="mine")
    model = eq.ConstrainedClassifier([rule, eq.demographic_parity(0.2)])
    with pytest.raises((ValueError, TypeError), match="'mine'"):
        model.fit(X, Y, sensitive_features=GROUPS)
