"""The quadratic programs of `SQP`: against the conditions of their minimisers, in any units."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from equipoise import FunctionProblem, sets
from equipoise.sets import LinearRows
from equipoise.solvers._sqp import refinement
from equipoise.solvers._sqp.arrival import first_state, program_at
from equipoise.solvers._sqp.curvature import probed, updated
from equipoise.solvers._sqp.opposites import ROUNDING, Opposites, opposite_rows
from equipoise.solvers._sqp.quadratic_program import PRICE, SLIGHT, QuadraticProgram
from equipoise.solvers._sqp.refinement import MAX_AMONG_FEW, refined, with_better_step

FREE = LinearRows.of(3)


def residual(program, answer):
    """How far an answer is from the conditions, for programs without rows of the domain."""
    f = program.f + program.J @ answer.s
    slope = program.g + program.H @ answer.s + answer.lam @ program.J
    return max(np.abs(slope).max(), f.max(initial=0.0), np.abs(answer.lam * f).max(initial=0.0))


def random_program(seed, unit=1.0, lengths=1.0):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(3, 3))
    unit, lengths = unit * np.ones(3), lengths * np.ones(4)
    H = (R @ R.T + 0.1 * np.eye(3)) / np.outer(unit, unit)
    J = lengths[:, None] * rng.normal(size=(4, 3)) / unit
    return QuadraticProgram(
        H, rng.normal(size=3) / unit, lengths * rng.uniform(-1, 0.2, 4), J, FREE
    )


@pytest.mark.parametrize("seed", range(5))
def test_units_of_variables_and_rows_make_no_difference(seed):
    plain = random_program(seed).solve()
    assert residual(random_program(seed), plain) <= 1e-9
    unit, lengths = np.array([1e-4, 1.0, 1e5]), np.array([1e3, 1e-5, 1.0, 7.0])
    other = random_program(seed, unit, lengths).solve()
    np.testing.assert_allclose(other.s / unit, plain.s, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(other.lam * lengths, plain.lam, rtol=1e-6, atol=1e-8)


def program(g, f, J, H=None, rows=None):
    g = np.array(g, float)
    H = np.eye(g.size) if H is None else np.array(H, float)
    rows = LinearRows.of(g.size) if rows is None else rows
    return QuadraticProgram(H, g, np.array(f, float), np.array(J, float), rows)


def test_opposite_rows_are_one_row_with_two_bounds():
    """``1 <= 2 s_0 <= 3`` in two rows of different lengths; the slope pushes up or down."""
    for g, s, lam in (([-9.0, 0.0], 1.5, [3.75, 0.0]), ([9.0, 0.0], 0.5, [0.0, 4.75])):
        answer = program(g, [-3.0, 1.0], [[2.0, 0.0], [-2.0, 0.0]]).solve()
        np.testing.assert_allclose(answer.s, [s, 0.0], atol=1e-9)
        np.testing.assert_allclose(answer.lam, lam, atol=1e-8)
    equation = program([9.0, 0.0], [-2.0, 2.0], [[2.0, 0.0], [-2.0, 0.0]]).solve()
    np.testing.assert_allclose(equation.s, [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(equation.lam, [0.0, 5.0], atol=1e-8)
    assert program([9.0, 0.0], [-2.0, 2.1], [[2.0, 0.0], [-2.0, 0.0]]).solve() is None


def test_rows_without_a_slope_hold_or_do_not():
    answer = program([-3.0, 0.0], [0.0, -1.0], [[0.0, 0.0], [1.0, 0.0]]).solve()
    np.testing.assert_allclose(answer.s, [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(answer.lam, [0.0, 2.0], atol=1e-8)
    assert program([-3.0, 0.0], [1e-9, -1.0], [[0.0, 0.0], [1.0, 0.0]]).solve() is None
    assert program([-3.0, 0.0], [-1.0, 1e-9], [[0.0, 0.0], [0.0, 0.0]]).solve() is None


def test_rows_that_exclude_each_other_have_no_minimiser():
    apart = [[1.0, 0.0], [-1.0, 0.1], [-1.0, -0.1]]
    assert program([0.0, 0.0], [1.0, 1.0, 1.0], apart).solve() is None


NAN = math.nan


@pytest.mark.parametrize(
    ("flags", "p", "calls", "s"),
    [
        ([1], [0.5], 1, 0.5),
        ([-4, 1], [9.0, 0.5], 2, 0.5),
        ([1, -4, 1], [NAN, 9.0, 0.5], 3, 0.5),
        ([-4, -4, -4], [0.5] * 3, 3, None),
        ([-4, -1], [0.5] * 2, 2, None),
    ],
)
def test_programs_that_fail_are_solved_with_ridges(flags, p, calls, s, monkeypatch):
    """But where rows exclude each other (-1) there is nothing to try; all is in units of the slope 4."""
    asked = []

    def scripted(matrix, slope, A, upper, lower, sense, primal_tol, dual_tol):
        asked.append((float(matrix[0, 0]), float(slope[0]), primal_tol, dual_tol))
        k = len(asked) - 1
        return np.array([p[k]]), None, flags[k], {"lam": np.array([0.25])}

    monkeypatch.setattr("daqp.solve", scripted)
    answer = program([4.0], [-1.0], [[1.0]]).solve()
    expected = [
        (1.0, 1.0, 1e-12, 1e-12),
        (1 + 1e-8, 1.0, 1e-9, 1e-9),
        (1 + 1e-8 + 1e-4, 1.0, 1e-6, 1e-6),
    ]
    assert asked == [pytest.approx(one, rel=1e-12) for one in expected[:calls]]
    if s is None:
        assert answer is None
    else:
        assert (answer.s.tolist(), answer.lam.tolist()) == ([4 * s], [1.0])


def test_bounds_and_rows_of_the_domain_are_kept():
    H = np.diag([2.0, 8.0])
    box = LinearRows.of(2, np.array([-0.5, -1.0]), np.array([1.0, 0.25]))
    answer = program([-6.0, -8.0], [], np.empty((0, 2)), H, box).solve()
    np.testing.assert_allclose(answer.s, [1.0, 0.25], atol=1e-9)
    answer = program([6.0, 4.0], [], np.empty((0, 2)), H, box).solve()
    np.testing.assert_allclose(answer.s, [-0.5, -0.5], atol=1e-9)
    simplex = LinearRows.of(2, A=csr_array([[3.0, 3.0]]), b=np.array([3.0]))
    answer = program([-2.0, -3.0], [-9.0], [[0.0, 1.0]], None, simplex).solve()
    np.testing.assert_allclose(answer.s, [0.0, 1.0], atol=1e-8)
    np.testing.assert_allclose(answer.lam, [0.0], atol=1e-8)
    more = LinearRows.of(
        2,
        A=csr_array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]),
        B=csr_array([[-1.0], [-1.0], [1.0]]),
        b=np.array([0.0, 0.0, 0.5]),
    )  # |s_0| <= v <= 1/2
    answer = program([-2.0, -3.0], [-1.0], [[0.0, 1.0]], None, more).solve()
    np.testing.assert_allclose(answer.s, [0.5, 1.0], atol=1e-6)
    np.testing.assert_allclose(answer.lam, [2.0], atol=1e-6)


def test_rows_with_variables_of_their_own_go_with_bounds_and_with_slacks():
    """``|s_0| <= v <= 1/2`` and ``s_1 <= 3/4``; the function asks for ``s_1 <= 1`` or for ``s_1 <= 0``."""
    rows = LinearRows.of(
        2,
        np.array([-4.0, -4.0]),
        np.array([4.0, 0.75]),
        A=csr_array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]]),
        B=csr_array([[-1.0], [-1.0], [1.0]]),
        b=np.array([0.0, 0.0, 0.5]),
    )
    for slope, end in ((-2.0, 0.5), (2.0, -0.5)):
        loose = program([slope, -3.0], [-1.0], [[0.0, 1.0]], None, rows)
        for answer in (loose.solve(), loose.elastic(), loose.least_squares()):
            np.testing.assert_allclose(answer.s, [end, 0.75], atol=1e-6)
            np.testing.assert_allclose(answer.lam, [0.0], atol=1e-6)
        tight = program([slope, -3.0], [0.0], [[0.0, 1.0]], None, rows)
        for answer in (tight.solve(), tight.elastic()):
            np.testing.assert_allclose(answer.s, [end, 0.0], atol=1e-4)
            np.testing.assert_allclose(answer.lam, [3.0], atol=1e-3)
        soft = tight.least_squares()  # s_1^2 - 3 s_1 is least at 3/2
        np.testing.assert_allclose(soft.s, [end, 0.75], atol=1e-6)


def test_elastic_programs_exceed_rows_at_a_price():
    """``s >= 1`` and ``s <= -1`` with equal rows: both are exceeded by as much, or the cheap one."""
    apart = program([0.5], [1.0, 1.0], [[1.0], [-1.0]])
    assert apart.solve() is None
    answer = apart.elastic()
    assert -1.0 - 1e-6 <= answer.s[0] <= 1.0 + 1e-6
    price = PRICE * 0.5
    assert (answer.lam <= price + PRICE * SLIGHT * 3).all()
    slope = 0.5 + answer.s[0] + answer.lam[0] - answer.lam[1]
    assert slope == pytest.approx(0.0, abs=1e-6)
    kept = program([-9.0], [-1.0], [[1.0]]).elastic()
    np.testing.assert_allclose(kept.s, [1.0], atol=1e-6)
    np.testing.assert_allclose(kept.lam, [8.0], atol=1e-5)
    dear = program([-9.0], [-1.0], [[1e-3]], [[1e-6]]).elastic()
    np.testing.assert_allclose(dear.s, [1e3], rtol=1e-6)


@pytest.mark.parametrize(("damping", "f"), [(0.5, [1.0, -0.2]), (2.0, [0.3, 0.4])])
def test_least_squares_of_positive_values(damping, f):
    """Against the formula where both rows stay positive, or one of them."""
    J, f = np.array([[3.0, 0.0], [0.0, 2.0]]), np.array(f)
    answer = program([0.0, 0.0], f, J, damping * np.eye(2)).least_squares()
    s = -np.diag(J) * np.maximum(f, 0) / (damping + np.diag(J) ** 2)
    np.testing.assert_allclose(answer.s, s, atol=1e-8)
    np.testing.assert_allclose(answer.lam, np.maximum(f + J @ s, 0), atol=1e-7)


def test_the_room_along_a_step():
    box = LinearRows.of(2, np.array([-3.0, -3.0]), np.array([4.0, 9.0]))
    known = program([0.0, 0.0], [-6.0, -100.0], [[1.0, 1.0], [-1.0, 0.0]], rows=box)
    s, p = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    assert known.room(s, p) == pytest.approx(5.0)
    assert known.room(s, np.array([1.0, -0.5])) == pytest.approx(3.0)
    assert known.room(s, np.array([-1.0, 0.0])) == pytest.approx(4.0)
    assert known.room(np.array([3.9, 0.0]), np.array([1.0, 0.0])) == 1.0
    assert known.room(s, np.array([1e-13, 0.0])) == math.inf
    assert known.room(s, np.array([1e-9, 0.0])) == pytest.approx(3e9)
    rows = LinearRows.of(2, A=csr_array([[1.0, 0.0]]), b=np.array([1.0]))
    assert program([0.0, 0.0], [-6.0], [[1.0, 1.0]], rows=rows).room(s, p) == 1.0


# ------------------------------------------------------------------ opposites


def test_rows_find_their_opposites():
    J = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, -0.0], [-1.0, 0.0], [1.0, 0.0], [-2.0, -1.0]])
    first, second = opposite_rows(J)
    assert first.tolist() == [0, 1, 3]
    assert second.tolist() == [2, 5, 4]
    first, second = opposite_rows(np.array([[1.0, -0.0], [-1.0, 0.0], [-0.0, 2.0], [-0.0, -2.0]]))
    assert (first.tolist(), second.tolist()) == ([0, 2], [1, 3])
    first, second = opposite_rows(np.zeros((3, 2)))
    assert (first.tolist(), second.tolist()) == ([0, 2], [1, -1])


def test_pairs_are_taken_for_opposite_while_their_sum_is_the_same():
    values = np.array([9.0, 0.5, 3.0, -0.75, 1.0])
    J = np.array([[7.0, 7.0], [1.0, 2.0], [0.0, 1.0], [-1.0, -2.0], [0.0, -1.0]])
    pairs = Opposites.among(values, J)
    assert (pairs.first.tolist(), pairs.second.tolist()) == ([1, 2], [3, 4])
    assert pairs.sums.tolist() == [-0.25, 4.0]
    moved = np.array([0.0, 8.0, 6.0, -8.25, -2.0])
    assert pairs.still(moved) is pairs
    for share, left in ((0.9, [1, 2]), (1.6, [2])):
        bent = moved + [0.0, share * ROUNDING * 16.25, 0.0, 0.0, 0.0]
        assert pairs.still(bent).first.tolist() == left
    other = pairs.still(moved + [0.0, 0.0, 0.0, 0.0, 1.0])
    assert (other.first.tolist(), other.second.tolist(), other.sums.tolist()) == ([1], [3], [-0.25])
    asked = []
    problem = FunctionProblem(
        lambda x: (0.0, J[0]),
        [lambda x, i=i: (asked.append(i) or 0.0, J[i]) for i in range(1, 5)],
        dim=2,
    )
    point = problem.at(np.zeros(2))
    np.testing.assert_array_equal(pairs.gradients(point), J)
    np.testing.assert_array_equal(Opposites.none().gradients(point), J)
    none = Opposites.none()
    assert none.still(values) is none
    assert none.first.size == none.second.size == none.sums.size == 0


# ------------------------------------------------------------------ refinement


def test_products_make_the_step_exact():
    """Against the program with the exact matrix; every product goes along what the last one missed."""
    rng = np.random.default_rng(2)
    R = rng.normal(size=(3, 3))
    A = R @ R.T + np.eye(3)
    rough = program([1.0, -2.0, 0.5], [-0.2], [[1.0, 1.0, 0.0]], np.eye(3))
    products = []

    def product(v):
        products.append(v)
        return A @ v

    H, answer = refined(rough, rough.solve(), product, 1e-12, False)
    assert len(products) == MAX_AMONG_FEW
    np.testing.assert_allclose(products[0], rough.solve().s)
    exact = QuadraticProgram(A, rough.g, rough.f, rough.J, rough.rows)
    before, after = (residual(exact, known) for known in (rough.solve(), answer))
    assert after < 0.5 * before
    p = products[-1]
    np.testing.assert_allclose(H @ p, A @ p, rtol=1e-9)
    for enough, count in ((1e9, 1), (np.linalg.norm((A - np.eye(3)) @ rough.solve().s), 1)):
        products.clear()
        refined(rough, rough.solve(), product, enough, False)
        assert len(products) == count


def test_another_model_has_the_same_rows():
    rng = np.random.default_rng(5)
    M, g = rng.normal(size=(3, 3)), rng.normal(size=3)
    known = program(
        [1.0, -2.0, 3.0], [0.1, -0.2], rng.normal(size=(2, 3)), np.diag([1.0, 9.0, 4.0])
    )
    known.solve()
    H = M @ M.T + np.eye(3)
    fresh = replace(known, H=H, g=g).solve()
    other = known.with_model(H, g)
    assert other._paired is known._paired
    np.testing.assert_allclose(other.solve().s, fresh.s, atol=1e-9)
    np.testing.assert_allclose(other.solve().lam, fresh.lam, atol=1e-9)
    none = program([0.0], [1.0, 1.0], [[1.0], [-1.0]])
    assert none.with_model(np.eye(1), np.ones(1)).solve() is None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("edge", [0.15, 1e9])
def test_lines_are_searched_exactly(seed, edge):
    """Steps go as far along every direction as the exact function falls, or to ``s_0 = edge``."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(4, 4))
    A, H, g = R @ R.T + np.eye(4), 100.0 * np.eye(4), np.append(-10.0, rng.normal(size=3))
    rough, s, directions = program(g, [-edge], np.eye(1, 4), H), np.zeros(4), []
    last, answer = refined(
        rough, rough.solve(), lambda p: directions.append(p) or A @ p, 1e-12, False
    )
    assert len(directions) == MAX_AMONG_FEW
    ahead, held = rough.solve().s, False
    for p in directions:
        np.testing.assert_allclose(p, ahead - s, rtol=1e-7, atol=1e-9)
        H, t = updated(H, p, A @ p), -(g + A @ s) @ p / (p @ A @ p)
        if p[0] > 1e-9 and t > max(1.0, (edge - s[0]) / p[0]):
            t, held = max(1.0, (edge - s[0]) / p[0]), True
        s = s + t * p
        ahead = replace(rough, H=H, g=g + A @ s - H @ s).solve().s
    assert held == (edge < 1.0)
    np.testing.assert_allclose(last, H, rtol=1e-7)
    np.testing.assert_allclose(answer.s, ahead, rtol=1e-7, atol=1e-9)


