"""What a plan's privacy costs, against the papers' algorithms at the same ε, owners and columns.

    python -m bench.cost_of_privacy [SEED] [CASE ...]

A plan sees the public rows alone; all is measured on the owners' records. Excess: f(θ) − f(θ*), mean
over trainings, with f the mean squared error in the target's unit, not clamped, or log loss; f(θ*) is
the least that any model reaches which is linear in the columns, or in the columns as the plans for that
ε write them.
For fraud f is the hinge loss and g. A plan that says that training does not pay is the public model.

`ratios[case][epsilon]`: excess of the best of W-1, W-2 (T = 100) and F-1 (T = 1,000) over the plan's,
with 5,000 public rows; their steps are tuned on these very records. `ratios_1000`: with 1,000 public
rows. `ratios_tuned`: with their horizons tuned on these very records as well. `ratios_standardised`:
with columns standardised on public rows, which the papers do not do. `over_public`: the plan's excess
over that of the public model. `basis_gain`: excess with whitened columns over the plan's, ε = 1, where
there are categories. `delta_gain`: excess of the pure plan over that with δ = 1e-6. `curator`: excess
over that of one trusted curator with the same levers, ε = 1. `peer_ratio`: excess of diffprivlib's
linear or logistic regression, given all rows in one place, over the plan's, ε = 1. `plan_seconds`: for
10 owners and 30 columns; `plan_seconds_1000`: for 1,000 owners.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from bench.consortium import rows as generated
from bench.paper_rivals import Papers
from bench.peer_models import peer_error
from bench.privacy_cases import CASES, Case
from bench.report import finish
from treaty.fitness import RowRisk
from treaty.records import FrameSource
from treaty.settings.expecting import Judge
from treaty.settings.levers import Basis
from treaty.settings.planning import Candidate, Limits, planned
from treaty.settings.rivals import under_a_curator
from treaty.simulation import simulated_models
from treaty.terms import Treaty, encoder_of, loads, plan_of
from treaty.terms.draft import draft as drafted

EPSILONS = (0.1, 1.0, 10.0)
RUNS = 20
DELTA = 1e-6


class Plans:
    """Plans of one case, trained on the owners' records with simulated noise.

    Args:
        case: the case.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._judge = Judge(
            FrameSource(case.public), [*case.treaty.features, case.treaty.target.column]
        )
        self.lowest = case.lowest
        """The least f that any model reaches, of the columns as they are or as plans write them."""

    def found(self, draft: Treaty, *, delta: float = 0.0) -> Candidate:
        """Return the plan."""
        limits = Limits(delta, keep=frozenset(self._case.keep))
        *_, best = planned(draft, self._judge, limits)
        return best

    def followed(self, plan: Candidate) -> tuple[float, float]:
        """Return f of whoever follows a plan, and of the public model."""
        trained, public = self.trained(plan.treaty)
        return trained if plan.pays else public, public

    def trained(self, treaty: Treaty) -> tuple[float, float]:
        """Return the mean f of trainings, and that of the public model."""
        settled, surveyed = self._judge.in_place(treaty), self._judge.surveyed(treaty)
        encoder, ready = encoder_of(settled), plan_of(settled).informed_by(surveyed)
        owners: Mapping[str, pl.DataFrame] = self._case.owners
        if len(treaty.parties) == 1:
            owners = {treaty.parties[0].name: self._case.rows}
        risks = {
            name: encoder.risk(ready.problem.loss, FrameSource(frame))[0]
            for name, frame in owners.items()
        }
        risks = {
            name: risk.in_single_precision() if isinstance(risk, RowRisk) else risk
            for name, risk in risks.items()
        }
        models = simulated_models(ready, risks, runs=RUNS, seed=1)
        public = surveyed.model("public" if treaty.training.start == "public" else "tuned").theta
        self.lowest = min(self.lowest, self._case.best(settled))
        return (
            float(self._case.value(settled, models).mean()),
            float(self._case.value(settled, public[None])[0]),
        )

    def whitened(self, plan: Candidate) -> Treaty:
        """Return the same plan with its columns whitened, and a clip that leaves as many gradients."""
        treaty = list(Basis().options(plan.treaty, self._judge))[-1].treaty
        sizes, _ = self._judge.gradient_sizes(treaty)
        clip = float(np.quantile(sizes, plan.clip_leaves))
        return treaty.model_copy(update={"loss": treaty.loss.model_copy(update={"clip": clip})})


