"""Pointwise functions: derivatives, values at 0, and the constants of ALGORITHMS 1.2."""

import numpy as np
import pytest

from equipoise.terms import (
    LOSSES,
    Hinge,
    Logistic,
    PairLoss,
    Scores,
    Sigmoid,
    SmoothedHinge,
    Squared,
    TruncatedLogistic,
    loss_of,
)

SMOOTH = [
    Logistic(),
    TruncatedLogistic(),
    TruncatedLogistic(0.5),
    Squared(),
    Squared(0.5, -2.0),
    Sigmoid(),
    Sigmoid(5.0),
    PairLoss(),
    PairLoss(3.0),
]
KINKED = [Hinge(), SmoothedHinge(), SmoothedHinge(2.0)]  # or with kinks in their slopes
ALL = [*SMOOTH, *KINKED]
every = pytest.mark.parametrize("function", ALL, ids=repr)
every_smooth = pytest.mark.parametrize("function", SMOOTH, ids=repr)


def difference(f, z, h=1e-5):
    """Central differences of fourth order."""
    near, far = f(z + h) - f(z - h), f(z + 2 * h) - f(z - 2 * h)
    return (8 * near - far) / (12 * h)


@every
def test_slope_agrees_with_differences(function, rng):
    z = rng.uniform(-6, 6, 300)
    for corner in (1.0, 0.9, -1.0):  # of the hinge, smoothed or not
        z = z[np.abs(z - corner) > 1e-3]
    expected = difference(lambda t: function.value(Scores(t)), z, 1e-4)
    slope = function.slope(Scores(z))
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-10)


@every_smooth
def test_curvature_agrees_with_differences(function, rng):
    z = rng.uniform(-6, 6, 300)
    expected = difference(lambda t: function.slope(Scores(t)), z, 1e-3)
    np.testing.assert_allclose(function.curvature(Scores(z)), expected, rtol=1e-6, atol=1e-9)


@every
def test_constants_bound_a_dense_grid_and_are_tight(function):
    z = Scores(np.concatenate((np.linspace(-60, 60, 600_001), [-1e6, 1e6])))
    if function.lipschitz is not None:
        largest = np.abs(function.slope(z)).max()
        assert largest <= function.lipschitz * (1 + 1e-12)
        assert largest >= function.lipschitz * (1 - 1e-6)
    least, greatest = function.curvatures
    curvature = function.curvature(z)
    if function.kink is not None:
        assert greatest == np.inf  # the slope jumps, between linear pieces
        greatest = 0.0
    assert least - 1e-12 <= curvature.min() <= least + 1e-6 * (1 + abs(least))
    assert greatest - 1e-6 * (1 + greatest) <= curvature.max() <= greatest + 1e-12


def test_constants_of_the_table():
    truncated = TruncatedLogistic()
    assert truncated.lipschitz == pytest.approx(0.443927, abs=1e-6)
    assert truncated.curvatures == pytest.approx((-0.0533128, 0.1464563), abs=1e-7)
    for alpha, rho in {0.5: 0.03641, 1: 0.04729, 4: 0.05165, 10: 0.03941}.items():
        assert -TruncatedLogistic(alpha).curvatures[0] == pytest.approx(rho, abs=1e-5)
    assert Sigmoid().curvatures[1] == pytest.approx(0.0962250, abs=1e-7)
    assert Sigmoid(3.0).lipschitz == 0.75
    assert Logistic().curvatures == (0.0, 0.25)


@pytest.mark.parametrize("alpha", [1e-3, 1e3, 1e6])
def test_truncation_constants_hold_for_extreme_alpha(alpha, rng):
    loss = TruncatedLogistic(alpha)
    z = Scores(np.concatenate([rng.uniform(-50, 50, 10_000), -np.logspace(0, 8, 10_000)]))
    assert np.abs(loss.slope(z)).max() <= loss.lipschitz * (1 + 1e-9)
    assert loss.curvature(z).min() >= loss.curvatures[0] * (1 + 1e-9)
    assert loss.curvature(z).max() <= loss.curvatures[1] * (1 + 1e-9)


