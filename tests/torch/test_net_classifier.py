"""Networks under constraints: bounds counted, what is certified, modules of all kinds, storing."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from equipoise import demographic_parity, equalized_odds, load_model
from equipoise._check import InputError
from equipoise.datasets import make_census
from equipoise.estimators import ModelFileError
from equipoise.torch import ConstrainedNetClassifier
from equipoise.torch._group_batches import SpreadOrder

DATA = make_census(2000, seed=0)
WEIGHTED = "mini-batches of repeated rows are others than those of weighted rows"
WHOLE = {
    f"check_sample_weight_equivalence_on_{kind}_data": WEIGHTED for kind in ("dense", "sparse")
}


def fitted(rule, **parameters):
    model = ConstrainedNetClassifier(rule, **{"max_epochs": 3, **parameters})
    return model.fit(DATA.X, DATA.y, sensitive_features=DATA.groups)


def gap(model, X=DATA.X, groups=DATA.groups):
    positive = model.predict(X) == model.pos_label_
    rates = [positive[groups == value].mean() for value in np.unique(groups)]
    return max(rates) - min(rates)


@parametrize_with_checks(
    [ConstrainedNetClassifier(max_epochs=5)], expected_failed_checks=lambda _: WHOLE
)
def test_estimator_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("rule", [demographic_parity(0.03), equalized_odds(0.05)])
def test_bounds_hold_by_counting(rule):
    free, model = fitted(()), fitted(rule)
    assert all(line.holds for line in model.report_.constraints)
    if rule == demographic_parity(0.03):
        assert gap(model) <= 0.03 + 1e-12 < gap(free)


def test_the_certificate_is_of_the_last_layer_and_says_so():
    model = fitted(demographic_parity(0.03))
    assert model.certificate_.residual <= 1e-6
    assert "given the features" in model.result_.message
    Z = torch.tensor((DATA.X - model.center_) / model.scale_, requires_grad=False)
    np.testing.assert_allclose(
        model.module_(Z).detach().numpy()[:, 0], model.decision_function(DATA.X), atol=1e-10
    )


def test_the_residual_without_rules_is_the_gradient_of_the_mean_loss():
    model = fitted(())
    Z = torch.tensor((DATA.X - model.center_) / model.scale_)
    target = torch.tensor((DATA.y == model.pos_label_).astype(float))
    loss = torch.nn.functional.binary_cross_entropy_with_logits(model.module_(Z)[:, 0], target)
    loss.backward()
    squares = sum(float((p.grad**2).sum()) for p in model.module_.parameters())
    assert model.network_residual_ == pytest.approx(squares**0.5, rel=1e-6)


def test_the_same_seed_gives_the_same_network_and_leaves_the_global_one_alone():
    before = torch.get_rng_state()
    first, again = fitted(demographic_parity(0.03)), fitted(demographic_parity(0.03))
    assert torch.equal(before, torch.get_rng_state())
    assert np.array_equal(first.decision_function(DATA.X), again.decision_function(DATA.X))
    other = fitted(demographic_parity(0.03), random_state=1)
    assert not np.array_equal(first.coef_, other.coef_)


def odd_network():
    return torch.nn.Sequential(
        torch.nn.Linear(14, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Dropout(0.3),
        torch.nn.Linear(8, 1),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("made", [False, True])
def test_modules_with_dropout_and_batch_norm(dtype, made):
    given = odd_network().to(dtype)
    before = {name: value.clone() for name, value in given.state_dict().items()}
    model = fitted(demographic_parity(0.03), module=(lambda: given) if made else given)
    assert gap(model) <= 0.03 + 1e-12
    assert not model.module_.training
    assert model.module_[-1].weight.dtype == dtype
    assert all(torch.equal(before[name], value) for name, value in given.state_dict().items())
    assert clone(model).module is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("made", [False, True])
def test_a_module_of_ones_own_is_given_again_at_loading(tmp_path, dtype, made):
    path, own = tmp_path / "net.model", odd_network().to(dtype)
    model = fitted(demographic_parity(0.03), module=own)
    model.save(path)
    fresh = odd_network().to(dtype)
    again = load_model(path, module=(lambda: fresh) if made else fresh)
    assert np.array_equal(again.decision_function(DATA.X), model.decision_function(DATA.X))
    assert again.report_ == model.report_
    assert clone(again).module is not None
    with pytest.raises(ModelFileError, match="give it as `module`"):
        load_model(path)
    with pytest.raises(ModelFileError, match=r"it differs in \['0.bias'"):
        load_model(path, module=torch.nn.Sequential(torch.nn.Linear(14, 9), torch.nn.Linear(9, 1)))
    other = torch.float32 if dtype == torch.float64 else torch.float64
    with pytest.raises(ModelFileError, match="it differs in"):
        load_model(path, module=odd_network().to(other))


def test_a_module_is_refused_where_none_was_stored(tmp_path):
    fitted(demographic_parity(0.03)).save(tmp_path / "net.model")
    with pytest.raises(ModelFileError, match="leave out `module`"):
        load_model(tmp_path / "net.model", module=odd_network())


def test_what_cannot_be_an_array_is_not_stored(tmp_path):
    class Noted(torch.nn.Linear):
        def get_extra_state(self):
            return "a note"

        def set_extra_state(self, state):
            pass

    model = fitted((), module=Noted(14, 1))
    with pytest.raises(ModelFileError, match="not an array"):
        model.save(tmp_path / "net.model")


class Scaled(torch.nn.Module):
    """No linear layer gives the score: only its scale and threshold are fitted."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(14, 1)

    def forward(self, rows):
        return torch.tanh(self.layer(rows))[:, 0]


