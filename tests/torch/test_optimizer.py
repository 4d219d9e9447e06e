"""ConstrainedOptimizer in training loops: counted bounds, exact resumption, several processes."""

import copy
import io
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as logistic

from equipoise import _check, auc_parity, demographic_parity, equalized_odds, rate
from equipoise.datasets import make_census
from equipoise.torch import ConstrainedOptimizer

# The second rule is broken from the first step on, so that multipliers are not 0.
ACTIVE = [demographic_parity(0.02), rate("positive") >= 0.4]


def census(n):
    data = make_census(n)
    X = torch.tensor((data.X - data.X.mean(axis=0)) / data.X.std(axis=0))
    return X, torch.tensor(np.asarray(data.y) > 0).double(), np.asarray(data.groups)


def network(seed=0):
    torch.manual_seed(seed)
    layers = torch.nn.Linear(14, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
    return torch.nn.Sequential(*layers).double()


def made(net, y, group, rules):
    return ConstrainedOptimizer(torch.optim.Adam(net.parameters(), 0.01), rules, y, group)


def train(net, constrained, data, batches):
    X, y, group = data
    for rows in batches:
        scores = net(X[rows])[:, 0]
        constrained.step(logistic(scores, y[rows]), scores, y[rows], group[rows.numpy()])


def batches(n, epochs, size=250):
    drawn = torch.Generator().manual_seed(1)
    return [b for _ in range(epochs) for b in torch.randperm(n, generator=drawn).split(size)]


def gap(net, data):
    X, _, group = data
    positive = (net(X)[:, 0] > 0).numpy()
    shares = [positive[group == value].mean() for value in np.unique(group)]
    return max(shares) - min(shares)


def test_a_network_keeps_parity_on_counted_predictions():
    data = census(4000)
    net, plain = network(), network()
    train(net, made(net, *data[1:], demographic_parity(0.05)), data, batches(4000, 15))
    train(plain, made(plain, *data[1:], demographic_parity(1.0)), data, batches(4000, 15))
    assert gap(plain, data) > 0.08
    assert gap(net, data) <= 0.06


def test_it_goes_on_from_a_stored_state_bit_for_bit():
    data, all_batches = census(1000), batches(1000, 4)
    whole = network()
    uninterrupted = made(whole, *data[1:], ACTIVE)
    train(whole, uninterrupted, data, all_batches)
    assert max(uninterrupted.multipliers.values()) > 0
    first = network()
    half = made(first, *data[1:], ACTIVE)
    train(first, half, data, all_batches[:7])
    file = io.BytesIO()
    torch.save({"net": first.state_dict(), "constrained": half.state_dict()}, file)
    file.seek(0)
    stored = torch.load(file, weights_only=True)
    second = network(5)
    second.load_state_dict(stored["net"])
    again = made(second, *data[1:], ACTIVE)
    again.load_state_dict(stored["constrained"])
    train(second, again, data, all_batches[7:])
    assert again.multipliers == uninterrupted.multipliers
    for p, q in zip(whole.parameters(), second.parameters()):
        assert torch.equal(p, q)


def _killed(file, point):
    """Train, store the state after so many batches, and be killed in the midst of a later one."""
    data, net = census(600), network()
    constrained = made(net, *data[1:], ACTIVE)
    train(net, constrained, data, batches(600, 4, 100)[:point])
    torch.save({"net": net.state_dict(), "constrained": constrained.state_dict()}, file)
    train(net, constrained, data, batches(600, 4, 100)[point : point + 1])
    os.kill(os.getpid(), signal.SIGKILL)


def test_it_goes_on_exactly_where_a_killed_process_was(tmp_path):
    file = tmp_path / "stored.pt"
    line = f"from tests.torch.test_optimizer import _killed; _killed({str(file)!r}, 13)"
    ended = subprocess.run([sys.executable, "-c", line], check=False)
    assert ended.returncode == -signal.SIGKILL
    data, whole, second = census(600), network(), network(5)
    uninterrupted = made(whole, *data[1:], ACTIVE)
    train(whole, uninterrupted, data, batches(600, 4, 100))
    stored = torch.load(file, weights_only=True)
    second.load_state_dict(stored["net"])
    again = made(second, *data[1:], ACTIVE)
    again.load_state_dict(stored["constrained"])
    train(second, again, data, batches(600, 4, 100)[13:])
    assert again.multipliers == uninterrupted.multipliers
    assert all(torch.equal(p, q) for p, q in zip(whole.parameters(), second.parameters()))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["names"], ["other"], "of the constraints"),
        (["counts"], [1, 2], "3 counts"),
        (["counts"], [1, 2, -1], "state_dict"),
        (["running"], {}, "must have the key 'sums'"),
        (["running", "sums"], torch.zeros(2, 9).double(), "same classes and groups"),
        (["running", "sums"], [0.0], "state_dict"),
        (["multipliers", "now"], torch.full((3,), torch.nan).double(), "finite"),
        (["own"], {"mine": {"now": torch.zeros(1).double()}}, "must have the key"),
        (["own"], None, "own"),
        (["optimizer"], {}, "optimiser like"),
        (["optimizer"], None, "optimiser like"),
        (["optimizer"], {"state": {}, "param_groups": []}, "optimiser like"),
    ],
)
def test_a_state_that_is_none_is_refused_and_changes_nothing(path, value, message):
    _, y, group = data = census(600)
    net = network()
    constrained = made(net, y, group, ACTIVE)
    train(net, constrained, data, batches(600, 1, 100))
    before, given = copy.deepcopy(constrained.state_dict()), constrained.state_dict()
    place = given
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises((_check.InputError, TypeError), match=message):
        constrained.load_state_dict(given)
    assert list(constrained.multipliers.values()) == before["multipliers"]["now"].tolist()


