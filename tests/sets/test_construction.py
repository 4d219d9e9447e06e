"""What constructors accept, refuse, and say."""

import math

import numpy as np
import pytest
from scipy import sparse

from equipoise import sets


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sets.L1Ball(-1), "L1Ball: `radius` must be positive and finite, got -1."),
        (lambda: sets.L1Ball(0), "L1Ball: `radius` must be positive and finite, got 0."),
        (lambda: sets.L1Ball("x"), "L1Ball: `radius` must be a number, got 'x'."),
        (lambda: sets.L2Ball(math.inf), "L2Ball: `radius` must be positive and finite, got inf."),
        (lambda: sets.L2Ball(math.nan), "L2Ball: `radius` must be positive and finite, got nan."),
        (lambda: sets.L2Ball(1, [[1.0]]), "L2Ball: `center` must have shape (d,), got (1, 1)."),
        (
            lambda: sets.L2Ball(1, [1, math.nan]),
            "L2Ball: `center` must be finite, but entry 1 is nan.",
        ),
        (lambda: sets.Simplex(0.0), "Simplex: `total` must be positive and finite, got 0.0."),
        (
            lambda: sets.Box(0, 1),
            "Box: `dim` must be given when both bounds are numbers, got None.",
        ),
        (lambda: sets.Box(0, 1, dim=0), "Box: `dim` must be an integer of at least 1, got 0."),
        (lambda: sets.Box([2.0, 0.0], 1.0), "Box: `lower` must not exceed `upper` (entry 0 of"),
        (lambda: sets.Box([0, 1], [1, 2, 3]), "must be a number or have shape"),
        (
            lambda: sets.Box([0, 1], 2, dim=3),
            "Box: `lower` must be a number or have shape (3,), got (2,).",
        ),
        (lambda: sets.Box(0, [1, math.nan]), "Box: `upper` must be finite, but entry 1 is nan."),
        (lambda: sets.Box(math.inf, math.inf, dim=2), "Box: `lower` must be below inf"),
        (lambda: sets.Box([0, math.inf], math.inf), "Box: `lower` must be below inf"),
        (lambda: sets.Box(-math.inf, [-math.inf, 0]), "and `upper` above -inf"),
        (lambda: sets.Box([1, 3, 5], [1, 2, 6]), "(entry 1 of `upper` is 2), got 3"),
        (lambda: sets.Box([], 1), "Box: `lower` must be a number or have shape (d,), d >= 1"),
        (lambda: sets.L2Ball(1, []), "L2Ball: `center` must have shape (d,), d >= 1, got (0,)."),
        (
            lambda: sets.Box([[0.0]], 1),
            "Box: `lower` must have shape (d,), got (1, 1).",
        ),
        (
            lambda: sets.Box("a", 1),
            "Box: `lower` must be an array of numbers, got 'a'.",
        ),
        (
            lambda: sets.Product([]),
            "Product: `blocks` must hold at least one (set, size) pair, got [].",
        ),
        (lambda: sets.Product([sets.Simplex()]), "Product: `blocks[0]` must be a pair (set, size)"),
        (
            lambda: sets.Product([(sets.Simplex(), 2), (sets.Simplex(), 0)]),
            "Product: `blocks[1]` must be an integer of at least 1, got 0.",
        ),
        (
            lambda: sets.Product([(sets.Box(0, 1, dim=3), 2)]),
            "Product: `blocks[0]` must have the size 3 of its set, got 2.",
        ),
        (
            lambda: sets.Polytope([1.0, 2.0], [1.0]),
            "Polytope: `A` must have shape (m, d), got (2,).",
        ),
        (
            lambda: sets.Polytope(np.empty((1, 0)), [1.0]),
            "Polytope: `A` must have shape (m, d), d >= 1, got (1, 0).",
        ),
        (
            lambda: sets.Polytope("rows", [1.0]),
            "Polytope: `A` must be an array of numbers, got ",
        ),
        (
            lambda: sets.Polytope([[1.0]], [1.0, 2.0]),
            "Polytope: `b` must have shape (1,), got (2,).",
        ),
        (
            lambda: sets.Polytope([[math.nan]], [1.0]),
            "Polytope: `A` must be finite, but entry 0 is nan.",
        ),
        (
            lambda: sets.Polytope([[1.0]], [math.inf]),
            "Polytope: `b` must be finite, but entry 0 is inf.",
        ),
        (lambda: sets.Polytope([[1.0], [-1.0]], [0.0, -1.0]), "no x has A x <= b"),
        (lambda: sets.Polytope([[1.0], [-1.0]], [0.0, -1e-12]), "no x has A x <= b"),
        (lambda: sets.Polytope([[0.0, 0.0]], [-1.0]), "no x has A x <= b"),
    ],
)
def test_bad_input_is_refused_with_the_reason(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (sets.WholeSpace(), "WholeSpace()"),
        (sets.Box(0, 1, dim=123), "Box(lower=0.0, upper=1.0, dim=123)"),
        (sets.Box(0, 1, dim=1), "Box(lower=0.0, upper=1.0, dim=1)"),
        (sets.Box([0, 1], [1, math.inf]), "Box(lower=[0.0, 1.0], upper=[1.0, inf])"),
        (sets.Box(np.arange(4), 10), "Box(lower=[0.0, 1.0, 2.0, 3.0], upper=[10.0, "),
        (sets.Box(np.arange(5), 10), "Box(dim=5)"),
        (sets.Box(0, np.arange(5)), "Box(dim=5)"),
        (sets.L1Ball(2), "L1Ball(radius=2.0)"),
        (sets.L2Ball(2), "L2Ball(radius=2.0)"),
        (sets.L2Ball(2, [1, 2]), "L2Ball(radius=2.0, center=[1.0, 2.0])"),
        (sets.L2Ball(2, np.ones(4)), "L2Ball(radius=2.0, center=[1.0, 1.0, 1.0, 1.0])"),
        (sets.L2Ball(2, np.ones(5)), "L2Ball(radius=2.0, dim=5)"),
        (sets.Simplex(), "Simplex(total=1.0)"),
        (sets.Product([(sets.L1Ball(1), 3)] * 6), "L1Ball(radius=1.0) x 3, and 2 more)"),
        (sets.Polytope(np.eye(3), np.ones(3)), "Polytope(rows=3, dim=3)"),
    ],
)
def test_repr(X, text):
    assert text in repr(X)


