"""A biased, census-like population to try things on, of any size."""

from __future__ import annotations

import numpy as np

from equipoise import _check
from equipoise.datasets._columns import stack
from equipoise.datasets._dataset import Dataset

# Every number below is chosen so that the data look like those of a census; none is taken from one.
RACES = ("white", "black", "asian", "other")
SHARE = (0.68, 0.17, 0.09, 0.06)  # of the rows, by race
SCHOOLING = (0.0, -0.9, 0.6, -1.2)  # years of education, by race
DISTRICT = (0.0, -0.35, 0.05, -0.25)  # log income of the district, by race
DIRECT = (0.0, -0.6, -0.1, -0.5)  # the label's own bias, by race

JOBS = ("clerical", "manager", "manual", "professional", "sales", "service", "technical")
LEAN = (0.2, 0.2, 0.7, -0.2, 0.2, 0.0, 0.1)  # appeal of a job to a man with 13 years of education
LEARNING = (0.05, 0.25, -0.30, 0.50, 0.0, -0.20, 0.30)  # more, per further year
FEMALE = (1.2, -0.7, -1.8, 0.1, 0.0, 0.9, -0.9)  # more, for a woman
PAY = (-0.3, 1.2, -0.1, 0.9, 0.1, -0.9, 0.7)  # in the label


def make_census(n: int = 10_000, seed: int = 0, *, include_sensitive: bool = False) -> Dataset:
    r"""Make a population whose labels (high income) are biased, directly and through other columns.

    Parameters
    ----------
    n : int
        Number of people.
    seed : int
        The same `n` and `seed` give the same people.
    include_sensitive : bool
        Put sex and race among the features too. By default they are not, and a classifier finds
        them all the same, in occupation, hours, experience and district.

    Returns
    -------
    Dataset
        Features of very different scale: age, education (years), hours (a week), experience
        (years), capital gain (0 for most, else heavy-tailed), district income, married, and seven
        occupations one-hot. Groups: sex, ``"female"`` and ``"male"``. Attributes: ``"sex"``,
        ``"race"`` and ``"merit"``, the probability of a high income without the direct bias. No
        split, see `Dataset.divide`.

    Notes
    -----
    With :math:`f` = 1 for women (45 %), race :math:`r` of shares 0.68, 0.17, 0.09, 0.06, all noises
    independent and :math:`\sigma(t) = 1 / (1 + e^{-t})`::

        age         = floor(17 + 63 Beta(1.6, 2.6))
        education   = round(13 + SCHOOLING[r] + 2.6 N(0,1)), in 4 .. 20
        occupation  = argmax_j LEAN_j + LEARNING_j (education - 13) + FEMALE_j f + Gumbel
        hours       = round(43 - 6 f + 9 N(0,1)), in 5 .. 99
        experience  = max(0, age - education - 6 - f Gamma(1.5, 3))
        married     = Bernoulli(sigma((age - 32) / 9 - 0.4 f))
        capital     = Bernoulli(sigma(-3.2 + 0.2 (education - 13))) * LogNormal(8.3, 1.1)
        district    = LogNormal(10.9 + DISTRICT[r] + 0.03 (education - 13), 0.25)

        merit_logit = -2.8 + 0.35 (education - 13) + PAY[occupation] + 0.08 (hours - 40)
                      + 0.11 experience - 0.0016 experience^2 + 0.7 married
                      + 1.2 min(capital, 30000) / 10000 + 1.0 (log district - 10.9)
        y           = Bernoulli(sigma(merit_logit - 0.8 f + DIRECT[r]))

    The last two terms of `y` are the direct bias; occupation, hours, experience and district carry
    the indirect one. About 28 % have the label 1 (15 % of women, 38 % of men). A logistic
    regression on scaled features reaches an accuracy of about 0.82 and a demographic-parity gap
    between the sexes of about 0.20, or 0.25 with `include_sensitive`.
    """
    n = _check.count("make_census", "n", n, least=1)
    rng = np.random.default_rng(_check.count("make_census", "seed", seed))
    _check.flag("make_census", "include_sensitive", include_sensitive)
    female = rng.random(n) < 0.45
    race = rng.choice(len(RACES), size=n, p=SHARE)

    age = np.floor(17 + 63 * rng.beta(1.6, 2.6, n))
    education = np.round(13 + np.take(SCHOOLING, race) + 2.6 * rng.standard_normal(n)).clip(4, 20)
    years = education - 13
    appeal = np.array(LEAN) + np.outer(years, LEARNING) + np.outer(female, FEMALE)
    job = np.argmax(appeal + rng.gumbel(size=appeal.shape), axis=1)
    hours = np.round(43 - 6 * female + 9 * rng.standard_normal(n)).clip(5, 99)
    experience = np.maximum(0, age - education - 6 - female * rng.gamma(1.5, 3.0, n))
    married = rng.random(n) < _sigmoid((age - 32) / 9 - 0.4 * female)
    capital = np.where(
        rng.random(n) < _sigmoid(-3.2 + 0.2 * years), rng.lognormal(8.3, 1.1, n), 0.0
    )
    district = rng.lognormal(10.9 + np.take(DISTRICT, race) + 0.03 * years, 0.25)

    merit_logit = (
        -2.8
        + 0.35 * years
        + np.take(PAY, job)
        + 0.08 * (hours - 40)
        + 0.11 * experience
        - 0.0016 * experience**2
        + 0.7 * married
        + 1.2 * np.minimum(capital, 30_000) / 10_000
        + 1.0 * (np.log(district) - 10.9)
    )
    chance = _sigmoid(merit_logit - 0.8 * female + np.take(DIRECT, race))
    y = (rng.random(n) < chance).astype(np.int64)

    blocks = {
        "age": age,
        "education": education,
        "hours": hours,
        "experience": experience,
        "capital gain": capital,
        "district income": district,
        "married": married.astype(float),
    }
    blocks |= {f"occupation={name}": (job == j).astype(float) for j, name in enumerate(JOBS)}
    if include_sensitive:
        blocks["sex=male"] = (~female).astype(float)
        blocks |= {f"race={name}": (race == j).astype(float) for j, name in enumerate(RACES)}
    X, names = stack(blocks)
    sex = np.where(female, "female", "male")
    return Dataset(
        name="census",
        X=X,
        y=y,
        groups=sex,
        attributes={
            "sex": sex,
            "race": np.array(RACES)[race],
            "merit": _sigmoid(merit_logit),
        },
        feature_names=names,
        target_names=("low income", "high income"),
        note="Synthetic.",
    )


def _sigmoid(t: np.ndarray) -> np.ndarray:
    return 0.5 * (1.0 + np.tanh(0.5 * t))  # never overflows
