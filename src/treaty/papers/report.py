"""The report: one page that needs nothing else, with every figure and every verdict."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from treaty.papers.claim import Claim
from treaty.papers.experiment import NAMES
from treaty.papers.figure import Figure
from treaty.papers.reproduction import Forecasts, Reproduction

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; margin: 2rem auto; max-width: 70rem;
       padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.2rem; margin-top: 3rem; border-top: 1px solid #ccc;
     padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid #ddd; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
img { max-width: 100%; height: auto; }
.verdict { white-space: nowrap; font-weight: 600; }
.holds { color: #1b7837; } .part { color: #9a6700; } .not { color: #b2182b; }
.rows { background: #f3f3f3; padding: 0.3rem 0.6rem; display: inline-block; }
.settings { color: #555; font-size: 0.85rem; }
"""

_HOW_TO_READ = """
<p>ψ is how much worse a model is than the best one of everybody's records without privacy, relative
to it: 0 is the best, and lower is better. Every figure is drawn twice.</p>
<ul>
<li><b>As published</b>: Laplace noise of scale 2ΞT/(n_i ε_i). The papers give no number for Ξ, nor for
the step sizes c₁ and ρ. Here Ξ is the largest gradient found among the private rows, at the public
rows' model: that is not private, and gradients on the way there can be larger; with it the one
constant they print (F4) comes out alike. The step size is the one that does best on public rows, over
all budgets. Ours, too, are: the principal components are whitened and cut at the 98% quantile of the
public rows' ℓ₁ norm (the cards' at the median), the regression has an intercept, θ_max, the n_i and ε_i
between those the papers name, and for hospitals the columns: age, gender, admission, disposition,
payment and emergency, where the paper also has diagnosis, procedure and others.</li>
<li><b>Corrected noise</b>: Ξ comes from public rows, by clipping every record's gradient, and each
owner's noise is made for the answers it gives at most (T − 1, or ⌈T/N⌉ where one owner talks at a
time), which it enforces. ψ is still that of the unclipped problem, so what clipping costs is visible.
The effect of clipping is estimated on 2,000 rows, around a model at which it is exact. The hinge loss
bounds its gradient by itself, so for W's support vector machine there is next to nothing to
correct.</li>
<li><b>Forecast</b> (stars, or in brackets): what the same plan was expected to give from the public
rows alone, before any training; bars are meant to be 90% intervals. How many of them hold what was
measured is told below the claims.</li>
</ul>
<p>θ* comes from an exact solver. A verdict is computed: a claim <i>holds</i> if all its parts do as
drawn, and the claim does under at least half of the other choices of step size (a quarter to four
times) and of Ξ (its supremum over all models); it <i>does not hold</i> if no part does, under no
choice; else it <i>holds in part</i>.</p>
"""
_COLOURS = {"holds": "holds", "holds in part": "part", "does not hold": "not"}


def write_report(
    made: Reproduction, pictures: Mapping[str, Path], rows: Sequence[str], path: Path
) -> None:
    """Write the report.

    Args:
        made: the figures and claims.
        pictures: a PNG for every figure, by its key.
        rows: which rows it was made on, a sentence for each study.
        path: where.
    """
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>Both papers once more</title><style>{_STYLE}</style></head><body>",
        "<h1>Both papers once more: every figure and every claim</h1>",
        "<p>W: Wu, Farokhi, Smith, Kaafar, <i>The Value of Collaboration in Convex Machine "
        "Learning with Differential Privacy</i>. F: Farokhi, Wu, Smith, Kaafar, <i>The Cost of "
        "Privacy in Asynchronous Differentially-Private Machine Learning</i>.</p>",
        "".join(f"<p class='rows'>{escape(told)}</p><br>" for told in rows),
        _HOW_TO_READ,
        f"<h2 id='claims'>{_summary(made.claims)}</h2>",
        _claims(made.claims, linked=True),
        "<h2>How the forecasts did</h2>",
        _forecasts(made.forecasts),
        *(_figure(figure, pictures[figure.key]) for figure in made.figures),
        "</body></html>\n",
    ]
    path.write_text("\n".join(parts), encoding="utf8")


def _summary(claims: Sequence[Claim]) -> str:
    count = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in _COLOURS}
    return (
        f"{len(claims)} claims: {count['holds']} hold, {count['holds in part']} in part, "
        f"{count['does not hold']} do not"
    )


def _claims(claims: Sequence[Claim], *, linked: bool) -> str:
    rows: list[str] = []
    for claim in claims:
        where = f"<td><a href='#{claim.figure}'>{claim.figure}</a></td>" if linked else ""
        detail = "" if linked else f"<br>{escape(claim.detail)}"
        rows.append(
            f"<tr>{where}<td>{escape(claim.statement)}</td>"
            f"<td class='verdict {_COLOURS[claim.verdict]}'>{claim.verdict}</td>"
            f"<td class='number'>{claim.number:.4g}</td>"
            f"<td class='verdict {_COLOURS.get(claim.corrected or '', '')}'>"
            f"{claim.corrected or '–'}</td>"
            f"<td>{escape(claim.measures)}{detail}</td></tr>"
        )
    head = "<th>figure</th>" if linked else ""
    return (
        f"<table><tr>{head}<th>the paper says</th><th>as published it</th><th>number</th>"
        "<th>with corrected noise it</th>"
        f"<th>what the number is</th></tr>{''.join(rows)}</table>"
    )


def _forecasts(groups: Sequence[Forecasts]) -> str:
    rows = "".join(
        f"<tr><td>{group.setting}</td><td>{NAMES[group.noise]}</td>"
        f"<td class='number'>{group.trials}</td><td class='number'>{group.inside:.0%}</td>"
        f"<td class='number'>{group.ratio:.3g}</td></tr>"
        for group in groups
    )
    return (
        "<p>From the last rows of the file alone; where these differ from the others, or hold too few "
        "frauds, the forecast is one of another collaboration. Nor do they say which bank has which "
        "part of a file: forecasts take banks to differ by chance alone. Where there is little noise "
        "and one bank at a time is asked, what is measured is then above the forecast.</p>"
        "<table><tr><th>setting</th><th>noise</th><th>trials</th><th>inside the 90% interval</th>"
        f"<th>forecast over measured, median</th></tr>{rows}</table>"
    )


def _figure(figure: Figure, picture: Path) -> str:
    image = base64.b64encode(picture.read_bytes()).decode()
    settings = "".join(f"<li>{escape(line)}</li>" for line in figure.settings)
    return (
        f"<h2 id='{figure.key}'>{figure.key}. {escape(figure.title)}</h2>"
        f"<p>The paper: {escape(figure.statement)}</p>"
        f"<p class='rows'>Data: {escape(figure.rows)}.</p>"
        f"<p><img alt='{escape(figure.title, quote=True)}' src='data:image/png;base64,{image}'></p>"
        f"{_claims(figure.claims, linked=False)}<ul class='settings'>{settings}</ul>"
    )
