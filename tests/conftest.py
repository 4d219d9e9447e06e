"""What all tests share."""

import signal

import numpy as np
import pytest

# Tests send the interrupt of Ctrl-C to themselves. A shell that starts them in the background has it
# ignored, by them and by their children, unless it is asked for again.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def nothing_leaves(monkeypatch):
    """Set `nothing_leaves["most"]`: from then on, longer tensors must not become arrays."""
    torch = pytest.importorskip("torch")
    length = {"most": np.inf}

    def guarded(name):
        made = getattr(torch.Tensor, name)

        def copy(self, *args, **kwargs):
            assert self.numel() <= length["most"], f"`{name}` of {self.numel()} numbers"
            return made(self, *args, **kwargs)

        return copy

    for name in ("cpu", "numpy", "tolist", "__array__"):
        monkeypatch.setattr(torch.Tensor, name, guarded(name))
    return length
