"""Sequential quadratic programming: its parts against plain twins, and what it reaches."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from benchmarks.hock_schittkowski import COLLECTION
from equipoise import Facts, FunctionProblem, Point, Problem, Status, sets, solve
from equipoise.problems import REFERENCES, QuadraticProblem
from equipoise.solvers import SQP, Sequence, SwitchingSubgradient
from equipoise.solvers._sqp.curvature import probed, updated
from equipoise.solvers._sqp.filter import Filter
from equipoise.solvers._sqp.quadratic_program import QuadraticProgram

SMOOTH = Facts(smooth=True)


def rosenbrock(dim=4, facts=SMOOTH):
    def objective(x):
        bend, short = x[1:] - x[:-1] ** 2, 1 - x[:-1]
        g = np.zeros(dim)
        g[1:] += 20 * bend
        g[:-1] += -40 * bend * x[:-1] - 2 * short
        return 10 * bend @ bend + short @ short, g

    return FunctionProblem(objective, dim=dim, facts=facts)


# The quadratic program


def program(rng, d=5, m=3, domain=None, x=None):
    A = rng.normal(size=(d, d))
    domain = domain or sets.Box(-2.0, 2.0, dim=d)
    x = domain.project(np.zeros(d)) if x is None else x
    return QuadraticProgram(
        H=A @ A.T + 0.1 * np.eye(d),
        g=rng.normal(size=d),
        f=rng.normal(size=m),
        J=rng.normal(size=(m, d)),
        rows=domain.linear_rows(x),
    )


def by_cvxpy(given, domain_rows):
    s = cp.Variable(given.g.size)
    rows = [given.f[i] + given.J[i] @ s <= 0 for i in range(given.f.size)]
    objective = cp.Minimize(given.g @ s + 0.5 * cp.quad_form(s, cp.psd_wrap(given.H)))
    problem = cp.Problem(objective, rows + domain_rows(s))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return s.value, np.array([row.dual_value for row in rows]), problem.status


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e7])
def test_the_step_and_its_multipliers_are_those_of_cvxpy_in_any_units(seed, scale):
    rng = np.random.default_rng(seed)
    plain = program(rng)
    s, lam, status = by_cvxpy(plain, lambda s: [s <= 2, s >= -2])
    unit = scale ** rng.uniform(
        -1, 1, size=5
    )  # variables z = s / unit; functions in units of their own
    size = scale ** rng.uniform(-1, 1, size=3)
    scaled = QuadraticProgram(
        H=plain.H * unit[:, None] * unit,
        g=plain.g * unit,
        f=plain.f * size,
        J=plain.J * size[:, None] * unit,
        rows=sets.Box(-2.0 / unit, 2.0 / unit).linear_rows(np.zeros(5)),
    )
    answer = scaled.solve()
    if status != "optimal":
        assert answer is None
        return
    np.testing.assert_allclose(answer.s * unit, s, atol=1e-6)
    np.testing.assert_allclose(answer.lam * size, lam, atol=1e-5)


@pytest.mark.parametrize(
    ("domain", "rows"),
    [
        (sets.L1Ball(1.5), lambda s: [cp.norm1(s) <= 1.5]),
        (sets.Simplex(2.0), lambda s: [s + 0.4 >= 0, cp.sum(s) == 0]),
        (
            sets.Polytope(np.vstack((np.ones(5), -np.eye(5))), np.ones(6)),
            lambda s: [cp.sum(s) <= 1, s >= -1],
        ),
    ],
)
def test_linear_sets_are_met_exactly(domain, rows):
    rng = np.random.default_rng(3)
    given = replace(program(rng, domain=domain), f=-np.abs(rng.normal(size=3)) - 0.1)
    answer, (s, lam, _) = given.solve(), by_cvxpy(given, rows)
    np.testing.assert_allclose(answer.s, s, atol=1e-5)
    np.testing.assert_allclose(answer.lam, lam, atol=1e-4)


def test_opposite_rows_are_one_equation():
    rng = np.random.default_rng(0)
    given = program(rng, m=2)
    pair = replace(given, f=np.append(given.f, -given.f[0]), J=np.vstack((given.J, -given.J[:1])))
    answer = pair.solve()
    assert abs(pair.f[0] + pair.J[0] @ answer.s) < 1e-10
    gradient = pair.g + pair.H @ answer.s + answer.lam @ pair.J
    inside = np.abs(answer.s) < 2 - 1e-9
    np.testing.assert_allclose(gradient[inside], 0, atol=1e-8)
    assert answer.lam.min() >= 0
    assert answer.lam[0] * answer.lam[2] == 0


def test_rows_that_exclude_each_other_are_exceeded_at_a_price():
    """x <= -1 and x >= 1: the answer lies between them, and both have multipliers."""
    one = np.ones((1, 1))
    given = QuadraticProgram(
        one,
        np.zeros(1),
        np.ones(2),
        np.array([[1.0], [-1.0]]),
        sets.WholeSpace().linear_rows(one[0]),
    )
    assert given.solve() is None
    answer = given.elastic()
    assert abs(answer.s[0]) <= 1
    assert (answer.lam > 0).all()
    np.testing.assert_allclose(given.least_squares().s, 0, atol=1e-9)


# The curvature and the filter


def test_bfgs_meets_the_secant_equation_and_stays_positive_definite():
    rng = np.random.default_rng(1)
    B = np.eye(6)
    A = np.diag([-1.0, 0.0, 0.1, 1.0, 10.0, 100.0])
    for _ in range(50):
        s = rng.normal(size=6)
        y = A @ s
        B, before = updated(B, s, y), B
        assert np.linalg.eigvalsh(B).min() > 0
        model = s @ before @ s
        if s @ y >= 0.2 * model:
            np.testing.assert_allclose(B @ s, y, atol=1e-8 * np.abs(B).max())
        else:  # Powell's damping
            assert s @ B @ s == pytest.approx(max(0.2 * model, min(-s @ y, model)))


def test_the_first_matrix_follows_the_lengths_of_the_rows():
    """The Hessian of a logistic loss on columns of ones and zeros, rare ones a thousand times less curved."""
    rng = np.random.default_rng(2)
    share = 10.0 ** rng.uniform(-3, -0.3, size=60)
    A = (rng.random(size=(20_000, 60)) < share).astype(float)
    H = A.T @ A / 20_000
    lengths = np.linalg.norm(H, axis=1)
    B = probed(lambda v: H @ v, np.ones(60))
    assert np.count_nonzero(B - np.diag(B.diagonal())) == 0
    ratio = np.log10(B.diagonal() / lengths)
    assert np.median(np.abs(ratio)) < 0.3  # a factor of two
    plain, scaled = (
        np.linalg.cond(H / np.sqrt(np.outer(d, d))) for d in (np.ones(60), B.diagonal())
    )
    assert scaled < 0.1 * plain
    unit = 10.0 ** rng.uniform(-6, 6, size=60)
    other = probed(lambda v: unit * (H @ (unit * v)), 1 / unit)
    np.testing.assert_allclose(other.diagonal(), B.diagonal() * unit**2, rtol=1e-9)
    np.testing.assert_array_equal(probed(lambda v: 0 * v, np.ones(3)), np.eye(3))


def test_the_filter_accepts_what_is_better_in_one_of_the_two():
    pairs = Filter(1.0).with_pair(0.5, 1.0).with_pair(0.1, 2.0)
    assert pairs.admits(0.3, 1.5)
    assert not pairs.admits(0.3, 2.5)
    assert not pairs.admits(0.6, 1.5)
    assert not pairs.admits(1e9, -1e9)  # far beyond the violation at the start
    assert len(pairs.with_pair(0.01, 0.0).pairs) == 1  # better than both, which are dropped


# The method


def test_without_constraints_it_is_bfgs():
    """A naive twin: the inverse update, backtracking by Armijo's rule, 50 steps."""
    problem = rosenbrock()
    x0 = np.array([-1.2, 1.0, -0.5, 0.8])
    solver = SQP(tol=1e-15)
    state = solver.init(problem, x0)
    x, g = x0, problem.at(x0).gradient(0)
    H = np.eye(4) / max(1.0, np.linalg.norm(g) / max(1.0, np.linalg.norm(x)))
    scale = 1 / max(1.0, np.linalg.norm(g))
    for t in range(50):
        if np.linalg.norm(g) < 1e-4:  # beyond, differences of values are rounding errors
            break
        f, p, a = problem.at(x).objective, -H @ g, 1.0
        while True:
            rise = problem.at(x + a * p).objective - f
            if scale * rise <= 1e-4 * scale * a * (g @ p) + 1e-15 * max(1, scale * abs(f)):
                break
            a *= min(max(-a * (g @ p) / (2 * (rise - a * (g @ p))), 0.1), 0.5)
        new = problem.at(x + a * p)
        s, y = new.x - x, new.gradient(0) - g
        B = np.linalg.inv(H)
        if t == 0 and s @ y > 0:
            B = B * min(max(0.5 * (s @ y) / (s @ B @ s), 0.2), 1.0)
            H = np.linalg.inv(B)
        if s @ y < 0.2 * (s @ B @ s):
            share = 0.8 * (s @ B @ s) / (s @ B @ s - s @ y)
            y = share * y + (1 - share) * B @ s
        V = np.eye(4) - np.outer(s, y) / (s @ y)
        x, g, H = new.x, new.gradient(0), V @ H @ V.T + np.outer(s, s) / (s @ y)
        state = solver.step(problem, state, t, None)
        np.testing.assert_allclose(state.x, x, rtol=1e-6, atol=1e-8)
    assert t > 10


