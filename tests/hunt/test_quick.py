"""A short hunt: no claim of the library is wrong on a few problems of every kind."""

import pytest

from benchmarks.hunt.kinds import KINDS
from benchmarks.hunt.runs import hunt_one

EACH = 10  # problems of every kind


@pytest.mark.parametrize("kind", KINDS)
def test_no_claim_is_wrong(kind):
    outcomes = [hunt_one(kind, seed) for seed in range(EACH)]
    found = [(outcome.wrong, outcome.reproducer) for outcome in outcomes if outcome.wrong]
    assert found == []
    assert [outcome.reproducer for outcome in outcomes if outcome.no_minimum] == []