def test_negative_curvature_leaves_the_step():
    known = program([1.0, 0.0, 0.0], [], np.empty((0, 3)))
    answer = known.solve()
    H, same = refined(known, answer, lambda v: -v, 1e-9, True)
    assert H is known.H
    assert same is answer
    H, same = refined(known, answer, lambda v: 0 * v, 1e-9, True)
    assert H is known.H


def test_a_first_matrix_gets_the_size_that_a_product_tells():
    known = program([1.0, 0.0, 0.0], [], np.empty((0, 3)))
    H, _ = refined(known, known.solve(), lambda v: 4.0 * v, 1e9, True)
    np.testing.assert_allclose(H, 4.0 * np.eye(3), atol=1e-9)
    H, _ = refined(known, known.solve(), lambda v: 4.0 * v, 1e9, False)
    np.testing.assert_allclose(H, np.diag([4.0, 1.0, 1.0]), atol=1e-9)
    _, answer = refined(known, known.solve(), lambda v: 4.0 * v, 1e-12, True)
    np.testing.assert_allclose(answer.s, [-0.25, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("fresh", [False, True])
def test_products_leave_the_bending_of_the_domain_apart(fresh):
    """On a ball the program has H and the bending; the refined B is the Hessian along the step."""
    A = np.array([[5.0, 1.0], [1.0, 3.0]])
    problem = FunctionProblem(
        lambda x: (0.5 * x @ A @ x + 9 * x[0], A @ x + np.array([9.0, 0.0])),
        domain=sets.L2Ball(1.0),
        dim=2,
    )
    point = problem.at(np.array([-1.0, 0.0]))
    state = replace(first_state(problem, point, np.zeros(0), np.eye(2)), fresh=fresh, least=1e-9)
    bend = float(np.max(problem.domain.bending(point.x, -point.vjp(np.ones(1)))))
    assert bend > 0
    after = with_better_step(problem, state, lambda point, weights, g: lambda v: A @ v)
    assert after.exact
    assert not after.fresh
    assert after.s[1] == pytest.approx(-state.J[0][1] / (3.0 + bend), rel=1e-3)
    assert with_better_step(problem, replace(state, elastic=True), None).B is state.B


def test_a_first_model_is_probed_with_the_bending_of_the_domain(monkeypatch):
    monkeypatch.setattr(refinement, "PROBED_FROM", 2)
    A = np.array([[5.0, 1.0], [1.0, 3.0]])
    problem = FunctionProblem(
        lambda x: (0.5 * x @ A @ x + 9 * x[0], A @ x + np.array([9.0, 0.0])),
        domain=sets.L2Ball(1.0),
        dim=2,
    )
    point = problem.at(np.array([-1.0, 0.0]))
    state = replace(first_state(problem, point, np.zeros(0), np.eye(2)), fresh=True, least=1e9)
    bend = program_at(problem, state).H - state.B
    assert bend[1, 1] > 0
    H = probed(lambda v: A @ v, state.unit) + bend
    p = replace(program_at(problem, state), H=H).solve().s
    after = with_better_step(problem, state, lambda point, weights, g: lambda v: A @ v)
    np.testing.assert_allclose(after.B, updated(H, p, (A + bend) @ p) - bend, rtol=1e-9)
    np.testing.assert_allclose(after.s, p, rtol=1e-9)