def test_a_quadratic_program_takes_one_step_with_its_own_hessian():
    rng = np.random.default_rng(5)
    given = program(rng)
    problem = QuadraticProblem(
        P=np.concatenate((given.H[None], np.zeros((3, 5, 5)))),
        q=np.vstack((given.g, given.J)),
        c=np.concatenate(([0.0], -np.abs(given.f))),
        domain=sets.Box(-2.0, 2.0, dim=5),
    )
    known = solve(problem, SQP(), np.zeros(5), tol=1e-9)
    warm = solve(problem, SQP().warm_started(replace_hessian(known, given.H)), np.ones(5), tol=1e-8)
    assert warm.success
    assert warm.nit == 1


def replace_hessian(result, H):
    class Ended:
        multipliers, success = result.multipliers, True
        state = replace(result.state, B=H)

    return Ended


def test_one_evaluation_per_step_and_none_for_nothing():
    problem = COLLECTION[71].problem()
    result = solve(problem, SQP(tol=1e-7), COLLECTION[71].start, tol=1e-6)
    assert result.success
    assert result.nfev == result.nit + 1 <= 10
    again = solve(problem, SQP(tol=1e-7), result.x, tol=1e-6)
    assert (again.nit, again.nfev) == (0, 1)


def test_products_take_the_place_of_evaluations():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 20)) * 2.0 ** -np.arange(20)
    y = np.where(A @ rng.normal(size=20) > 0, 1.0, -1.0)

    class Logistic(Problem):
        dim, n_constraints, names, domain, facts = 20, 1, ("norm",), sets.WholeSpace(), SMOOTH

        def __init__(self, products):
            self.products = products

        def at(self, x):
            margin = y * (A @ x)
            p = 1 / (1 + np.exp(margin))
            values = np.array([np.logaddexp(0, -margin).mean(), x @ x - 4.0])
            return Point(
                x,
                values,
                lambda w: -w[0] * A.T @ (y * p) / 200 + 2 * w[1] * x,
                self.product(p) if self.products else None,
            )

        def product(self, p):
            return lambda w, v: w[0] * A.T @ (p * (1 - p) * (A @ v)) / 200 + 2 * w[1] * v

    without, products = (solve(Logistic(p), SQP(), tol=1e-7) for p in (False, True))
    assert without.success
    assert products.success
    assert products.fun == pytest.approx(without.fun, rel=1e-6)
    assert products.nhev > 0
    assert products.nfev < 0.7 * without.nfev


