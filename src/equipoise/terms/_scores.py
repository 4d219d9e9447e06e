"""Scores: an array of model scores with everything that one exponential gives."""

from __future__ import annotations

from functools import cached_property

from equipoise._array import Array, is_tensor, namespace


class Scores:
    """Scores `s` with sigmoid, softplus and their derivatives from one exponential per score.

    All come from ``exp(-|s|)``, which never overflows; it is computed when first needed, and shared
    with the views that `margins` makes, so losses of ``+s`` and ``-s`` and rates of ``s`` cost one
    exponential together. Only the exponential is kept. Tensors have functions of their own, which
    are faster, and keep the scores instead.

    Parameters
    ----------
    s : array
        Floating-point scores of any shape, NumPy or an array-API tensor; the dtype is kept.

    Examples
    --------
    >>> import numpy as np
    >>> Scores(np.array([-1e4, 0.0, 1e4])).sigmoid
    array([0. , 0.5, 1. ])
    """

    def __init__(
        self, s: Array, even: _Even | None = None, factor: float = 1.0, sign: Array | None = None
    ) -> None:
        self._plain, self._factor, self._sign = s, factor, sign  # products are not kept
        self._even = even if even is not None else _Even(s, factor)
        self._sharpened: dict[float, Scores] = {}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the scores."""
        return tuple(self._plain.shape)

    @property
    def s(self) -> Array:
        """The scores."""
        return self._kept if is_tensor(self._plain) else self._product()

    @cached_property
    def _kept(self) -> Array:
        """The scores of a tensor, which are kept: an accelerator has the memory, and waits for it."""
        return self._product()

    def _product(self) -> Array:
        return self._signed if self._factor == 1.0 else self._factor * self._signed

    @property
    def _signed(self) -> Array:
        """The scores but for a positive factor."""
        return self._plain if self._sign is None else self._sign * self._plain

    @classmethod
    def of(cls, scores: Array | Scores) -> Scores:
        """Return `scores` itself if it is a `Scores`, else a new one."""
        return scores if isinstance(scores, cls) else cls(scores)

    def margins(self, sign: Array) -> Scores:
        """Return ``sign * s`` with signs of 1 and -1; the exponential is shared."""
        sign = sign if self._sign is None else sign * self._sign
        return Scores(self._plain, self._even, self._factor, sign)

    def sharpened(self, k: float) -> Scores:
        """Return ``k * s``; kept, so that every term of one sharpness shares it."""
        if k == 1.0:
            return self
        if k not in self._sharpened:
            self._sharpened[k] = Scores(self._plain, None, k * self._factor, self._sign)
        return self._sharpened[k]

    @property
    def sigmoid(self) -> Array:
        """``1 / (1 + exp(-s))``, accurate in both tails."""
        if is_tensor(self._plain):  # which has a function for it
            return namespace(self._plain).sigmoid(self.s)
        return _numerator(self._signed >= 0, self._even.decay) * self._even.larger

    @property
    def complement(self) -> Array:
        """``1 - sigmoid(s) = sigmoid(-s)``, accurate in both tails."""
        if is_tensor(self._plain):
            return namespace(self._plain).sigmoid(-self.s)
        return _numerator(self._signed <= 0, self._even.decay) * self._even.larger

    @property
    def softplus_minus(self) -> Array:
        """``log(1 + exp(-s))``."""
        s = self.s
        xp = namespace(s)
        if is_tensor(s):
            return xp.logaddexp(xp.zeros((), dtype=s.dtype, device=s.device), -s)
        return self._even.log1p + xp.maximum(-s, xp.zeros_like(s))

    @property
    def variance(self) -> Array:
        """``sigmoid(s) * sigmoid(-s)``, the derivative of the sigmoid."""
        return self.sigmoid * self.complement if is_tensor(self._plain) else self._even.variance

    @property
    def positive(self) -> Array:
        """1 where ``s > 0``, else 0: the prediction that the sigmoid stands for."""
        return namespace(self._plain).astype(self._signed > 0, self._plain.dtype)


class _Even:
    """What is the same for ``s`` and ``-s``."""

    def __init__(self, s: Array, factor: float) -> None:
        self._plain, self._factor = s, factor

    @cached_property
    def decay(self) -> Array:
        """``exp(-|s|)``: the one exponential."""
        xp = namespace(self._plain)
        return xp.exp(-self._factor * xp.abs(self._plain))

    @property
    def larger(self) -> Array:
        """The larger one of ``sigmoid(s)`` and ``sigmoid(-s)``."""
        return 1.0 / (1.0 + self.decay)

    @property
    def variance(self) -> Array:
        larger = self.larger
        return self.decay * larger * larger

    @property
    def log1p(self) -> Array:
        return namespace(self.decay).log1p(self.decay)


def _numerator(side: Array, decay: Array) -> Array:
    """1 on `side`, ``exp(-|s|)`` elsewhere; a maximum is three times as fast as a `where`."""
    xp = namespace(decay)
    return xp.maximum(decay, xp.astype(side, decay.dtype))
