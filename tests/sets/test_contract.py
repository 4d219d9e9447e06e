"""What every set promises, checked on every example of every registered set."""

import copy
import dataclasses
import inspect
import math
import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

from equipoise import sets
from equipoise._array import norm

from .examples import CASES, EXAMPLES, every_set, far, member, size, twin

REPEATS = 25


def test_every_registered_set_has_an_example():
    assert set(EXAMPLES) == set(sets.SETS), "add the new set to tests/sets/examples.py"
    for name, cases in EXAMPLES.items():
        assert cases
        assert all(type(X) is sets.SETS[name] for X, _ in cases)


def test_the_registry_holds_every_set_of_the_package():
    public = [getattr(sets, name) for name in sets.__all__]
    kinds = {item for item in public if inspect.isclass(item) and issubclass(item, sets.Set)} - {
        sets.Set
    }
    written = {
        kind for kind in sets.Set.__subclasses__() if kind.__module__.startswith("equipoise")
    }
    assert kinds == set(sets.SETS.values()) == written
    assert all(kind.name == name for name, kind in sets.SETS.items())


@every_set
def test_linear_rows_hold_every_step_that_stays_in_the_set(X, d, rng):
    """And no other one where the set is a polyhedron: the best step of the rows is a best step of the set."""
    for _ in range(REPEATS):
        x, y, slope = member(X, d, rng), member(X, d, rng), rng.normal(size=d)
        rows = X.linear_rows(x)
        if rows is None:
            pytest.skip("linear programs do not know this set")
        bounds = [*zip(rows.low, rows.high), *[(None, None)] * rows.B.shape[1]]
        A = np.hstack((rows.A.toarray(), rows.B.toarray()))
        for cost, s in ((np.zeros(d), y - x), (slope, None)):
            fixed = bounds if s is None else [*zip(s, s), *bounds[d:]]
            c = np.append(cost, np.zeros(rows.B.shape[1]))
            answer = linprog(c, A, rows.b + 1e-12 * size(X) * (s is not None), bounds=fixed)
            if s is not None:
                assert answer.status == 0
                assert (rows.low - 1e-12 <= s).all()
                assert (s <= rows.high + 1e-12).all()
            elif math.isinf(X.diameter) and answer.status == 3:
                pass  # the set is unbounded along the slope
            elif not isinstance(X, sets.L2Ball) and "L2" not in repr(X):
                assert answer.status == 0
                end = x + answer.x[:d]
                assert norm(X.project(end) - end) <= 1e-7 * size(X) * max(1.0, norm(end))


@every_set
def test_projection_satisfies_the_variational_inequality(X, d, rng):
    for _ in range(REPEATS):
        x = far(X, d, rng)
        p = X.project(x)
        for _ in range(3):
            y = member(X, d, rng)
            assert (x - p) @ (y - p) <= 1e-12 * (1 + norm(x) * norm(y)) * size(X) ** 2


@every_set
def test_projection_is_idempotent_and_keeps_members(X, d, rng):
    for _ in range(REPEATS):
        p = member(X, d, rng)
        np.testing.assert_array_equal(X.project(p), p)
        q = member(X, d, rng)
        middle = 0.5 * p + 0.5 * q
        np.testing.assert_allclose(X.project(middle), middle, rtol=1e-13, atol=1e-14 * size(X))


@every_set
def test_projection_is_nonexpansive(X, d, rng):
    for _ in range(REPEATS):
        x, y = far(X, d, rng), far(X, d, rng)
        moved = norm(X.project(x) - X.project(y))
        assert moved <= norm(x - y) * (1 + 1e-12)


@pytest.mark.parametrize(("X", "d"), [case for case in CASES if case[0].diameter > 1e-6])
def test_projection_agrees_with_a_general_solver(X, d, rng):
    for _ in range(6):
        x = far(X, d, rng)
        np.testing.assert_allclose(X.project(x), twin(X, x), atol=2e-6 * max(1.0, norm(x)))


@every_set
def test_distance_and_membership(X, d, rng):
    for _ in range(REPEATS):
        x = far(X, d, rng)
        p = X.project(x)
        assert X.distance(x) == pytest.approx(norm(x - p), abs=1e-300)
        assert X.contains(p, atol=1e-14)
        if norm(x - p) > 1e-6:
            assert not X.contains(x, atol=1e-7 / max(1.0, norm(x)))


@every_set
def test_inputs_are_left_alone(X, d, rng):
    for _ in range(8):
        x, v, w = far(X, d, rng), rng.normal(size=d), rng.normal(size=(2, d))
        before = x.copy(), v.copy(), w.copy()
        p = X.project(x)
        point = p.copy()
        X.tangent_map(p, v)(w)
        for now, then in zip((x, v, w, p), (*before, point)):
            np.testing.assert_array_equal(now, then)


@every_set
def test_single_precision_stays_single(X, d, rng):
    for _ in range(8):
        x, v = far(X, d, rng), rng.normal(size=d)
        p, single = X.project(x), X.project(x.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, p, rtol=1e-4, atol=1e-5 * size(X))
        tangent = X.tangent(single, v.astype(np.float32))
        assert tangent.dtype == np.float32
        np.testing.assert_allclose(tangent, X.tangent(p, v), atol=2e-3)


@every_set
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_points_that_are_not_finite_are_refused(X, d, value):
    rule = rf"{type(X).__name__}: `x` must be finite, but entry 0 is {value}\."
    with pytest.raises(ValueError, match=rule):
        X.project(np.full(d, value))
    with pytest.raises(ValueError, match="`v` must be finite"):
        X.tangent(X.project(np.zeros(d)), np.full(d, value))


@every_set
def test_wrong_inputs_are_named(X, d):
    owner = type(X).__name__
    with pytest.raises(ValueError, match=f"{owner}: `x` must be an array of floating-point"):
        X.project(np.ones(d, dtype=int))
    with pytest.raises(ValueError, match=f"{owner}: `x` must be an array of floating-point"):
        X.project([1.0] * d)
    with pytest.raises(ValueError, match=rf"{owner}: `x` must have shape .*, got \(2, {d}\)"):
        X.project(np.ones((2, d)))
    if X.dim is not None:
        assert X.dim == d
        with pytest.raises(ValueError, match=rf"{owner}: `x` must have shape \({d},\)"):
            X.tangent_map(np.ones(d + 1), np.ones(d + 1))


@every_set
def test_pickle_and_copy_give_the_same_set(X, d, rng):
    x = far(X, d, rng)
    for other in (pickle.loads(pickle.dumps(X)), copy.deepcopy(X)):
        assert repr(other) == repr(X)
        assert other.dim == X.dim
        assert other.diameter == X.diameter
        np.testing.assert_array_equal(other.project(x), X.project(x))


@every_set
def test_repr_is_one_short_line(X, d):
    assert repr(X).startswith(type(X).__name__ + "(")
    assert len(repr(X)) < 100
    assert "\n" not in repr(X)


@every_set
def test_sets_are_frozen(X, d):
    for parameter in ("dim", *(field.name for field in dataclasses.fields(X))):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(X, parameter, 3)


@every_set
def test_diameter_bounds_every_distance(X, d, rng):
    members = [X.project(rng.normal(size=d) * 100) for _ in range(30)]
    widest = max(norm(p - q) for p in members for q in members)
    assert widest <= X.diameter * (1 + 1e-12)
    if math.isinf(X.diameter):
        assert widest > 50


def test_examples_cover_bounded_and_unbounded_sets():
    finite = {math.isfinite(X.diameter) for X, _ in CASES}
    assert finite == {True, False}
