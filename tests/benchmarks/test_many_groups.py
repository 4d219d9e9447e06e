"""The study of many groups: which model is chosen, and what is measured of it."""

import numpy as np
import pytest

from tests.datasets.conftest import need

torch = pytest.importorskip("torch")

from benchmarks.many_groups.methods import METHODS, chosen  # noqa: E402
from benchmarks.many_groups.study import EXCESS, Study  # noqa: E402


def test_models_are_chosen_on_validation_rows():
    """Errors and excesses on validation rows; training and test rows would have it otherwise."""
    table = np.array([(0.1, 0.3), (0.2, 0.1), (0.2, 0.05), (0.3, 0.0), (0.15, 0.1)])
    rows = np.zeros((5, 3, 3))
    rows[:, 1, :2] = table
    rows[:, 0, :2] = rows[:, 2, :2] = -table
    assert chosen(rows, 0.2) == 2
    assert chosen(rows, 0.17) == 4  # the less excess of the two inside
    assert chosen(rows, 0.05) == 0  # none inside: the least error


@pytest.fixture(scope="module")
def study():
    need("communities_crime")
    return Study(seed=7, width=4)


def test_measures_equal_counting(study):
    x = study.model.start
    module = study.model.module_at(x)
    for part, (error, worst, _) in zip(study.data.split, study.measured(x).values()):
        rows = study.data.split[part]
        scores = module(study._everyone._X[rows]).detach().numpy()[:, 0]
        wrong = (scores > 0) != (study.data.y[rows] == 1)
        assert error == pytest.approx(wrong.mean())
        excess = [wrong[inside].mean() for inside in study.members[rows].T]
        assert worst == pytest.approx(max(excess) - wrong.mean() - EXCESS)


def test_every_method_has_its_problem(study):
    m, x = study.members.shape[1], study.start
    assert study.members[study.data.split["train"]].mean(axis=0).min() > 0.01
    shapes = {name: make(study, 0.1)[0].n_constraints for name, make in METHODS.items()}
    assert list(shapes.values()) == [0, m, 1, m]
    every, mean, proxy = study.fair("all"), study.fair("mean"), study.proxy()
    one_by_one = proxy.at(x).constraints
    np.testing.assert_allclose(every.at(x).constraints * m**0.5, one_by_one, atol=1e-6)
    np.testing.assert_allclose(mean.at(x).constraints, one_by_one.mean(), atol=1e-6)
    counted = proxy.true_values(proxy.at(x))
    assert counted.max() == pytest.approx(study.measured(x.numpy())["train"][1])