@pytest.mark.parametrize("number", [6, 24, 35, 39, 43, 65, 71, 76, 78, 93, 100, 113])
def test_problems_of_hock_and_schittkowski(number):
    case = COLLECTION[number]
    result = solve(case.problem(), "auto", case.start, tol=1e-6)
    assert result.success
    assert case.violation(result.x) <= 1e-6
    assert result.fun == pytest.approx(case.best, abs=1e-5 * max(1, abs(case.best)))
    assert result.nfev <= 40


class InOtherUnits(Problem):
    """A problem in variables z = x / unit."""

    def __init__(self, base, unit):
        self.base, self.unit, self.dim, self.facts = base, unit, base.dim, base.facts
        self.n_constraints, self.names = base.n_constraints, base.names
        self.domain = sets.Box(base.domain.lower / unit, base.domain.upper / unit)

    def at(self, z):
        point = self.base.at(z * self.unit)
        return Point(z, point.values, lambda w: self.unit * point.vjp(w))


@pytest.mark.parametrize("number", [24, 35, 39, 65, 71, 76, 78, 100, 113])
def test_variables_in_units_of_a_million_and_a_millionth(number):
    case = COLLECTION[number]
    unit = 10.0 ** np.random.default_rng(number).choice([-6, 0, 6], case.dim)
    result = solve(InOtherUnits(case.problem(), unit), "auto", case.start / unit, tol=1e-6)
    assert case.violation(result.x * unit) <= 1e-5
    assert result.fun == pytest.approx(case.best, abs=1e-3 * max(1, abs(case.best)))


