"""Steering of an exact penalty: how far it is raised, and which linear programs it takes."""

from dataclasses import dataclass, field

import pytest

from equipoise.solvers._penalty.steering import Add, Multiply, steer


@dataclass
class Model:
    """Promises known decreases at penalties, and knows how much the violation can be relieved."""

    promised: dict
    relieved: float = 0.0
    violation: float = 4.0
    asked: list = field(default_factory=list)

    def minimise(self, p, radius):
        self.asked.append((p, radius))
        return p, 100 * p

    def restore(self, radius):
        self.asked.append(("restore", radius))
        return "restored"

    def decrease(self, s, p):
        assert s == p
        return self.promised[p]

    def relief(self, s):
        assert s == "restored"
        return self.relieved


def test_a_promise_of_a_share_of_all_violation_is_enough():
    model = Model({10.0: 0.25 * 10.0 * 4.0})
    found = steer(model, 10.0, 0.25, 1e-3, Add(1.0))
    assert (found.p, found.psi, found.theta, found.lam) == (10.0, 10.0, 4.0, 1000.0)
    assert model.asked == [(10.0, 1.0)]


@pytest.mark.parametrize(("relieved", "p"), [(3.9, 10.0), (4.0, 20.0)])
def test_less_is_enough_where_less_can_be_relieved(relieved, p):
    """The violation is 8, of which linear programs can relieve less."""
    model = Model({10.0: 0.25 * 10.0 * 3.9, 20.0: 1e3}, relieved, violation=8.0)
    found = steer(model, 10.0, 0.25, 1e-3, Multiply(2.0))
    assert (found.p, found.theta) == (p, relieved)
    assert (found.psi, found.lam) == (model.promised[p], 100 * p)
    assert model.asked == [(10.0, 1.0), ("restore", 1.0), (20.0, 1.0)][: 2 if p == 10.0 else 3]


def test_the_penalty_is_raised_until_its_promise_is_kept():
    model = Model({1.0: 0.0, 3.0: 2.9, 5.0: 4.9, 7.0: 7.0}, relieved=4.0)
    found = steer(model, 1.0, 0.25, 1e-3, Add(2.0))
    assert (found.p, found.psi, found.theta) == (7.0, 7.0, 4.0)
    assert [p for p, _ in model.asked] == [1.0, "restore", 3.0, 5.0, 7.0]
    assert all(radius == 1.0 for _, radius in model.asked)


@pytest.mark.parametrize(("relieved", "theta"), [(1e-3, 1e-3), (-1e-9, 0.0)])
def test_what_cannot_be_relieved_is_no_reason_to_raise(relieved, theta):
    model = Model({10.0: -1e-12}, relieved)
    found = steer(model, 10.0, 0.25, 1e-3, Add(1.0))
    assert (found.p, found.psi, found.theta) == (10.0, 0.0, theta)
