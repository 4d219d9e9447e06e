"""What networks are judged by, and how their epoch is chosen."""

import torch

from benchmarks.networks.data import Rows
from benchmarks.networks.training import Found

ROWS = Rows(
    torch.zeros(8, 1),
    torch.tensor([1.0, 1, 0, 0, 1, 1, 0, 0]),
    torch.tensor([1, 1, 1, 1, 0, 0, 0, 0]),
)


def test_gaps_are_counted_over_all_rows_or_in_each_class():
    scores = torch.tensor([1.0, -1, -1, -1, 1, 1, -1, 1])  # women 1 of 4, men 3 of 4
    assert ROWS.gap(scores, odds=False) == 0.5
    assert ROWS.gap(scores, odds=True) == 0.5  # 1/2 and 1; 0 and 1/2
    assert ROWS.gap(torch.tensor([1.0, 1, -1, -1, -1, -1, 1, 1]), odds=False) == 0.0
    assert ROWS.gap(torch.tensor([1.0, 1, -1, -1, -1, -1, 1, 1]), odds=True) == 1.0
    assert ROWS.accuracy(scores) == 6 / 8


def test_the_epoch_is_the_most_accurate_within_the_bound_else_that_of_the_smallest_gap():
    kept, better, broken = (
        Found(0.04, 0.80, 0, 0), Found(0.05, 0.81, 0, 0), Found(0.06, 0.90, 0, 0),
    )  # fmt: skip
    assert max((kept, better, broken), key=lambda each: each.key(0.05)) is better
    assert max((kept, better, broken), key=lambda each: each.key(0.01)) is kept
