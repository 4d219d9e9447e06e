"""The algebra of rates: what is true of numbers is true of bound expressions."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.constraints import Each, Expression, bind, rate

from .examples import N, data

Y, GROUPS, SCORES = data()
OLD = np.random.default_rng(5).integers(0, 2, N)

numbers = st.floats(-3, 3, allow_nan=False).map(lambda v: round(v, 3))
rates = st.one_of(
    st.builds(
        rate,
        st.sampled_from(["positive", "negative", "error", "accuracy", "loss"]),
        st.sampled_from([None, "F", "M"]),
        st.sampled_from([None, 0, 1]),
        per=st.sampled_from([None, "group", "all"]),
    ),
    st.builds(
        rate,
        st.sampled_from(["true_positive", "false_negative", "false_positive", "true_negative"]),
        st.sampled_from([None, "X", "M"]),
    ),
    st.builds(rate, st.just("churn"), st.sampled_from([None, "F"]), reference=st.just(OLD)),
)
expressions = st.recursive(
    st.one_of(rates, rates.map(lambda r: r + 0.25)),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, c: c * a, inner, numbers),
    ),
    max_leaves=6,
)


def value(expression):
    """The bound value, soft and hard; as an objective, which may be any combination."""
    terms = bind([], Y, GROUPS, objective=expression).terms
    return np.array([terms.at(SCORES).values[0], terms.thresholded(SCORES)[0]])


@settings(max_examples=40, deadline=None)
@given(expressions, expressions, numbers)
def test_binding_is_linear(a, b, c):
    va, vb = value(a), value(b)
    np.testing.assert_allclose(value(a + b), va + vb, atol=1e-10)
    np.testing.assert_allclose(value(a - b), va - vb, atol=1e-10)
    np.testing.assert_allclose(value(c * a), c * va, atol=1e-10)
    np.testing.assert_allclose(value(a * c + b), c * va + vb, atol=1e-10)
    np.testing.assert_allclose(value(-a), -va, atol=1e-10)
    np.testing.assert_allclose(value(a + c), va + c, atol=1e-10)
    np.testing.assert_allclose(value(c - a), c - va, atol=1e-10)
    np.testing.assert_allclose(value(a / 4), va / 4, atol=1e-10)
    np.testing.assert_allclose(value((a + b) - b), va, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(rates, rates, numbers, st.floats(0.01, 2))
def test_comparisons_hold_where_the_numbers_do(a, b, c, d):
    a, b = a + d * rate("positive", "X", label=1), b * d
    va, vb = value(a)[0], value(b)[0]
    for constraint, expected in (
        (a <= c, va - c),
        (a >= c, c - va),
        (c <= a, c - va),
        (c >= a, va - c),
        (a <= b, va - vb),
        (a >= b, vb - va),
    ):
        binding = bind(constraint, Y, GROUPS)
        assert binding.terms.at(SCORES).values[1] == pytest.approx(expected, abs=1e-10)
    both = bind(abs(a - b) <= 0.1, Y, GROUPS).terms.at(SCORES).values[1:]
    assert max(both) == pytest.approx(abs(va - vb) - 0.1, abs=1e-10)


def test_complements_and_decompositions():
    for group in (None, "F"):
        one = value(rate("positive", group) + rate("negative", group))
        np.testing.assert_allclose(one, 1.0, atol=1e-12)
        hits = value(rate("true_positive", group) + rate("false_negative", group))
        np.testing.assert_allclose(hits, 1.0, atol=1e-12)
        parts = value(
            rate("false_positive", group, per="group") + rate("false_negative", group, per="group")
        )
        np.testing.assert_allclose(parts, value(rate("error", group)), atol=1e-12)
    joint = sum((rate("positive", g, per="all") for g in "FMX"), Expression(()))
    np.testing.assert_allclose(value(joint), value(rate("positive")), atol=1e-12)


def test_equal_rates_are_counted_once():
    binding = bind(
        [
            rate("true_positive", "F") >= 0.5,
            rate("false_negative", {"group": "F"}) <= 0.4,
            rate("positive", "F", label=1) >= 0.3,
            rate("churn", reference=OLD) <= 0.1,
            rate("churn", reference=OLD.copy()) <= 0.2,
            rate("churn", reference=1 - OLD) <= 0.2,
        ],
        Y,
        GROUPS,
    )
    assert [info.base for info in binding.rates] == ["loss", "positive", "churn", "churn"]
    info = binding.rates[1]
    assert (info.group, info.label, info.name) == ("F", 1, "positive [F, label 1]")
    assert info.rows == info.effective_rows == ((GROUPS == "F") & (Y == 1)).sum()


def test_words():
    four_fifths = rate("positive", group="F") >= 0.8 * rate("positive", group="M")
    assert repr(four_fifths) == "positive[F] - 0.8 positive[M] >= 0"
    assert repr(abs(rate("error", "F") - rate("error")) <= 0.05) == "|error[F] - error| <= 0.05"
    assert str(-rate("true_positive", label=None, per="all") - 2) == "-true positive per all - 2"
    assert str(rate("loss", {"sex": "F", "race": "b"})) == "loss[sex=F & race=b]"
    assert str(rate("positive", Each(), label="yes")) == "positive[each group, label yes]"
    assert str(Expression(())) == "0"
    assert repr((rate("positive") <= 0.5).named("quota")) == "quota: positive <= 0.5"
    binding = bind((rate("positive", Each()) <= 0.5).named("quota"), Y, GROUPS)
    assert binding.names == ("quota: F", "quota: M", "quota: X")
    binding = bind((abs(rate("positive", "F") - rate("positive")) <= 0.5).named("gap"), Y, GROUPS)
    assert binding.names == ("gap (at most 0.5)", "gap (at least -0.5)")


def test_numpy_numbers_work_from_both_sides():
    a, half = rate("positive"), np.float64(0.5)
    for expression in (half * a, a * half, half + a, a + half, half - a, a / half):
        assert isinstance(expression, Expression)
    assert (half <= a).sense == ">="
    assert (a <= np.float32(0.5)).bound == 0.5


def test_equal_terms_cancel():
    a, b = rate("positive", "F"), rate("positive", "M")
    assert (a + b - b).parts == a.parts
    with pytest.raises(TypeError, match="no rate is left"):
        _ = a <= a


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda a: 0.1 <= a <= 0.3, "a constraint has no truth value. Instead of `a <= rate <= b`"),
        (lambda a: a <= rate("error") <= 0.3, "a constraint has no truth value"),
        (lambda a: bool(a <= 0.1 and a >= 0.2), "a constraint has no truth value"),
        (lambda a: bool(a), "a rate has no truth value"),
        (lambda a: a == 0.5, "an equality is two constraints"),
        (lambda a: a != 0.5, "an equality is two constraints"),
        (lambda a: a < 0.5, "write <= or >="),
        (lambda a: a > 0.5, "write <= or >="),
        (lambda a: a * a, "a product of two rates is not linear"),
        (lambda a: a / "x", "divide by a number or by another rate"),
        (lambda a: a / a <= a, "compare a ratio with a number"),
        (lambda a: bool(a / a), "a ratio has no truth value"),
        (lambda a: (a + 1) / a >= 0.1, "the numerator of a ratio must hold rates only"),
        (lambda a: a <= "0.5", "compare with a number or another rate"),
        (lambda a: abs(a) >= 0.1, r"only abs\(a - b\) <= number"),
        (lambda a: abs(a) <= a, "compare an absolute value with a number"),
        (lambda a: abs(a - 0.5) <= 0.1, "must hold rates only"),
        (lambda a: a + "x", "unsupported operand"),
        (lambda a: a - "x", "unsupported operand"),
        (lambda a: a * np.ones(2), "does not support ufuncs"),
    ],
)
def test_misuse_of_the_algebra(act, message):
    with pytest.raises(TypeError, match=message):
        act(rate("positive"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rate("postive"), "rate: `kind` must be one of 'positive', 'negative'"),
        (lambda: rate("true_positive", label=1), "`label` must be left out: 'true_positive'"),
        (lambda: rate("churn"), "`reference` must hold predictions for 'churn'"),
        (lambda: rate("error", reference=[1]), "`reference` is only for 'churn'"),
        (lambda: rate("churn", reference=[[1]]), "`reference` must be a vector"),
        (lambda: rate("error", loss="hinge"), "`loss` is only for 'loss'"),
        (lambda: rate("loss", loss="huber"), "`loss` must be one of 'logistic'"),
        (lambda: rate("positive", per="row"), "`per` must be one of 'group', 'all'"),
        (lambda: rate("positive", group=["F"]), r"`group` must be one value"),
        (lambda: rate("positive", group={}), "`group` must name at least one column"),
        (lambda: rate("positive") * np.inf, "`number` must be finite"),
        (lambda: rate("positive") <= np.nan, "`number` must be finite"),
        (lambda: Each("sex", intersections=True), "`column` must be left out"),
        (lambda: Each(groups="FM"), "`groups` must be a sequence"),
    ],
)
def test_wrong_rates(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_division_by_zero():
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        rate("positive") / 0


def test_two_quantifiers_in_one_comparison():
    with pytest.raises(ValueError, match=r"`group` must use the same Each\(\)"):
        bind(rate("positive", Each()) <= rate("error", Each(groups=("F",))), Y, GROUPS)


def test_expressions_can_be_pickled_and_hashed():
    expression = rate("positive", "F") - 0.8 * rate("churn", reference=OLD)
    again = pickle.loads(pickle.dumps(expression))
    assert again.parts == expression.parts
    assert len({expression, again}) == 2
