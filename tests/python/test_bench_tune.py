"""How `make bench-tune` tells how exactly seeds tell a front."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from bench_tune import SPLITS, bound_of, shares_between_halves

TRADE = np.array([[place / 10, (1 - place / 10) ** 2] for place in range(11)])


def test_seeds_that_agree_give_the_whole_front_again():
    costs = np.repeat(TRADE[:, None, :], 6, axis=1)
    shares = shares_between_halves(costs)
    assert len(shares) == SPLITS
    np.testing.assert_allclose(shares, 1)


def test_noise_of_seeds_loses_part_of_the_front():
    noise = np.random.default_rng(2).normal(0, 0.2, (*TRADE.shape[:1], 6, 2))
    shares = shares_between_halves(TRADE[:, None, :] + noise)
    assert max(shares) <= 1 + 1e-9
    assert np.median(shares) < 0.97


def test_bound_is_a_fiftieth_beyond_the_front():
    assert bound_of([(0.0, 1.0), (2.0, 0.5)]) == [2.04, 1.01]
