"""The report for people, programs and notebooks."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from equipoise import AUCClassifier, ConstrainedClassifier, auc_parity, demographic_parity, rate
from equipoise.datasets import make_census
from equipoise.estimators._fit import fit_two_classes
from equipoise.rows import Blocks, MemoryTable

DATA = make_census(1200, seed=5)
SEX = np.asarray(DATA.groups)
AGE = np.where(DATA.X[:, 0] > np.median(DATA.X[:, 0]), "old", "young")


class Cells(HTMLParser):
    """What a page shows: its tags, which must all be closed, and the texts between them."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts = [], set(), []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def fitted():
    rule = demographic_parity(0.1, intersections=True)
    groups = {"<b>sex</b>": SEX, "age": AGE}
    return ConstrainedClassifier(rule).fit(DATA.X, DATA.y, sensitive_features=groups)


def test_intersections_are_listed(fitted):
    lines = [line for line in fitted.report_.groups if line.column == "<b>sex</b> & age"]
    predicted = fitted.predict(DATA.X)
    assert sorted(line.group for line in lines) == sorted(
        f"<b>sex</b>={sex} & age={age}" for sex in ("female", "male") for age in ("old", "young")
    )
    for line in lines:
        own = (line.group.split("=")[1].split(" ")[0] == SEX) & (line.group.split("=")[2] == AGE)
        assert line.rows == own.sum()
        assert line.positive_rate == pytest.approx(predicted[own].mean())
        assert line.group in str(fitted.report_)
    names = {"<b>sex</b>", "age", "<b>sex</b> & age"}
    assert {line.column for line in fitted.report_.groups} == names


def test_intersections_of_rows_in_blocks():
    rule = demographic_parity(0.1, column=("sex", "age"))
    order = np.argsort(SEX, kind="stable")  # a block holds only some of the groups
    tables = [
        MemoryTable(
            DATA.y[part], DATA.X[part], {"sex": SEX[part], "age": AGE[part]}, classes=[0, 1]
        )
        for part in np.array_split(order, 2)
    ]
    model = ConstrainedClassifier(rule)
    fit_two_classes(model, model._task(), Blocks(tables))
    predicted = model.predict(DATA.X)
    lines = [line for line in model.report_.groups if line.column == "sex & age"]
    assert len(lines) == 4
    for line in lines:
        own = [f"sex={sex} & age={age}" == line.group for sex, age in zip(SEX, AGE)]
        assert line.rows == sum(own)
        assert line.positive_rate == pytest.approx(predicted[own].mean())


def test_plain_data_for_json(fitted):
    made = fitted.report_.to_dict()
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert made["accuracy"] == fitted.report_.accuracy
    assert made["classes"] == [0, 1]
    assert [line["name"] for line in made["constraints"]] == [
        line.name for line in fitted.report_.constraints
    ]
    assert made["constraints"][0]["price"] == fitted.report_.constraints[0].price
    assert made["groups"][0]["interval"] == list(fitted.report_.groups[0].interval)


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_known_is_none():
    rules = [rate("positive") >= 0.9, rate("positive") <= 0.1]
    report = ConstrainedClassifier(rules).fit(DATA.X, DATA.y).report_
    assert any(np.isnan(line.multiplier) for line in report.constraints)
    made = report.to_dict()
    json.dumps(made, allow_nan=False)
    assert any(line["multiplier"] is None for line in made["constraints"])
    assert "<b>NO</b>" in report._repr_html_()


def test_the_page_of_a_notebook_is_escaped_and_whole(fitted):
    page = Cells(fitted.report_._repr_html_())
    assert page.tags == {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "<b>sex</b>" not in fitted.report_._repr_html_()
    for line in (*fitted.report_.constraints, *fitted.report_.groups):
        assert getattr(line, "name", None) in page.texts or line.group in page.texts
    assert fitted.report_.status in page.texts


def test_the_page_says_of_which_rows_it_speaks(fitted):
    assert fitted.report_.scope in Cells(fitted.report_._repr_html_()).texts
    model = ConstrainedClassifier(demographic_parity(0.3), confidence=0.9)
    report = model.fit(DATA.X, DATA.y, sensitive_features=SEX).report_
    texts = Cells(report._repr_html_()).texts
    assert report.promise.sentence in texts
    assert f"{report.promise.lines[0].held_out:.4f}" in texts
    assert texts.index("On the training rows:") > texts.index(report.promise.sentence)


def test_the_other_sides_of_pairs_are_not_counted_as_bounds_left_out():
    many = np.arange(len(DATA.y)) % 4
    model = ConstrainedClassifier(demographic_parity(0.9))
    report = model.fit(DATA.X, DATA.y, sensitive_features=many).report_
    assert len(report.constraints) == 12
    assert "0 more" not in str(report)
    assert "... and the other side of each (`to_frame` has all)" in str(report)


def test_a_report_of_ranks():
    model = AUCClassifier(auc_parity("inter", 0.1)).fit(DATA.X, DATA.y, sensitive_features=SEX)
    assert model.report_.to_dict()["ranking"][0] in Cells(model.report_._repr_html_()).texts[1]