def test_batches_may_be_tensors_arrays_or_several_columns():
    X, y, group = census(600)
    columns = {"sex": group == "female", "third": np.arange(600) % 3}
    tensors = {name: torch.tensor(column) for name, column in columns.items()}
    rule = demographic_parity(0.01, column=("sex", "third"))
    found = []
    for given, labels in ((columns, y.numpy()), (tensors, y), (tensors, y.long())):
        net = network()
        constrained = made(net, labels, given, rule)
        for rows in batches(600, 3, 100):
            scores = net(X[rows])[:, 0]
            part = {name: column[rows] for name, column in given.items()}
            constrained.step(logistic(scores, y[rows]), scores, labels[rows], part)
        assert max(constrained.multipliers.values()) > 0
        found.append(list(constrained.multipliers.values()))
        counted = constrained.evaluate(net(X), labels, given)
        assert len(counted.lines) > 0
    assert found[0] == found[1] == found[2]


def test_rows_may_be_told_by_their_numbers():
    X, y, group = census(600)
    found = []
    for told in ("labels", "tensor", "list"):
        net = network()
        constrained = made(net, y, group, ACTIVE)
        for rows in batches(600, 2, 100):
            scores = net(X[rows])[:, 0]
            if told == "labels":
                constrained.step(logistic(scores, y[rows]), scores, y[rows], group[rows.numpy()])
            else:
                given = rows if told == "tensor" else rows.tolist()
                constrained.step(logistic(scores, y[rows]), scores, rows=given)
        assert max(constrained.multipliers.values()) > 0
        found.append(constrained.multipliers)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows": [0, 1, 100]}, "below 100"),
        ({"rows": [0.0, 1.0, 2.0]}, "numbers of training rows"),
        ({"rows": torch.ones(3, dtype=torch.bool)}, "numbers of training rows"),
        ({"rows": [[0, 1, 2]]}, "numbers of training rows"),
        ({"rows": [0, 1]}, "each of the 2 rows of `rows`"),
        ({"rows": [0, 1, 2], "y": [0, 0, 0]}, "instead of"),
    ],
)
def test_numbers_of_no_rows_are_refused(given, message):
    X, y, group = census(100)
    net = network()
    constrained = made(net, y, group, demographic_parity(0.1))
    scores = net(X[:3])
    with pytest.raises(_check.InputError, match=message):
        constrained.step(scores.sum(), scores, **given)


@pytest.mark.parametrize("wrong", [2, 0.5, -1])
def test_a_value_that_no_training_row_has_is_refused_in_tensors(wrong):
    X, y, _ = census(100)
    group = (torch.arange(100) % 2).double()
    net = network()
    constrained = made(net, y, group, demographic_parity(0.1))
    scores = net(X[:3])
    strange = torch.tensor([0.0, wrong, 1.0]).double()
    with pytest.raises(_check.InputError, match="values of the training data"):
        constrained.step(scores.sum(), scores, y[:3], strange)
    with pytest.raises(_check.InputError, match="values of the training data"):
        constrained.step(scores.sum(), scores, strange, group[:3])


def test_a_combination_that_no_training_row_has_is_refused():
    X, y, _ = census(120)
    group = {"a": torch.arange(120) % 2, "b": (torch.arange(120) % 2) * (torch.arange(120) % 3)}
    net = network()
    constrained = made(net, y, group, demographic_parity(0.1, column="a"))
    scores = net(X[:1])
    other = {"a": torch.tensor([0]), "b": torch.tensor([2])}
    with pytest.raises(_check.InputError, match="has together"):
        constrained.step(scores.sum(), scores, y[:1], other)


