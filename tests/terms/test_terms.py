import math
import tomllib

import numpy as np
import polars as pl
import pytest
import tomli_w

from treaty.errors import TreatyError
from treaty.records import open_source
from treaty.terms import (
    Treaty,
    canonical,
    dumps,
    encoder_of,
    fingerprint,
    fit,
    load,
    loads,
    plan_of,
)
from treaty.terms.lines import line_of, lines_of
from treaty.terms.reading import check_settled

TEXT = """
version = 1
title = "two banks"

[features.income]
kind = "number"
bounds = [0, 100]
[features.grade]
kind = "ordinal"
categories = ["A", "B", "C"]

[target]
column = "rate"
bounds = [0, 30]

[loss]
name = "squared"
theta_max = 2
ridge = 1e-5

[training]
method = "one-at-a-time"
horizon = 50

[[parties]]
name = "b"
records = 200
epsilon = 1
[[parties]]
name = "a"
records = 100
epsilon = 0.5
answers = 30
rate = 2.0
away = [[1, 2]]
"""


def _changed(**changes: str) -> str:
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def test_round_trip_through_toml():
    first = loads(TEXT)
    again = loads(dumps(first))
    assert again == first
    assert fingerprint(again) == fingerprint(first)


def test_layout_comments_order_and_spelled_out_defaults_mean_nothing():
    plain = fingerprint(loads(TEXT))
    comment = TEXT.replace("[target]", "# a remark\n\n[target]   # another")
    head, *parties = TEXT.split("[[parties]]")
    reordered = head + "".join("[[parties]]" + p for p in reversed(parties))
    data = tomllib.loads(TEXT)
    data["features"] = dict(reversed(list(data["features"].items())))
    spelled = TEXT.replace("horizon = 50", 'horizon = 50\nmechanism = "laplace"\noverlap = 1')
    floats = TEXT.replace("epsilon = 1\n", "epsilon = 1.0\n").replace("[0, 30]", "[-0.0, 3e1]")
    for same in (comment, reordered, tomli_w.dumps(data), spelled, floats):
        assert fingerprint(loads(same)) == plain


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("two banks", "three banks"),
        ("[0, 100]", "[0, 101]"),
        ('["A", "B", "C"]', '["B", "A", "C"]'),
        ("features.income", "features.salary"),
        ("[0, 30]", "[0, 31]"),
        ("theta_max = 2", "theta_max = 2.5"),
        ("1e-5", "2e-5"),
        ("horizon = 50", "horizon = 51"),
        ("horizon = 50", 'horizon = 50\nweights = "precision"'),
        ("horizon = 50", "horizon = 50\n[training.parameters]\nrho = 1.0"),
        ("epsilon = 0.5", "epsilon = 0.50001"),
        ("records = 200", "records = 201"),
        ("rate = 2.0", "rate = 2.5"),
        ("[[1, 2]]", "[[1, 3]]"),
        ("answers = 30\n", ""),
        ("theta_max = 2", 'theta_max = 2\nclip = 1.0\nclip_norm = "l2"'),
        ("[loss]", "[dictionary]\nintercept = 2.0\n[loss]"),
    ],
)
def test_every_change_of_meaning_changes_the_fingerprint(old, new):
    assert fingerprint(loads(_changed(**{old: new}))) != fingerprint(loads(TEXT))


def test_the_fitted_dictionary_is_part_of_the_fingerprint(tmp_path):
    text = TEXT.replace("[loss]", '[dictionary]\nstandardise = "public"\n[loss]')
    random = np.random.default_rng(0)
    prints = set()
    for scale in (10, 20):
        public = tmp_path / f"{scale}.csv"
        pl.DataFrame(
            {
                "income": scale * random.random(30),
                "grade": random.choice(["A", "B"], 30),
                "rate": 30 * random.random(30),
            }
        ).write_csv(public)
        fitted = fit(loads(text), open_source(public))
        assert loads(dumps(fitted)) == fitted
        prints.add(fingerprint(fitted))
    assert len(prints) == 2
    assert fingerprint(loads(text)) not in prints


