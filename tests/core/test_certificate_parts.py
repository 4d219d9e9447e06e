"""Every part of a certificate counts: leaving one out must show."""

from dataclasses import dataclass

import numpy as np
import pytest

from equipoise import Facts, FunctionProblem, Status, certify, near_stationarity, sets, solve
from equipoise.certificate import diagnose
from equipoise.certificate._near_stationarity import NearStationarity
from equipoise.run._verdict import examine_both
from equipoise.solvers import Guarantee, Solver


def in_a_box():
    return FunctionProblem(
        lambda x: (x[0], np.array([1.0, 0.0])),
        [lambda x: (x[1] - 5.0, np.array([0.0, 1.0]))],
        domain=sets.Box(-1, 1, dim=2),
    )


def test_the_distance_from_the_domain_is_a_violation():
    certificate = certify(in_a_box(), np.array([-1.3, 1.4]))
    assert certificate.outside == pytest.approx(0.5)
    assert certificate.violation == pytest.approx(0.5)
    assert certificate.residual == pytest.approx(0.5)
    deeper = certify(in_a_box(), np.array([-1.0, 5.5]))  # 4.5 outside, and 0.5 above the constraint
    assert deeper.violation == pytest.approx(4.5)
    assert certify(in_a_box(), np.array([-1.0, 0.0])).outside == 0.0


def test_a_point_outside_the_domain_is_no_success():
    @dataclass(frozen=True)
    class Outside(Solver):
        name = "outside"
        guarantee = Guarantee("", "", "", "")

        def init(self, problem, x0):
            return np.array([-1.0 - 1e-3, 0.0])

        def step(self, problem, state, t, rng):
            return state

        def output(self, state):
            return state, np.zeros(1)

        def verdict(self, state):
            return Status.CONVERGED

    result = solve(in_a_box(), Outside(), tol=1e-4)
    assert not result.success
    assert result.maxcv == pytest.approx(1e-3)


def test_the_error_of_near_stationarity_counts():
    near = NearStationarity(np.zeros(1), 0.01, 0.2, np.array([3.0]), 2.0, solvable=True)
    assert near.bound == pytest.approx(0.21)
    assert near.residual == pytest.approx((1 + 3.0) * 2.0 * 0.21)
    unsolvable = NearStationarity(np.zeros(1), 0.01, 0.2, np.array([3.0]), 2.0, solvable=False)
    assert unsolvable.residual == np.inf


def test_the_error_of_near_stationarity_bounds_what_it_is_an_error_of():
    """With a rough tolerance the witness is rough, and its error says so."""
    problem = FunctionProblem(
        lambda x: (np.abs(x).sum(), np.sign(x)),
        [lambda x: (1.0 - x[0], np.array([-1.0, 0.0]))],
        domain=sets.Box(-3, 3, dim=2),
        facts=Facts(smooth=False, convex=True, convex_constraints=True),
    )
    x = np.array([2.0, 0.7])
    exact = near_stationarity(problem, x, 1.0, tol=1e-8)
    rough = near_stationarity(problem, x, 1.0, tol=0.5)
    assert rough.error > 0
    assert abs(rough.distance - exact.distance) <= rough.error + exact.error


@pytest.mark.parametrize(("fall", "stationary"), [(0.09, True), (0.11, False)])
def test_the_fall_that_still_counts_as_stationary(fall, stationary):
    """Over the domain, of diameter 2, the violation 1 falls by the share `fall`."""
    slope = np.array([0.5 * fall])
    problem = FunctionProblem(
        lambda x: (0.0, np.zeros(1)),
        [lambda x: (1.0 + slope @ x, slope)],
        domain=sets.Box(-1, 1, dim=1),
    )
    found = diagnose(problem, problem.at(np.zeros(1)))
    assert found.stationarity * found.reach == pytest.approx(fall)
    assert found.is_stationary is stationary


def test_negative_multipliers_of_a_solver_are_clipped():
    """At 0 the multiplier -1 would make ``-x`` under ``-x <= 0`` stationary, though x = 0 is a maximum."""
    problem = FunctionProblem(
        lambda x: (-x[0], -np.ones(1)), [lambda x: (-x[0], -np.ones(1))], dim=1
    )
    point = problem.at(np.zeros(1))
    certificate = examine_both(problem, point, np.array([-1.0]), 1e-6)
    assert (certificate.multipliers >= 0).all()
    assert certificate.residual == pytest.approx(1.0)