def test_a_degenerate_problem_ends_soon_and_honestly():
    """HS13 has no multipliers at its optimum; no method for kinks is started on it."""
    case = COLLECTION[13]
    result = solve(case.problem(), "auto", case.start, tol=1e-6)
    assert result.status is Status.STALLED
    assert not result.success
    assert result.nfev < 150


def test_an_infeasible_problem_is_no_success():
    problem = FunctionProblem(
        lambda x: (x @ x, 2 * x),
        [
            lambda x: (x[0] - x[1] ** 2, np.array([1.0, -2 * x[1]])),
            lambda x: (1 - x[0] + x[1] ** 2, np.array([-1.0, 2 * x[1]])),
        ],
        dim=2,
        facts=SMOOTH,
    )
    x0 = np.array([0.3, 0.7])
    assert not solve(problem, SQP(), x0, tol=1e-6).success
    alone = solve(problem, SQP(), x0, tol=1e-6, second_order=False)  # without a search elsewhere
    assert not alone.success
    assert alone.nfev < 100


def test_kinks_are_noticed_and_handed_on():
    problem = FunctionProblem(
        lambda x: (np.abs(x - 0.3).sum(), np.sign(x - 0.3)), domain=sets.Box(-1, 1, dim=3)
    )
    chain = Sequence(SQP(), SwitchingSubgradient(), steps=1000)
    result = solve(problem, chain, np.array([0.9, -0.7, 0.1]), max_steps=300)
    assert result.state.second
    smooth = solve(rosenbrock(facts=Facts()), SQP(), np.zeros(4), max_steps=30)
    assert SQP().looks_smooth(smooth.state)


def test_the_ball_bends_the_model():
    """min x1 on a disc: the boundary's curvature makes the steps superlinear."""
    problem = FunctionProblem(
        lambda x: (x[0] + 0.1 * x[1] ** 2, np.array([1.0, 0.2 * x[1]])),
        [lambda x: (x[1] - 0.5, np.array([0.0, 1.0]))],
        domain=sets.L2Ball(2.0),
        dim=2,
        facts=SMOOTH,
    )
    result = solve(problem, SQP(), np.array([0.5, 0.4]), tol=1e-8)
    assert result.success
    assert result.nfev <= 15


def test_the_reference_problems_under_auto():
    for make in REFERENCES.values():
        reference = make()
        if reference.problem.facts.smooth is not False:
            result = solve(reference.problem, "auto", reference.start, tol=1e-7)
            assert result.success, reference.name