def test_a_module_without_a_linear_last_layer():
    model = fitted((), module=Scaled())
    assert model.coef_.shape == (1, 1)
    assert model.score(DATA.X, DATA.y) > 0.7


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"module": 3}, "must be a torch.nn.Module"),
        ({"module": torch.nn.Linear(14, 2)}, "scores of shape"),
        ({"module": torch.nn.Identity()}, "require gradients"),
        ({"device": "no such"}, "cannot be used"),
        ({"hidden_layer_sizes": [0]}, "hidden_layer_sizes"),
    ],
)
def test_what_cannot_be_used(parameters, message):
    with pytest.raises((InputError, TypeError), match=message):
        fitted((), **parameters)


def test_saved_models_predict_the_same(tmp_path):
    model = fitted(demographic_parity(0.03), dropout=0.1)
    model.save(tmp_path / "net.model")
    again = load_model(tmp_path / "net.model")
    assert np.array_equal(again.decision_function(DATA.X), model.decision_function(DATA.X))
    assert again.report_ == model.report_
    assert again.epochs_ == model.epochs_


ALONE = """
import sys
from equipoise import load_model
from equipoise.estimators import ModelFileError
try:
    load_model(sys.argv[1])
except ModelFileError as error:
    print(error)
print(sorted({"torch", "equipoise.torch"} & set(sys.modules)))
import equipoise.torch
print(type(load_model(sys.argv[1])).__name__)
"""


def test_no_file_makes_anything_be_imported(tmp_path):
    fitted(()).save(tmp_path / "net.model")
    found = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path / "net.model")], capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    refused, imported, name = found.stdout.splitlines()
    assert "once equipoise.torch is imported" in refused
    assert imported == "[]"
    assert name == "ConstrainedNetClassifier"


def test_a_promise_is_tested_on_rows_that_the_network_has_not_seen():
    model = fitted(demographic_parity(0.2), confidence=0.9)
    promise = model.report_.promise
    assert (promise.rows_trained, promise.rows_held_out) == (1000, 1000)


def test_the_positive_class_may_be_the_first():
    model = fitted(demographic_parity(0.03), pos_label=0)
    assert gap(model) <= 0.03 + 1e-12
    assert model.score(DATA.X, DATA.y) > 0.7
    assert np.isfinite(model.network_residual_)


