"""What moves the multipliers of a training loop: estimates of the rates, gains, and the pace."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from equipoise import demographic_parity, equalized_odds
from equipoise.torch import ConstrainedOptimizer
from equipoise.torch._cell_rates import CellRates
from equipoise.torch._dual import SLOW_PACE, SMALLEST_GAIN, Pace, gains
from equipoise.torch._running_rates import RunningRates

GROUP = np.arange(400) % 2
Y = (np.arange(400) // 2) % 2


def rates_of(rule, y=Y, group=GROUP):
    rates = CellRates("test", rule, y, group, 1.0)
    return rates, RunningRates(rates)


def counted(rule_rates, positive):
    """The constraint functions of parity 0.1, by definition."""
    difference = positive[GROUP == 0].mean() - positive[GROUP == 1].mean()
    return sorted([difference - 0.1, -difference - 0.1])


def test_the_newest_batches_are_estimated_without_old_rows():
    rates, running = rates_of(demographic_parity(0.1))
    cell = torch.tensor(rates.cells.rows)
    rng = np.random.default_rng(0)
    for turn in range(6):
        scores = torch.tensor(rng.normal(size=400) + (3.0 * GROUP if turn == 5 else 0.0))
        running.add(scores, cell)
        means, news = running.step(1, turn)
    expected = counted(rates, scores.numpy() > 0)
    np.testing.assert_allclose(sorted(news.tolist()), expected, atol=1e-12)
    assert abs(sorted(means.tolist())[1] - expected[1]) > 0.05  # old rows are in the means


def test_a_batch_without_rows_of_a_cell_leaves_its_mean_as_it_was():
    rates, running = rates_of(demographic_parity(0.1))
    cell = torch.tensor(rates.cells.rows)
    running.add(torch.ones(400), cell)
    first, _ = running.step(1, 0)
    some = torch.tensor(GROUP == 0)
    running.add(torch.ones(200), cell[some])
    _, news = running.step(1, 1)
    torch.testing.assert_close(news, first)


def test_a_constraint_of_small_cells_has_a_small_gain():
    rare = np.zeros(400, dtype=int)
    rare[:40] = 1
    found = {}
    for name, rule in (("parity", demographic_parity(0.1)), ("odds", equalized_odds(0.1))):
        rates, running = rates_of(rule, rare)
        running.add(torch.zeros(400), torch.tensor(rates.cells.rows))
        running.step(1, 0)
        found[name] = running.gains
    assert (found["parity"] == 1.0).all()
    # 20 rows of either group: a standard error of sqrt(2 * 0.25 / 20)
    assert float(found["odds"].min()) == pytest.approx(0.06 / np.sqrt(0.5 / 20), rel=1e-6)
    assert float(gains(torch.tensor([10.0]).double())[0]) == SMALLEST_GAIN


def test_the_pace_falls_with_the_learning_rate():
    adam = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], 0.01)
    pace = Pace(adam)
    found = []
    for share in (1.0, 2.0, 2.0 * SLOW_PACE, 0.5 * SLOW_PACE, 0.0):
        adam.param_groups[0]["lr"] = 0.01 * share
        found.append(pace.now())
    assert found == pytest.approx([1.0, 1.0, 1.0, 0.5, 0.0])


class Counted(TorchDispatchMode):
    """The operations that are computed; views and copies of references are not."""

    FREE = ("detach", "view", "t", "unbind", "lift_fresh", "select", "alias", "unsqueeze", "expand")

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if name not in self.FREE and not name.startswith("_record"):
            self.names.append(name)
        return function(*args, **(kwargs or {}))


def test_a_usual_step_costs_few_operations():
    """On an accelerator each is a launch; a step of a small network has about a hundred."""
    torch.manual_seed(0)
    X, y = torch.randn(400, 3), torch.tensor(Y).float()
    net = torch.nn.Linear(3, 1)
    constrained = ConstrainedOptimizer(
        torch.optim.SGD(net.parameters(), 0.1), equalized_odds(0.1), Y, GROUP
    )
    rows = torch.arange(400)

    def loss_of():
        scores = net(X)[:, 0]
        return scores, torch.nn.functional.binary_cross_entropy_with_logits(scores, y)

    for _ in range(22):  # the slope of the loss is measured in the first ones
        scores, loss = loss_of()
        constrained.step(loss, scores, rows=rows)
    with Counted() as plain:
        scores, loss = loss_of()
        constrained.optimizer.zero_grad()
        loss.backward()
        constrained.optimizer.step()
    with Counted() as ours:
        scores, loss = loss_of()
        constrained.step(loss, scores, rows=rows)
    assert len(ours.names) - len(plain.names) <= 5, ours.names
    assert not {"item", "_local_scalar_dense", "nonzero"} & set(ours.names)