@pytest.mark.parametrize(
    "terms",
    [
        'standardise = "public"',
        'standardise = "public"\ncomponents = 2\nwhiten = true',
        'standardise = "frequency"',
        'standardise = "frequency"\nwhiten = true',
        "radius_quantile = 0.9",
        "fourier = {features = 4}",
    ],
)
@pytest.mark.parametrize("kind", ["ordinal", "one-hot"])
def test_every_fitted_dictionary_can_be_written_and_read(terms, kind):
    text = TEXT.replace("[loss]", f"[dictionary]\n{terms}\n[loss]").replace("ordinal", kind)
    text = text.replace("[target]", '[features.age]\nkind = "number"\nbounds = [0, 1]\n[target]')
    random = np.random.default_rng(0)
    rows = {name: random.random(30) for name in ("income", "age", "rate")}
    fitted = fit(loads(text), pl.DataFrame({**rows, "grade": random.choice(["A", "B", "C"], 30)}))
    assert loads(dumps(fitted)) == fitted
    assert fitted.fitted is not None
    if fitted.fitted.directions is not None:
        more = (*fitted.fitted.directions, fitted.fitted.directions[0])
        forged = fitted.fitted.model_copy(update={"directions": more})
        with pytest.raises(TreatyError, match=r"is not what \[dictionary\] and training.axes say"):
            loads(dumps(fitted.model_copy(update={"fitted": forged})))


def test_a_dictionary_beside_the_treaty(tmp_path):
    path = tmp_path / "treaty.toml"
    inside = fit(loads(TEXT), None)
    assert inside.fitted is not None
    (tmp_path / "d.json").write_text(inside.fitted.model_dump_json())
    path.write_text(TEXT.replace("version = 1", 'version = 1\nfitted = "d.json"'))
    assert load(path) == inside
    assert fingerprint(load(path)) == fingerprint(inside)
    (tmp_path / "d.json").write_text("{")
    with pytest.raises(TreatyError, match=r"d.json: not valid JSON"):
        load(path)
    (tmp_path / "d.json").unlink()
    with pytest.raises(TreatyError, match=r"fitted names d.json, which cannot be read"):
        load(path)


def test_a_dictionary_of_other_columns_is_refused():
    fitted = fit(loads(TEXT), None)
    other = loads(_changed(**{"features.income": "features.wealth"}))
    with pytest.raises(TreatyError, match="is for other columns"):
        loads(dumps(fitted).replace("[features.income]", "[features.wealth]"))
    assert other != fitted


def test_a_dictionary_other_than_agreed_is_refused():
    """A party cannot slip in a smaller ball or intercept than the terms say."""
    fitted = fit(loads(TEXT), None)
    assert fitted.fitted is not None
    for change in ({"intercept": 0.5}, {"radius": 0.1}, {"norm": "l1"}):
        forged = fitted.fitted.model_copy(update=change)
        with pytest.raises(TreatyError, match=r"is not what \[dictionary\] and training.axes say"):
            loads(dumps(fitted.model_copy(update={"fitted": forged})))


ALONG = _changed(
    **{
        "theta_max = 2": "theta_max = 2\nclip = 1.0",
        '"one-at-a-time"\nhorizon = 50': '"blended-step"\nhorizon = 1\nstart = "tuned"\naxes = 2',
        "rate = 2.0\naway = [[1, 2]]": "",
    }
)
"""Owners asked along two axes of three."""


def _public_rows():
    random = np.random.default_rng(0)
    income, grade = 100 * random.random(60), random.choice(["A", "B", "C"], 60)
    rate = 5 + 0.2 * income + random.standard_normal(60)
    return pl.DataFrame({"income": income, "grade": grade, "rate": rate})


