"""Pictures for a person who has not read the papers: units, names, and no word that is not defined."""

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import treaty as t
from treaty.advice import advice_of
from treaty.advice.picture import draw as draw_advice
from treaty.canvas import ErrorAxis
from treaty.forecasting import forecasts_of, outlook_on, with_owners
from treaty.forecasting.picture import draw as draw_forecast
from treaty.simulation.picture import draw_rounds
from treaty.terms import loads
from treaty.training import rivals_of

NAMES = ("North", "River", "Old")
COLUMNS = ("a", "b", "c")


def _text(method: str, horizon: int) -> str:
    return (
        'version = 1\ntitle = "three"\n'
        + "".join(f'[features.{c}]\nkind = "number"\nbounds = [-2, 2]\n' for c in COLUMNS)
        + '[target]\ncolumn = "y"\nbounds = [-10, 10]\nunit = "days"\nlabel = "stay"\n'
        '[dictionary]\nstandardise = "public"\nnorm = "l1"\n'
        '[loss]\nname = "squared"\nclip = 20.0\nridge = 1e-6\ntheta_max = 5.0\n'
        f'[training]\nmethod = "{method}"\nhorizon = {horizon}\nstart = "tuned"\n'
        + "".join(f'[[parties]]\nname = "{n}"\nrecords = 400\nepsilon = 1.0\n' for n in NAMES)
    )


def _rows(n: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    x = random.uniform(-2, 2, (n, 3))
    y = x @ [1.0, -1.0, 0.5] + random.standard_normal(n)
    who = np.array(NAMES)[np.arange(n) % 3]
    return pl.DataFrame({**dict(zip(COLUMNS, x.T, strict=True)), "y": y, "who": who})


@pytest.fixture
def drawn(monkeypatch) -> list[Figure]:
    """Figures instead of files."""
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: figures.append(self))
    return figures


def _words(figure: Figure) -> str:
    figure.draw_without_rendering()
    found: list[str] = []
    for axes in figure.axes:
        found += [axes.get_xlabel(), axes.get_ylabel(), axes.get_title(loc="left")]
        found += [text.get_text() for text in axes.get_yticklabels() + axes.get_xticklabels()]
        legend = axes.get_legend()
        found += [] if legend is None else [text.get_text() for text in legend.get_texts()]
    return "\n".join(found)


def test_a_forecast_names_owners_and_what_there_is_without(drawn, tmp_path):
    document, evidence = loads(_text("blended-step", 1)), t.Evidence(_rows(300, 0), by="who")
    outlook = outlook_on(document, evidence)
    *_, found = forecasts_of(outlook, precision=0.1)
    found = with_owners(found, document, evidence)
    draw_forecast(outlook, found, document.target, tmp_path / "a.png")
    words = _words(drawn[0])
    assert len(drawn[0].axes) == 2
    for said in (*NAMES, "days", "alone", "the public rows only", "a constant guess", "together"):
        assert said in words
    assert "ψ" not in words


def test_advice_names_owners_in_their_unit(drawn, tmp_path):
    document = loads(_text("blended-step", 1))
    outlook = outlook_on(document, t.Evidence(_rows(300, 0)))
    draw_advice(outlook, advice_of(outlook), document.target, tmp_path / "a.png")
    words = _words(drawn[0])
    for said in (*NAMES, "error, days", "ε of North", "without a coalition"):
        assert said in words
    assert "ψ" not in words


@pytest.mark.parametrize(("method", "horizon"), [("blended-step", 1), ("averaged-subgradient", 80)])
def test_no_line_leads_from_one_round_to_another(drawn, tmp_path, method, horizon):
    document = loads(_text(method, horizon))
    public, held = _rows(300, 0).drop("who"), _rows(1200, 1)
    assembly = t.assemble(document, t.sources(document, data=held, by="who"), public)
    result = t.simulate(assembly.plan, assembly.risks, runs=5, record="every")
    rivals = rivals_of(assembly, result.yardstick)
    draw_rounds(result, document.target, tmp_path / "a.png", rivals)
    axes = drawn[0].axes[0]
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) == len(result.rounds)]
    assert all(line.get_linestyle() == "None" or "steps" in line.get_drawstyle() for line in lines)
    words = _words(drawn[0])
    for said in ("after round", "days", *rivals, "all records in one place, no privacy"):
        assert said in words
    assert "ψ" not in words


def test_an_error_in_the_targets_unit():
    """A mean squared error of 0.64, in units of half the bounds (10 days), is 0.8 × 10 days."""
    target = loads(_text("blended-step", 1)).target
    axis = ErrorAxis(0.64, target, "squared")
    assert axis.of(0.0) == pytest.approx(8.0)
    assert axis.of(0.21) == pytest.approx(8.8)
    assert axis.label == "typical error of stay, days (root mean square)"
    assert ErrorAxis(0.64, target, "logistic").of(0.5) == pytest.approx(0.96)
