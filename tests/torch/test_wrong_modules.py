"""What is no model is refused, by name."""

import subprocess
import sys

import numpy as np
import pytest

from equipoise.torch import ModuleModel

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

X = np.random.default_rng(0).normal(size=(20, 3))


class Own(nn.Module):
    """A module that computes what a test wants, of one parameter."""

    def __init__(self, function):
        super().__init__()
        self.w, self.function = nn.Parameter(torch.ones(3, dtype=torch.float64)), function

    def forward(self, X):
        return self.function(X, self.w)


def frozen():
    return nn.Linear(3, 1).requires_grad_(False)


def with_nan():
    module = nn.Linear(3, 1)
    nn.init.constant_(module.bias, float("nan"))
    return module


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Tanh(), "`module` must have parameters that require gradients"),
        (frozen(), "`module` must have parameters that require gradients"),
        (nn.Linear(3, 1, dtype=torch.complex64), "`module.weight` must hold real numbers"),
        (
            nn.Linear(3, 2),
            r"`module` must give 8 rows scores of shape \(8,\) or \(8, 1\), got \(8, 2\)",
        ),
        (Own(lambda X, w: (X @ w).sum()), r"scores of shape \(8,\) or \(8, 1\), got \(\)"),
        (Own(lambda X, w: [X @ w]), "`module` must give 8 rows scores"),
        (
            nn.Linear(4, 1),
            r"the `module` must take rows of `X` of shape \(8, 3\); it says: (addmm: )?mat1",
        ),
        (with_nan(), "`module` must be finite, but entry 3 is nan"),
        (Own(lambda X, w: torch.log(-X.abs() @ w)), "`module` must be finite, but entry 0 is nan"),
        (Own(lambda X, w: X[:, 0]), "`module` must give scores that depend on its parameters"),
        (Own(lambda X, w: (X @ w).detach()), "must give scores that depend on its parameters"),
        (
            Own(lambda X, w: nn.functional.dropout(X) @ w),
            "`module` must give the same scores again in `eval` mode",
        ),
        (
            nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False), nn.Linear(3, 1)),
            "`module` must give each row a score that does not depend on other rows",
        ),
        (Own(lambda X, w: torch.softmax(X @ w, 0)), "a score that does not depend on other rows"),
    ],
)
def test_modules(module, message):
    with pytest.raises(ValueError, match=f"^ModuleModel: .*{message}"):
        ModuleModel(module, X)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (X[0], r"`X` must have shape \(n, d\) or \(n, ...\), got \(3,\)"),
        (X[:0], r"`X` must have shape \(n, d\)"),
        (torch.tensor(X[0]), r"`X` must have shape \(n, d\)"),
        (np.where(X > 1, np.nan, X), "`X` must be finite, but entry"),
        (torch.tensor([[1.0, np.inf, 0.0]]), "`X` must be finite, but entry 1 is inf"),
        (np.array([["a", "b", "c"]]), "`X` must be an array of numbers"),
        (torch.ones(4, 3, dtype=torch.bool), "`X` must hold real numbers"),
    ],
)
def test_rows(rows, message):
    with pytest.raises(ValueError, match=f"^ModuleModel: {message}"):
        ModuleModel(nn.Linear(3, 1), rows)


def test_parameters_of_another_module():
    with pytest.raises(ValueError, match=r"^ModuleModel: `x` must have shape \(4,\), got \(5,\)"):
        ModuleModel(nn.Linear(3, 1), X).at(np.zeros(5))


def test_without_pytorch_the_message_says_how_to_get_it():
    code = """
import sys
import equipoise.torch
sys.modules["torch"] = None  # as if it were not installed
try:
    equipoise.torch.ModuleModel(None, None)
except ImportError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "ModuleModel needs PyTorch: pip install 'equipoise[torch]'.\n"
