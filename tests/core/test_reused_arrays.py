"""Functions of users that write to what they are given, or return the same array again and again."""

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Point, Problem, certify, check_problem, sets, solve

START = np.array([1.5, -0.5])


def bowl(x):
    """``|x - (2, 1)|^2 + x_1^4``, and its gradient."""
    y = x - np.array([2.0, 1.0])
    return float(y @ y + x[0] ** 4), 2 * y + np.array([4 * x[0] ** 3, 0.0])


def disc(x):
    """``|x|^2 - 1``, and its gradient."""
    return float(x @ x - 1), 2 * x


FACTS = Facts(smooth=True, convex=True, convex_constraints=True)


def ordinary():
    return FunctionProblem(bowl, disc, domain=sets.Box(-2, 2, dim=2), facts=FACTS)


def buffered():
    buffer = np.zeros(2)

    def written(function):
        def into_buffer(x):
            value, buffer[:] = function(x)
            return value, buffer

        return into_buffer

    return FunctionProblem(written(bowl), written(disc), domain=sets.Box(-2, 2, dim=2), facts=FACTS)


def scratching():
    def scratched(function):
        def over_x(x):
            answer = function(x.copy())
            x *= 0.5
            return answer

        return over_x

    return FunctionProblem(
        scratched(bowl), scratched(disc), domain=sets.Box(-2, 2, dim=2), facts=FACTS
    )


class Careless(Problem):
    """The same with one array of values, and with gradients that are kept where asked to."""

    dim, n_constraints, names, domain, facts = 2, 1, ("disc",), sets.Box(-2, 2, dim=2), FACTS

    def __init__(self, keeps=True, shrinks=False):
        self.values, self.rows, self.keeps, self.shrinks = (
            np.zeros(2),
            np.zeros((2, 2)),
            keeps,
            shrinks,
        )

    def at(self, x):
        for i, function in enumerate((bowl, disc)):
            self.values[i], self.rows[i] = function(x)
        rows = self.rows.copy() if self.keeps else self.rows
        if self.shrinks:
            x *= 0.5
        return Point(x, self.values, lambda weights: weights @ rows)


@pytest.mark.parametrize("method", ["auto", "augmented_newton", "level_set", "switching"])
@pytest.mark.parametrize("make", [buffered, scratching, Careless])
def test_runs_and_certificates_are_those_of_other_functions(make, method):
    expected = solve(ordinary(), method, START, tol=1e-6, max_steps=30)
    found = solve(make(), method, START, tol=1e-6, max_steps=30)
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.certificate.values, expected.certificate.values)
    assert found.status is expected.status
    assert found.certificate.residual == expected.certificate.residual


@pytest.mark.parametrize("make", [buffered, scratching, Careless])
def test_a_certificate_keeps_its_values(make):
    problem, x = make(), np.array([0.5, 0.25])
    certificate = certify(problem, x)
    problem.at(np.zeros(2))
    assert x.tolist() == [0.5, 0.25]
    assert certificate.values.tolist() == [bowl(x)[0], disc(x)[0]]


def test_the_check_names_what_a_point_does_not_keep():
    assert check_problem(ordinary(), START).ok
    assert check_problem(buffered(), START).ok
    assert check_problem(scratching(), START).ok
    assert check_problem(Careless(), START).ok
    [sentence] = check_problem(Careless(keeps=False), START).problems
    assert sentence.startswith(
        "The gradient of the objective changes once the problem is evaluated"
    )
    sentences = check_problem(Careless(shrinks=True), START).problems
    assert "`at` changes the `x` that it is given." in sentences
