"""What every registered method must do, with all its defaults. A new method is tested by being
registered; what it claims is written on its class."""

import importlib
import pickle
from dataclasses import FrozenInstanceError, fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest

import equipoise.solvers
from equipoise import FunctionProblem, Status, certify, solve
from equipoise.problems import REFERENCES
from equipoise.solvers import GUARANTEE_COLUMNS, SOLVERS, Claim, guarantee_page, guarantee_rows

PACKAGE = Path(equipoise.solvers.__file__).parent
CASES = [(method, name) for method, make in SOLVERS.items() for name in make.claim.problems]
RUNNABLE = [
    method
    for method, make in SOLVERS.items()
    if not any(need.missing(REFERENCES["convex"]().problem, None) for need in make().needs)
]


def starts(reference, count, seed=0):
    """Random points of the domain, off the edge x1 = 0 of `active`, which is stationary for g."""
    rng = np.random.default_rng(seed)
    domain, d = reference.problem.domain, reference.problem.dim
    for _ in range(count):
        x = 0.9 * domain.project(2 * rng.normal(size=d))
        yield x + np.array([0.1, 0.0]) if reference.name == "active" else x


def applicable(method):
    """A reference problem on which the method runs."""
    return REFERENCES["convex"]()


def test_every_method_is_registered_under_its_name_and_states_its_claim():
    files = {path.stem for path in (PACKAGE / "_methods").glob("[!_]*.py")}
    for stem in sorted(files):
        module = importlib.import_module(f"equipoise.solvers._methods.{stem}")
        assert hasattr(module, "__all__"), f"{stem}.py has no `__all__`"
        offered = [vars(vars(module)[name]) for name in module.__all__]
        assert any(d.get("name") == stem and "claim" in d for d in offered), (
            f"`__all__` of {stem}.py names no class with `name = {stem!r}` and a `claim`"
        )
    assert files == set(SOLVERS), "each file in _methods needs its line in _registry.py"
    assert list(SOLVERS) == sorted(SOLVERS), "the lines of _registry.py are in alphabetical order"
    for name, make in SOLVERS.items():
        assert make.name == name
        assert isinstance(make.claim, Claim)
        assert set(make.claim.problems) <= set(REFERENCES)


def test_what_users_may_import_is_listed_and_the_rest_is_private():
    assert set(SOLVERS) & set(equipoise.solvers.__all__) == {"ipp_conex", "ipp_ssg"}
    for make in SOLVERS.values():
        assert make.__name__ in equipoise.solvers.__all__
        assert getattr(equipoise.solvers, make.__name__) is make
    for path in PACKAGE.rglob("*.py"):
        assert any(part.startswith("_") for part in path.relative_to(PACKAGE).parts), path


@pytest.mark.parametrize("method", SOLVERS)
def test_is_a_frozen_dataclass_with_a_guarantee(method):
    solver = SOLVERS[method]()
    assert is_dataclass(solver)
    assert type(solver).__doc__
    assert all(
        getattr(solver.guarantee, name) for name in ("problems", "quantity", "rate", "reference")
    )
    assert "object at 0x" not in repr(solver)
    if fields(solver):
        with pytest.raises(FrozenInstanceError):
            setattr(solver, fields(solver)[0].name, None)
    assert pickle.loads(pickle.dumps(solver)) == solver


@pytest.mark.parametrize(("method", "name"), CASES)
def test_reaches_its_claim_from_random_starts(method, name):
    reference = REFERENCES[name]()
    claim = SOLVERS[method].claim
    residual, steps = claim.residual, claim.steps
    for start in starts(reference, 20, seed=7):
        result = solve(reference.problem, method, start, max_steps=steps, tol=residual)
        assert result.success, f"from {start}:\n{result}"
        assert certify(reference.problem, result.x).residual <= residual * (1 + 1e-6) or (
            certify(reference.problem, result.x, result.multipliers).residual <= residual
        )


@pytest.mark.parametrize("method", RUNNABLE)
def test_leaves_x0_alone_repeats_by_seed_and_stays_in_the_domain(method):
    reference = applicable(method)
    start = np.array([0.3, 1.7])
    seen = []
    one = solve(
        reference.problem,
        method,
        start,
        max_steps=60,
        seed=2,
        callback=lambda iteration: seen.append(iteration.x),
    )
    two = solve(reference.problem, method, start, max_steps=60, seed=2)
    np.testing.assert_array_equal(start, [0.3, 1.7])
    np.testing.assert_array_equal(one.x, two.x)
    assert one.nfev == two.nfev
    assert all(reference.problem.domain.contains(x) for x in seen)
    assert one.certificate.multipliers.shape == (1,)
    assert (one.certificate.multipliers >= 0).all()


@pytest.mark.parametrize("method", RUNNABLE)
def test_resumes_bit_for_bit(method, tmp_path):
    reference = applicable(method)
    path = tmp_path / "run"
    solve(reference.problem, method, reference.start, max_steps=17, checkpoint=path)
    resumed = solve(reference.problem, method, reference.start, max_steps=45, checkpoint=path)
    whole = solve(reference.problem, method, reference.start, max_steps=45)
    np.testing.assert_array_equal(resumed.x, whole.x)
    assert (resumed.nit, resumed.nfev, resumed.njev) == (whole.nit, whole.nfev, whole.njev)


@pytest.mark.parametrize("method", RUNNABLE)
def test_stops_cleanly_on_nan(method):
    """The objective turns NaN close to the solution; the last finite point is returned."""
    reference = REFERENCES["convex"]()
    base = reference.problem

    def objective(x):
        point = base.at(x)
        bad = np.nan if x[0] > 0.9 else 0.0
        return point.values[0] + bad, point.gradient(0)

    problem = FunctionProblem(
        objective,
        [lambda x: (base.at(x).values[1], base.at(x).gradient(1))],
        domain=base.domain,
        facts=base.facts,
    )
    result = solve(problem, method, [0.0, 0.5], max_steps=3000)
    assert np.isfinite(result.fun)
    assert np.isfinite(result.x).all()
    if method != "feasibility":
        assert result.status is Status.NON_FINITE, result.status
        assert not result.success


@pytest.mark.parametrize("method", RUNNABLE)
def test_an_infeasible_problem_is_never_a_success(method):
    base = REFERENCES["convex"]().problem
    problem = FunctionProblem(
        lambda x: (base.at(x).values[0], base.at(x).gradient(0)),
        [lambda x: (x @ x + 1.0, 2 * x)],
        domain=base.domain,
        facts=base.facts,
        names=["never"],
    )
    result = solve(problem, method, [0.5, 1.0], max_steps=3000, tol=1e-2)
    assert not result.success
    assert result.maxcv >= 1.0
    assert result.status in (
        Status.INFEASIBLE,
        Status.LOCALLY_INFEASIBLE,
        Status.NOT_FOUND,
    ), result.status


def test_apg_needs_a_problem_without_constraints():
    with pytest.raises(ValueError, match="constraint"):
        solve(REFERENCES["convex"]().problem, "apg", [0.0, 0.0])


def test_guarantee_table_has_a_row_for_each_method():
    rows = list(guarantee_rows())
    assert [row[0] for row in rows] == list(SOLVERS)
    assert all(len(row) == len(GUARANTEE_COLUMNS) for row in rows)
    assert guarantee_page().count("\n| ") == len(SOLVERS) + 2


def test_the_documented_guarantee_table_is_up_to_date():
    page = Path(__file__).parents[2] / "docs" / "guarantees.md"
    assert page.read_text(encoding="utf-8") == guarantee_page(), (
        "run: python -m equipoise.solvers docs/guarantees.md"
    )
