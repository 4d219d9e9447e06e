"""`ConstrainedOptimizer.finish`: bounds that the network itself keeps, by counting."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as logistic

from equipoise import demographic_parity, equalized_odds, rate
from equipoise.datasets import make_census
from equipoise.estimators import InfeasibleError
from equipoise.torch import ConstrainedOptimizer
from equipoise.torch._last_layer import _thresholds

DATA = make_census(4000, seed=3)
X = torch.tensor((DATA.X - DATA.X.mean(axis=0)) / DATA.X.std(axis=0)).float()
Y = torch.tensor(DATA.y > 0).float()
GROUP = torch.tensor(DATA.groups == "female")
TRAIN, OTHER = slice(0, 2000), slice(2000, 4000)


def network(*between, seed=0, last=None):
    torch.manual_seed(seed)
    last = torch.nn.Linear(8, 1) if last is None else last
    return torch.nn.Sequential(torch.nn.Linear(14, 8), torch.nn.ReLU(), *between, last)


def trained(net, rule, epochs=3, part=TRAIN):
    rows, y, group = X[part], Y[part], GROUP[part]
    constrained = ConstrainedOptimizer(torch.optim.Adam(net.parameters(), 0.02), rule, y, group)
    drawn = torch.Generator().manual_seed(1)
    for _ in range(epochs):
        for batch in torch.randperm(len(y), generator=drawn).split(len(y) // 10):
            scores = net(rows[batch])[:, 0]
            constrained.step(logistic(scores, y[batch]), scores, rows=batch)
    return constrained


def counted(constrained, net, part=TRAIN):
    """Every rule, counted on the network's own predictions."""
    return [
        line.value for line in constrained.evaluate(net(X[part])[:, 0], Y[part], GROUP[part]).lines
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("rule", [demographic_parity(0.01), equalized_odds(0.02)])
def test_the_network_keeps_its_bounds_by_counting(rule, dtype):
    net = network()
    constrained = trained(net, rule)
    assert max(counted(constrained, net)) > rule.bound
    net = net.to(dtype)
    report = constrained.finish(net, X[TRAIN])
    assert all(line.holds for line in report.constraints)
    assert not net.training
    own = [
        line.value
        for line in constrained.evaluate(
            net(X[TRAIN].to(dtype))[:, 0].float(), Y[TRAIN], GROUP[TRAIN]
        ).lines
    ]
    assert own == pytest.approx([line.true for line in report.constraints], abs=1e-12)
    assert max(own) <= rule.bound + 1e-12


@pytest.mark.parametrize("given", ["tensors", "arrays"])
def test_validation_rows_keep_the_bounds_too(given):
    without = []
    for seed in range(3):
        order = torch.tensor(np.random.default_rng(seed).permutation(4000))
        own, held = order[:1000], order[1000:2000]
        net = network()
        constrained = trained(net, demographic_parity(0.05), part=own)
        constrained.finish(net, X[own])
        without.append(max(counted(constrained, net, held)))
        rows = X[held], Y[held], GROUP[held]
        rows = tuple(part.numpy() for part in rows) if given == "arrays" else rows
        report = constrained.finish(net, X[own], validation=rows)
        assert max(counted(constrained, net, own)) <= 0.05 + 1e-12
        assert max(counted(constrained, net, held)) <= 0.05 + 1e-12
        assert "On the validation rows all bounds hold too" in report.status
    assert max(without) > 0.05  # so that the test can fail


def test_only_the_last_layer_changes():
    net = network(torch.nn.Dropout(0.5))
    constrained = trained(net, demographic_parity(0.02))
    before = copy.deepcopy(net.state_dict())
    constrained.finish(net, X[TRAIN])
    changed = {n for n, value in net.state_dict().items() if not torch.equal(value, before[n])}
    assert changed == {"3.weight", "3.bias"}


def test_bounds_that_exclude_each_other_leave_the_network_as_it_was():
    net = network()
    constrained = trained(net, [rate("positive") >= 0.9, rate("positive") <= 0.1])
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(InfeasibleError, match=r"ConstrainedOptimizer\.finish: the bounds"):
        constrained.finish(net, X[TRAIN], on_infeasible="raise")
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


class Squashed(torch.nn.Sequential):
    def forward(self, rows):
        return torch.tanh(super().forward(rows))


HELD = (X[OTHER], Y[OTHER], GROUP[OTHER])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"module": 3}, "`module` must be a Module"),
        ({"module": Squashed(*network())}, r"must end in a torch.nn.Linear\(..., 1\)"),
        ({"module": torch.nn.Linear(14, 1, bias=False)}, "with a bias"),
        ({"module": torch.nn.Linear(14, 2)}, "must give 8 rows scores"),
        ({"module": torch.nn.Linear(13, 1)}, "must take rows of `X`"),
        (
            {"module": torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(14, 1))},
            "must end in",
        ),
        ({"X": X}, "must hold the 2000 training rows"),
        ({"X": X[TRAIN, :3]}, "must take rows of `X`"),
        ({"X": X[TRAIN, 0]}, r"must have shape \(n, d\)"),
        ({"X": X[TRAIN] * float("nan")}, "finite"),
        ({"X": "rows"}, "`X`"),
        ({"X": None}, "`X`"),
        ({"validation": HELD[:1]}, r"must be \(X, y\) or"),
        ({"validation": 3}, "`validation`"),
        ({"validation": (HELD[0][:, :3], *HELD[1:])}, "must take rows of"),
        ({"validation": (HELD[0], HELD[1] + 5, HELD[2])}, "must hold the labels"),
        ({"validation": (HELD[0], HELD[1][:9], HELD[2])}, "one entry for each of the 2000 rows"),
        ({"validation": (HELD[0], HELD[1], HELD[2][:9])}, "sensitive_features|group"),
        ({"C": 0.0}, "`C` must be positive"),
        ({"on_infeasible": "no"}, "`on_infeasible` must be"),
    ],
)
def test_what_cannot_be_used(change, message):
    constrained = trained(network(), demographic_parity(0.1), epochs=0)
    given = {"module": network(), "X": X[TRAIN], **change}
    with pytest.raises((ValueError, TypeError), match=message):
        constrained.finish(given.pop("module"), given.pop("X"), **given)


def test_thresholds_keep_clear_of_scores():
    scores = np.array([-3.0, -1.0, -0.01, 0.01, 0.02, 2.0])
    assert next(_thresholds(scores, 0.005)) == 0.0
    first, second, *_ = _thresholds(scores, 0.009)
    assert (first, second) == (0.0, pytest.approx(-0.019))
    assert next(_thresholds(scores, 0.1)) in (pytest.approx(-0.11), pytest.approx(0.12))
    for shift in _thresholds(scores, 0.1):
        assert np.abs(scores - shift).min() >= 0.1 - 1e-12
    assert next(_thresholds(np.array([1.0, 2.0]), 1.5)) == -0.5
