"""GroupBatchSampler: every row once in an epoch, every group in every batch, exact resumption."""

import numpy as np
import pytest
import torch

from equipoise._check import InputError
from equipoise.torch import GroupBatchSampler

RNG = np.random.default_rng(0)
Y, GROUP = RNG.integers(2, size=600), RNG.choice(["a", "b"], 600, p=[0.9, 0.1])


def test_a_data_loader_takes_every_row_once_in_another_order_each_epoch():
    rows = torch.utils.data.TensorDataset(torch.arange(600))
    sampler = GroupBatchSampler(Y, GROUP, 64)
    loader = torch.utils.data.DataLoader(rows, batch_sampler=sampler)
    first, second = ([batch.tolist() for (batch,) in loader] for _ in range(2))
    assert len(first) == len(loader) == len(sampler) == 9
    for epoch in (first, second):
        assert sorted(row for batch in epoch for row in batch) == list(range(600))
        for batch in epoch:
            assert np.mean(GROUP[batch] == "b") == pytest.approx(np.mean(GROUP == "b"), abs=0.04)
    assert first != second


def test_it_goes_on_in_the_midst_of_an_epoch():
    whole = GroupBatchSampler(Y, GROUP, 64, seed=1)
    expected = [rows for _ in range(2) for rows in whole]
    half = GroupBatchSampler(Y, GROUP, 64, seed=1)
    drawn = iter(half)
    found = [next(drawn) for _ in range(4)]
    again = GroupBatchSampler(Y, GROUP, 64, seed=1)
    again.load_state_dict(half.state_dict())
    found += [rows for _ in range(2) for rows in again]
    assert found == expected


@pytest.mark.parametrize("wrong", [None, {}, {"epoch": 0}, {"epoch": -1, "drawn": 0}])
def test_a_state_that_is_none_is_refused(wrong):
    with pytest.raises((InputError, TypeError), match="state_dict"):
        GroupBatchSampler(Y).load_state_dict(wrong)