def measured(case: Case, *, everything: bool) -> dict[str, dict[str, float] | float]:
    """Return all figures of a case.

    Args:
        case: the case.
        everything: whether all figures are wanted, or `ratios` and `over_public` alone.
    """
    papers, plans = Papers(case), Plans(case)
    told: defaultdict[str, dict[str, float]] = defaultdict(dict)
    words: dict[str, str] = {}
    at_one: dict[str, float] = {}
    lows: dict[str, float] = {}
    for epsilon in EPSILONS:
        at, draft = f"{epsilon:g}", case.at(epsilon)
        plans.lowest = case.lowest
        plan = plans.found(draft)
        told["ours"][at], told["public"][at] = plans.followed(plan)
        training = plan.treaty.training
        words[at] = f"{training.method}, T = {training.horizon}" if plan.pays else "does not train"
        told["ratios"][at], who = papers.best(epsilon)
        words[at] += f"; {who}"
        if everything:
            told["ratios_tuned"][at], who = papers.best(epsilon, any_horizon=True)
            words[at] += f"; tuned {who}"
            told["ratios_standardised"][at] = papers.best(epsilon, standardised=True)[0]
        if everything and epsilon == 1.0:
            at_one = _at_one(case, plans, draft, plan)
        lows[at] = plans.lowest
    for at, low in lows.items():
        parts = "; ".join(f"{name} {values[at] - low:.4g}" for name, values in told.items())
        print(f"{case.name}, {len(case.public):,} public rows, ε = {at}: {parts} ({words[at]})")
    one = lows["1"]
    print(*(f"  {name} {value - one:.4g}" for name, value in at_one.items()), sep="\n", flush=True)
    ours, public = told.pop("ours"), told.pop("public")
    found: dict[str, dict[str, float] | float] = {
        name: {at: _rounded((v - lows[at]) / (ours[at] - lows[at])) for at, v in values.items()}
        for name, values in told.items()
    }
    found["over_public"] = {
        at: _rounded((ours[at] - lows[at]) / (value - lows[at])) for at, value in public.items()
    }
    mine = ours["1"] - one
    for name, value in at_one.items():
        ratio = (value - one) / mine
        found[name] = _rounded(ratio if name in ("basis_gain", "peer_ratio") else 1 / ratio)
    return found


def _at_one(case: Case, plans: Plans, draft: Treaty, plan: Candidate) -> dict[str, float]:
    """Measure what else is asked at ε = 1."""
    found = {
        "delta_gain": plans.followed(plans.found(draft, delta=DELTA))[0],
        "curator": plans.followed(plans.found(under_a_curator(draft)))[0],
    }
    if any(feature.kind == "one-hot" for feature in plan.treaty.features.values()):
        found["basis_gain"] = plans.trained(plans.whitened(plan))[0]
    if "basis" not in case.keep:
        found["peer_ratio"] = peer_error(case, 1.0)
    return found


def plan_seconds(owners: int) -> float:
    """Return how long it takes to plan for so many owners, 30 columns and 5,000 public rows."""
    public = generated(5_000, 30, "squared", 0)
    parties = {f"owner {i}": 1_000 + i for i in range(owners)}
    document = loads(drafted(FrameSource(public), target="y", by=None, owners=parties).text)
    judge = Judge(FrameSource(public), [*document.features, "y"])
    start = time.perf_counter()
    for _ in planned(document, judge, Limits()):
        pass
    return time.perf_counter() - start


def main() -> None:
    words = sys.argv[1:]
    seed = int(words[0]) if words else 0
    chosen: Collection[str] = words[1:] or CASES
    figures: defaultdict[str, dict[str, object]] = defaultdict(dict)
    for name in chosen:
        for public, suffix in ((5_000, ""), (1_000, "_1000")):
            told = measured(CASES[name](public, seed), everything=not suffix)
            for key, values in told.items():
                figures[key + suffix][name] = values
    seconds = {"plan_seconds": plan_seconds(10), "plan_seconds_1000": plan_seconds(1_000)}
    finish(**figures, **{name: round(value, 1) for name, value in seconds.items()})


def _rounded(value: float) -> float:
    return float(np.format_float_positional(value, 4, fractional=False, trim="-"))


if __name__ == "__main__":
    main()