def test_values_at_zero_and_known_points():
    zero = Scores(np.zeros(1))
    assert Logistic().value(zero) == pytest.approx(np.log(2))
    assert TruncatedLogistic().value(zero) == pytest.approx(2 * np.log1p(np.log(2) / 2))
    assert Sigmoid().value(zero) == PairLoss().value(zero) == 0.5
    assert Hinge().value(zero) == Squared().value(zero) == 1.0
    assert Hinge().slope(Scores(np.ones(1))) == 0.0


def test_large_alpha_gives_the_logistic_loss(rng):
    z = Scores(rng.normal(size=20))
    np.testing.assert_allclose(TruncatedLogistic(1e9).value(z), Logistic().value(z), rtol=1e-7)


def test_what_functions_stand_for():
    z = Scores(np.array([-2.0, 0.0, 3.0]))
    np.testing.assert_array_equal(Sigmoid(4.0).thresholded(z), [0, 0, 1])
    np.testing.assert_array_equal(PairLoss().thresholded(z), [1, 1, 0])
    np.testing.assert_array_equal(Logistic().thresholded(z), Logistic().value(z))


def test_sharper_sigmoids_approach_the_step(rng):
    z = Scores(rng.normal(size=50))
    gaps = [np.abs(Sigmoid(k).value(z) - Sigmoid().thresholded(z)).max() for k in (1.0, 10.0, 1e4)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert Sigmoid().sharpened(7.0) == Sigmoid(7.0)
    assert Logistic().sharpened(7.0) == Logistic()


@every
def test_float32_is_kept(function, rng):
    z = Scores(rng.normal(size=9).astype(np.float32))
    for array in (
        function.value(z),
        function.slope(z),
        function.curvature(z),
        function.thresholded(z),
    ):
        assert array.dtype == np.float32


def test_losses_by_name():
    missing = set(LOSSES.values()) - {type(function) for function in ALL}
    assert not missing, f"add an example to `SMOOTH` or `KINKED` here for {missing}"
    assert set(LOSSES) >= {"logistic", "truncated_logistic", "hinge", "squared"}
    assert loss_of("fit", "hinge") == Hinge()
    with pytest.raises(ValueError, match=r"fit: `loss` must be one of 'logistic', .*got 'log'"):
        loss_of("fit", "log")
    with pytest.raises(ValueError, match="`loss` must be a loss or the name of one, got 3"):
        loss_of("fit", 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TruncatedLogistic(0), "TruncatedLogistic: `alpha` must be positive"),
        (lambda: Sigmoid(-1), "Sigmoid: `sharpness` must be positive"),
        (lambda: PairLoss(np.inf), "PairLoss: `sharpness` must be positive"),
        (lambda: Squared(0), "Squared: `scale` must be positive"),
    ],
)
def test_wrong_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_slope_of_the_hinge_jumps_at_its_kink():
    kink, h = Hinge().kink, 1e-9
    slopes = Hinge().slope(Scores(np.array([kink.at - h, kink.at + h])))
    np.testing.assert_array_equal(slopes, [kink.left, kink.right])
    assert all(function.kink is None for function in SMOOTH)


@pytest.mark.parametrize("width", [2.0, 0.1, 1e-3])
def test_the_smoothed_hinge_is_convex_above_the_hinge_and_near_it(width, rng):
    z = np.sort(
        np.concatenate((rng.uniform(-4, 4, 500), 1 + width * rng.uniform(-1, 1, 501), [1.0]))
    )
    smooth, hinge = Hinge().smoothed(width), Hinge()
    gap = smooth.value(Scores(z)) - hinge.value(Scores(z))
    assert gap.min() >= -1e-15
    assert gap.max() == pytest.approx(width / 2)
    slope, curvature = smooth.slope(Scores(z)), smooth.curvature(Scores(z))
    assert (np.diff(slope) >= 0).all()
    assert -1.0 <= slope.min() < slope.max() <= 0.0
    assert curvature.max() == pytest.approx(0.5 / width)
    h = 1e-4 * width
    differences = (smooth.slope(Scores(z + h)) - smooth.slope(Scores(z - h))) / (2 * h)
    np.testing.assert_allclose(curvature, differences, atol=1e-6 / width)


def test_a_smooth_function_is_its_own_smoothed_one():
    assert Logistic().smoothed(0.1) == Logistic()
    with pytest.raises(
        ValueError, match="SmoothedHinge: `width` must be positive and finite, got 0"
    ):
        Hinge().smoothed(0.0)