@pytest.mark.parametrize("seed", range(5))
def test_equalised_odds_on_counted_training_predictions(seed):
    X, y, group = data = census(4000)
    net = network(seed)
    constrained = made(net, y, group, equalized_odds(0.05))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(constrained.optimizer, 12)
    for _ in range(12):
        train(net, constrained, data, batches(4000, 1))
        schedule.step()
    positive = (net(X)[:, 0] > 0).numpy()
    rates = [
        [positive[(y.numpy() == label) & (group == value)].mean() for value in np.unique(group)]
        for label in (0, 1)
    ]
    assert np.ptp(rates, axis=1).max() <= 0.06


def test_gradients_are_those_of_smooth_rates_times_multipliers():
    X, y, group = census(500)
    net = network()
    constrained = made(net, y, group, demographic_parity(0.01))
    train(net, constrained, (X, y, group), [torch.arange(500)] * 3)
    scores = net(X)[:, 0]
    (found,) = torch.autograd.grad(
        constrained.lagrangian(0.0 * scores.sum(), scores, y, group), scores
    )
    again = scores.detach().requires_grad_(True)
    low, high = (torch.tensor(group == value) for value in np.unique(group))
    rates = torch.sigmoid(again)
    difference = rates[low].mean() - rates[high].mean()
    one, other = constrained.multipliers.values()
    (expected,) = torch.autograd.grad((one - other) * difference, again)
    assert one != other
    assert torch.allclose(found, expected)


def _process(rank, count, folder):
    import torch.distributed as distributed

    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=count
    )
    data = census(800)
    net = torch.nn.parallel.DistributedDataParallel(network())
    constrained = made(net, *data[1:], ACTIVE)
    train(net, constrained, data, [b[rank::count] for b in batches(800, 2, 200)])
    torch.save((net.module.state_dict(), constrained.multipliers), f"{folder}/found_{rank}.pt")
    distributed.barrier()  # nobody leaves while the other still reads from it
    distributed.destroy_process_group()
    os._exit(0)  # threads of gloo may ask for the interpreter while it shuts down, which aborts


def test_two_processes_give_the_result_of_one(tmp_path):
    torch.multiprocessing.spawn(_process, (2, str(tmp_path)), nprocs=2)
    data, net = census(800), network()
    constrained = made(net, *data[1:], ACTIVE)
    train(net, constrained, data, batches(800, 2, 200))
    found = [torch.load(tmp_path / f"found_{rank}.pt") for rank in range(2)]
    assert found[0][1] == found[1][1]
    assert found[0][1] == pytest.approx(constrained.multipliers, abs=1e-9)
    assert max(constrained.multipliers.values()) > 0
    for name, p in net.state_dict().items():
        assert torch.allclose(p, found[0][0][name], atol=1e-9)


def test_gradients_of_a_scaler_and_of_several_batches():
    X, y, group = census(600)
    net = network()
    constrained = made(net, y, group, ACTIVE)
    scaler = torch.amp.GradScaler("cpu")
    before = [p.detach().clone() for p in net.parameters()]
    for _ in range(3):
        constrained.zero_grad()
        for rows in torch.arange(600).split(200):
            scores = net(X[rows])[:, 0]
            total = constrained.lagrangian(
                logistic(scores, y[rows]), scores, y[rows], group[rows.numpy()]
            )
            scaler.scale(total / 3).backward()
        scaler.step(constrained)
        scaler.update()
    assert any(not torch.equal(p, q) for p, q in zip(net.parameters(), before))
    assert max(constrained.multipliers.values()) > 0


def test_tensors_of_the_users_own():
    x = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    constrained = ConstrainedOptimizer(torch.optim.SGD([x], 0.02), [], [0, 1])
    for _ in range(2000):
        constrained.step(((x - 1.0) ** 2).sum(), constraints={"sum": x.sum() - 1.0})
    assert torch.allclose(x.detach(), torch.full((2,), 0.5, dtype=torch.float64), atol=1e-3)
    assert constrained.multipliers["sum"] == pytest.approx(1.0, abs=1e-2)


def test_messages():
    net, y = network(), np.array([0, 1] * 10)
    with pytest.raises(_check.InputError, match="tensor to `lagrangian`"):
        made(net, y, np.repeat([0, 1], 10), auc_parity("group", 0.1))
    constrained = made(net, y, None, rate("positive") <= 0.3)
    scores = net(torch.zeros(3, 14).double())
    with pytest.raises(_check.InputError, match="values of the training data"):
        constrained.step(scores.sum(), scores, [0, 1, 7])
    with pytest.raises(_check.InputError, match="one number for each of the 2 rows"):
        constrained.step(scores.sum(), scores, [0, 1])