def test_axes_are_found_on_public_rows_and_then_part_of_the_treaty(tmp_path):
    settled = fit(loads(ALONG), _public_rows())
    assert settled.fitted is not None
    assert settled.fitted.axes is not None
    assert [len(axis) for axis in settled.fitted.axes] == [3, 3]
    assert loads(dumps(settled)) == settled
    plan = plan_of(settled)
    assert plan.releases[0].length == 2
    np.testing.assert_array_equal(plan.problem.axes, np.array(settled.fitted.axes).T)
    assert fit(settled, None) == settled
    turned = settled.fitted.model_copy(update={"axes": settled.fitted.axes[::-1]})
    other = settled.model_copy(update={"fitted": turned})
    assert fingerprint(other) != fingerprint(settled)


@pytest.mark.parametrize("change", [None, ((1.0, 0.0, 0.0),)])
def test_other_axes_than_agreed_are_refused(change):
    """A party cannot have more asked for, or less, than the terms say."""
    settled = fit(loads(ALONG), _public_rows())
    assert settled.fitted is not None
    forged = settled.fitted.model_copy(update={"axes": change})
    with pytest.raises(TreatyError, match=r"is not what \[dictionary\] and training.axes say"):
        loads(dumps(settled.model_copy(update={"fitted": forged})))


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        (((1.0, 0.0), (0.0, 1.0)), "axes need 3 numbers each"),
        (((1.0, 0.0, math.inf), (0.0, 1.0, 0.0)), "must be a finite number, not inf"),
        (((1e300, 0.0, 0.0), (0.0, 1.0, 0.0)), "a number of a dictionary"),
    ],
)
def test_axes_that_no_gradient_has_are_refused(axes, says):
    settled = fit(loads(ALONG), _public_rows())
    assert settled.fitted is not None
    forged = settled.fitted.model_copy(update={"axes": axes})
    with pytest.raises(TreatyError, match=says):
        loads(dumps(settled.model_copy(update={"fitted": forged})))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("axes = 2", "axes = 0", "training.axes: .* greater than or equal to 1"),
        ("axes = 2", "axes = 1.5", "training.axes: must be a whole number"),
        ("axes = 2", "axes = 3", "at most 2 axes make them fewer, not 3: leave axes out"),
        ("\nclip = 1.0", "", "have no bound unless they are clipped: set loss.clip"),
        ('start = "tuned"\n', "", 'training.axes: .* set start = "public" or "tuned"'),
        ('"blended-step"\nhorizon = 1', '"averaged-subgradient"\nhorizon = 3', "whole gradients"),
    ],
)
def test_axes_that_a_treaty_cannot_have_are_told(old, new, says):
    with pytest.raises(TreatyError, match=says):
        plan_of(fit(loads(ALONG.replace(old, new)), _public_rows()))


def test_without_public_rows_axes_are_not_found():
    with pytest.raises(TreatyError, match="axes are found on public rows: give some"):
        fit(loads(ALONG), None)
    with pytest.raises(TreatyError, match="treaty fit"):
        check_settled(loads(ALONG), "treaty.toml")


def test_treaties_without_axes_keep_the_fingerprints_they_were_ratified_under():
    assert "axes" not in canonical(fit(loads(TEXT), None))
    assert '"axes":2' in canonical(loads(ALONG))


def test_a_treaty_is_frozen():
    document = loads(TEXT)
    with pytest.raises(Exception, match="frozen"):
        document.title = "other"


def test_the_canonical_form_holds_every_field():
    text = canonical(loads(TEXT))
    for field in Treaty.model_fields:
        assert f'"{field}"' in text


def test_what_a_treaty_means():
    plan = plan_of(fit(loads(TEXT), None))
    assert [p.name for p in plan.parties] == ["a", "b"]
    assert plan.parties[0].answers == 30
    assert plan.parties[0].away == ((1.0, 2.0),)
    assert plan.problem.dimension == 3
    assert plan.problem.intercept == 2
    assert plan.problem.domain.l1 == pytest.approx(3.0)
    # Ξ = 2(θ_max‖x‖₁ + 1)‖x‖₁ = 2·(2·3 + 1)·3
    assert plan.problem.gradient_bound("l1") == pytest.approx(42.0)