def test_every_batch_has_its_share_of_every_stratum():
    rng = np.random.default_rng(0)
    strata = rng.choice(3, 1000, p=[0.9, 0.08, 0.02])
    found = SpreadOrder(strata).batches(100, rng)
    assert sorted(np.concatenate(found)) == list(range(1000))
    for batch in found:
        shares = np.bincount(strata[batch], minlength=3) - np.bincount(strata) / len(found)
        assert np.abs(shares).max() <= 2.0


def test_time_is_kept():
    with pytest.warns(UserWarning, match="max_seconds|not all met yet"):
        model = fitted(demographic_parity(0.03), max_seconds=0.0)
    assert model.status_.name == "MAX_SECONDS"


def divided(seed):
    """1,000 rows to train on, as many for validation."""
    order = np.random.default_rng(seed).permutation(2000)
    parts = order[:1000], order[1000:]
    return [(DATA.X[rows], DATA.y[rows], DATA.groups[rows]) for rows in parts]


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_on_validation_rows_too(seed):
    (X, y, groups), held = divided(seed)
    model = ConstrainedNetClassifier(demographic_parity(0.05), max_epochs=3)
    model.fit(X, y, sensitive_features=groups, validation=held)
    assert gap(model, X, groups) <= 0.05 + 1e-12
    assert gap(model, held[0], held[2]) <= 0.05 + 1e-12
    assert "validation rows all bounds hold too" in model.result_.message


def test_without_validation_rows_they_are_broken_there():
    """So that the test above can fail."""
    gaps = []
    for seed in range(3):
        (X, y, groups), held = divided(seed)
        model = ConstrainedNetClassifier(demographic_parity(0.05), max_epochs=3)
        gaps.append(gap(model.fit(X, y, sensitive_features=groups), held[0], held[2]))
    assert max(gaps) > 0.05


def test_what_validation_rows_do_not_keep_is_said():
    (X, y, groups), held = divided(0)
    scores = fitted(()).decision_function(held[0])
    order = np.argsort(scores)
    men = order[held[2][order] == "male"][
        -100:
    ]  # those likeliest positive, and the women least likely
    women = order[held[2][order] == "female"][:100]
    few = [part[np.r_[men, women]] for part in held]
    model = ConstrainedNetClassifier(demographic_parity(0.05), max_epochs=3)
    model.fit(X, y, sensitive_features=groups, validation=few)
    found = gap(model, few[0], few[2])
    assert found > 0.05
    assert f"validation rows a bound is broken by {found - 0.05:.2g}" in model.result_.message
    assert gap(model, X, groups) <= 0.05 + 1e-12


def test_the_best_epoch_is_told_by_validation_rows():
    (X, y, groups), held = divided(0)
    model = ConstrainedNetClassifier(max_epochs=2)
    model.fit(X, y, sensitive_features=groups, validation=held)
    other = clone(model).fit(X, y, sensitive_features=groups, validation=[h[:100] for h in held])
    assert model.epochs_[0].loss != other.epochs_[0].loss


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda held: held[:1], "must be"),
        (lambda held: (held[0][:, :3], *held[1:]), "features"),
        (lambda held: (held[0], np.full(1000, "other"), held[2]), "must hold the labels"),
        (lambda held: (held[0], held[1][:9], held[2]), "rows"),
        (lambda held: (held[0], held[1], held[2][:9]), "rows|entr"),
        (lambda held: 3, "validation"),
    ],
)
def test_validation_rows_that_are_none_are_refused(change, message):
    (X, y, groups), held = divided(0)
    model = ConstrainedNetClassifier(demographic_parity(0.05), max_epochs=1)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y, sensitive_features=groups, validation=change(held))


def test_validation_rows_are_not_for_a_promise():
    (X, y, groups), held = divided(0)
    model = ConstrainedNetClassifier(demographic_parity(0.05), confidence=0.9, max_epochs=1)
    with pytest.raises(InputError, match="leave out `confidence`"):
        model.fit(X, y, sensitive_features=groups, validation=held)