def test_dimensions():
    assert sets.L1Ball(1.0).dim is None
    assert sets.L2Ball(1.0).dim is None
    assert sets.L2Ball(1.0, [0.0, 1.0]).dim == 2
    assert sets.Box([0, 0], 1).dim == 2
    assert sets.Product([(sets.Simplex(), 2), (sets.WholeSpace(), 3)]).dim == 5
    assert sets.Polytope(np.ones((1, 4)), [1.0]).dim == 4


def test_the_caller_keeps_its_arrays():
    lower, center, A, b = np.zeros(2), np.zeros(2), np.eye(2), np.ones(2)
    box, ball, cone = sets.Box(lower, 1), sets.L2Ball(1.0, center), sets.Polytope(A, b)
    for array in (lower, center, A, b):
        array += 100.0
    x = np.array([-1.0, 3.0])
    assert box.project(x).tolist() == [0.0, 1.0]
    assert ball.project(np.zeros(2)).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(cone.project(x), [-1.0, 1.0], atol=1e-15)
    for stored in (box.lower, box.upper, ball.center, cone.A, cone.b):
        with pytest.raises(ValueError, match="read-only"):
            stored[0] = 5.0


def test_plain_sets_compare_by_value():
    assert sets.L1Ball(1) == sets.L1Ball(1.0)
    assert len({sets.Simplex(), sets.Simplex(1), sets.WholeSpace(), sets.WholeSpace()}) == 2
    pair = [(sets.L1Ball(1), 2), (sets.Simplex(), 1)]
    assert sets.Product(pair) == sets.Product(tuple(pair))
    assert hash(sets.Product(pair)) == hash(sets.Product(tuple(pair)))


def test_sparse_rows_are_accepted():
    X = sets.Polytope(sparse.csr_array(np.eye(2)), [1.0, 1.0])
    np.testing.assert_allclose(X.project(np.array([3.0, -2.0])), [1.0, -2.0], atol=1e-15)


def test_rows_of_any_length_describe_the_same_polytope():
    x = np.array([3.0, 2.0])
    for factor in (1e-200, 1e-9, 1e9, 1e200):
        X = sets.Polytope(
            factor * np.array([[1.0, 1.0], [0.0, 0.0]]), factor * np.array([1.0, 1.0])
        )
        np.testing.assert_allclose(X.project(x), [1.0, 0.0], atol=1e-14)


def test_a_bound_out_of_reach_changes_nothing():
    X = sets.Polytope([[1.0, 1.0], [1.0, 0.0], [-1.0, 0.0]], [1.0, 1e30, 1e30])
    np.testing.assert_allclose(X.project(np.array([3.0, 2.0])), [1.0, 0.0], atol=1e-14)


def test_a_polytope_empty_at_working_precision_fails_loudly(monkeypatch):
    import daqp

    X = sets.Polytope([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    answer = (np.zeros(2), 0.0, -1, {"lam": np.zeros(2)})
    monkeypatch.setattr(daqp, "solve", lambda *args, **options: answer)
    with pytest.raises(ArithmeticError, match=r"projection failed \(DAQP exit flag -1\)"):
        X.project(np.array([5.0, 5.0]))  # no row alone is enough
    np.testing.assert_array_equal(X.project(np.array([5.0, 0.5])), [1.0, 0.5])  # the first row is
    np.testing.assert_array_equal(X.project(np.array([0.5, 5.0])), [0.5, 1.0])


def test_rows_of_a_polytope_that_are_broken_alike_are_not_all_active():
    """The nearest point lies on the first row alone, though the second is broken as much in its own units."""
    X = sets.Polytope([[1.0, 0.0], [1.0, 3.0]], [0.0, 0.0])
    point = np.array([1.0, 0.0])
    np.testing.assert_allclose(X.project(point), [0.0, 0.0], atol=1e-12)
    point = np.array([1.0, -0.2])  # broken by 1 and .4
    np.testing.assert_allclose(X.project(point), [0.0, -0.2], atol=1e-12)
    X = sets.Polytope([[1.0, 0.0], [10.0, 3.0]], [0.0, 0.0])
    point = np.array([1.0, -3.0])  # broken by 1 each: the corner is farther away
    np.testing.assert_allclose(X.project(point), [0.0, -3.0], atol=1e-12)