def test_infinite_epsilon_and_theta_max_survive():
    text = _changed(**{"epsilon = 1\n": "epsilon = inf\n", "theta_max = 2": "theta_max = inf"})
    document = loads(text)
    assert math.isinf(document.parties[1].epsilon)
    assert loads(dumps(document)) == document
    assert fingerprint(document) != fingerprint(loads(TEXT))


BAD = {
    "not toml": (TEXT + "\n[[", "not valid TOML"),
    "newer version": (
        _changed(**{"version = 1": "version = 2"}),
        "of version 2, and this program understands versions up to 1",
    ),
    "no version": (_changed(**{"version = 1": ""}), "version is missing"),
    "epsilon zero": (
        _changed(**{"epsilon = 0.5": "epsilon = 0"}),
        "parties.2: epsilon must lie between 1e-06 and .* not 0",
    ),
    "epsilon negative": (_changed(**{"epsilon = 0.5": "epsilon = -1"}), "epsilon must lie between"),
    "horizon zero": (
        _changed(**{"horizon = 50": "horizon = 0"}),
        "training.horizon: .*between 1 and",
    ),
    "bounds reversed": (
        _changed(**{"[0, 100]": "[100, 0]"}),
        "features.income.bounds: the lower bound 100 must be below the upper bound 0",
    ),
    "target bounds reversed": (_changed(**{"[0, 30]": "[30, 0]"}), "target: the lower bound 30"),
    "same names": (_changed(**{'name = "b"': 'name = "a"'}), "parties: two parties are called a"),
    "too many components": (
        TEXT.replace("[loss]", "[dictionary]\ncomponents = 3\n[loss]"),
        "3 components cannot come out of 2 columns",
    ),
    "unknown field": (
        _changed(**{"horizon = 50": "horizon = 50\nspeed = 9"}),
        "training.speed: is not a known key; there are method, horizon",
    ),
    "unknown kind": (
        _changed(**{'kind = "ordinal"': 'kind = "text"'}),
        "features.grade.kind: must be",
    ),
    "no kind": (_changed(**{'kind = "ordinal"\n': ""}), "features.grade.kind: must be"),
    "missing field": (_changed(**{'column = "rate"\n': ""}), "target.column: is missing"),
    "text for a number": (
        _changed(**{"records = 200": 'records = "many"'}),
        "parties.1.records: .*not 'many'",
    ),
    "no parties": ("parties = []" + TEXT.split("[[parties]]")[0], "line 1: parties: "),
    "target is a feature": (
        _changed(**{'column = "rate"': 'column = "income"'}),
        'column "income" is a feature and the target',
    ),
    "delta one": (_changed(**{"epsilon = 0.5": "epsilon = 0.5\ndelta = 1"}), "delta must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_treaties_get_one_sentence_that_names_the_field(case):
    text, says = BAD[case]
    with pytest.raises(TreatyError, match=says) as caught:
        loads(text)
    assert "\n" not in str(caught.value)


def test_everything_that_is_wrong_is_told_at_once_with_lines_and_the_nearest_names():
    text = _changed(
        **{
            "bounds = [0, 100]": "bouns = [0, 100]",
            'kind = "ordinal"': 'kind = "ordnal"',
            "horizon = 50": 'horizon = 0\nweights = "record"',
            "epsilon = 0.5": "epsilon = 0",
        }
    )
    with pytest.raises(TreatyError) as caught:
        loads(text)
    assert str(caught.value).splitlines() == [
        "the treaty: 5 things are wrong:",
        '  line 7: features.income.bouns: is not a known key (did you mean "bounds"?); there are '
        "kind, bounds, log1p, missing, texts, words",
        '  line 9: features.grade.kind: must be one of "number", "hats", "one-hot", "ordinal", "date" '
        '(did you mean "ordinal"?)',
        "  line 23: training.horizon: the horizon must lie between 1 and 1,000,000,000, not 0",
        '  line 24: training.weights: must be "records" or "precision", not \'record\' (did you mean '
        '"records"?)',
        "  line 30: parties.2: epsilon must lie between 1e-06 and 1e+06 (or be inf), not 0",
    ]


def test_names_that_nothing_has_are_told_with_those_that_are_nearest():
    text = _changed(**{"one-at-a-time": "one-at-time", '"squared"': '"sqared"'})
    with pytest.raises(TreatyError, match="2 things are wrong") as caught:
        loads(text)
    assert 'line 17: loss.name: no loss is called "sqared" (did you mean "squared"?)' in str(
        caught.value
    )
    assert 'line 22: training.method: no method is called "one-at-time"' in str(caught.value)


def test_unknown_names_are_told_beside_wrong_values():
    text = _changed(**{"one-at-a-time": "one-at-time", "horizon = 50": "horizon = 0"})
    with pytest.raises(TreatyError, match="2 things are wrong") as caught:
        loads(text)
    assert 'training.method: no method is called "one-at-time"' in str(caught.value)


def test_lines_of_keys():
    text = 'a = 1\n["b c"]\nd.e = 2\n[[f]]\ng = 1\n[[f]]\n  g = 2 # h = 3\n[x.y]\nz = 1'
    assert lines_of(text) == {
        ("a",): 1, ("b c",): 2, ("b c", "d", "e"): 3, ("f", 0): 4, ("f", 0, "g"): 5, ("f", 1): 6,
        ("f", 1, "g"): 7, ("x", "y"): 8, ("x", "y", "z"): 9,
    }  # fmt: skip
    assert line_of(lines_of(text), ("f", 1, "missing")) == 6
    assert line_of(lines_of(text), ("x",)) == 8
    assert line_of(lines_of(text), ("nothing",)) is None


MEANINGLESS = {
    "unknown method": ("one-at-a-time", "sgd", 'no method is called "sgd"'),
    "unknown loss": ('name = "squared"', 'name = "cubed"', 'no loss is called "cubed"'),
    "unknown mechanism": (
        "horizon = 50",
        'horizon = 50\nmechanism = "magic"',
        'no mechanism is called "magic"',
    ),
    "no bound": ("theta_max = 2", "", "give a finite theta_max, or clip the gradient"),
    "no ridge": ("ridge = 1e-5", "", "needs a strongly convex regulariser"),
    "gaussian without delta": (
        "horizon = 50",
        'horizon = 50\nmechanism = "gaussian"',
        "needs a delta",
    ),
    "labels wanted": ('name = "squared"', 'name = "hinge"', "learns labels"),
    "numbers wanted": ("bounds = [0, 30]", "", "learns numbers: give their bounds"),
    "clocks of a synchronous method": (
        "one-at-a-time",
        "averaged-subgradient",
        "rate and away are for one-at-a-time",
    ),
}


@pytest.mark.parametrize("case", MEANINGLESS)
def test_treaties_that_parse_but_mean_nothing(case):
    old, new, says = MEANINGLESS[case]
    with pytest.raises(TreatyError, match=says):
        _ = plan_of(fit(loads(_changed(**{old: new})), None)).scales


def test_synchronous_owners_cannot_cap_below_the_rounds():
    text = TEXT.replace("one-at-a-time", "averaged-subgradient")
    text = text.replace("rate = 2.0\naway = [[1, 2]]", "")
    with pytest.raises(TreatyError, match="answers averaged-subgradient in every round, 49 times"):
        plan_of(fit(loads(text), None))


def test_an_unfitted_dictionary_is_asked_for():
    text = TEXT.replace("[loss]", '[dictionary]\nstandardise = "public"\n[loss]')
    with pytest.raises(TreatyError, match="has to be fitted on public rows"):
        fit(loads(text), None)
    with pytest.raises(TreatyError, match="has not been fitted yet"):
        encoder_of(loads(text))
