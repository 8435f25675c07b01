"""What a plan's privacy costs, against the papers' algorithms at the same ε, owners and columns.

    python -m bench.cost_of_privacy [SEED] [CASE ...]

A plan sees the public rows alone; all is measured on the owners' records. Excess: f(θ) − f(θ*), mean
over trainings, with f the mean squared error in the target's unit, not clamped, and θ* the best linear
model of all columns; for card fraud the hinge loss and g.

`ratios[case][epsilon]`: excess of the best of W-1, W-2 (T = 100) and F-1 (T = 1,000) over the plan's,
with 5,000 public rows; their steps are tuned on these very records. `ratios_1000`: with 1,000 public
rows. `ratios_tuned`: with their horizons tuned on these very records as well. `over_public`: the plan's
excess over that of the public model. `basis_gain`: excess with whitened columns over the plan's, at
ε = 1, where there are categories. `delta_gain`: excess of the pure plan over that with δ = 1e-6.
`curator`: excess over that of one trusted curator with the same levers, ε = 1.
"""

import sys
from collections.abc import Collection

import numpy as np

from bench.paper_rivals import Papers
from bench.privacy_cases import CASES, Case
from bench.report import finish
from treaty.fitness import RowRisk
from treaty.records import FrameSource
from treaty.settings.expecting import Judge
from treaty.settings.levers import Basis, with_best_clip
from treaty.settings.planning import Candidate, Limits, planned
from treaty.settings.rivals import under_a_curator
from treaty.simulation import simulated_models
from treaty.terms import Treaty, encoder_of, plan_of

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

    def found(self, draft: Treaty, *, delta: float = 0.0) -> Candidate:
        """Return the plan."""
        limits = Limits(delta, keep=frozenset(self._case.keep))
        *_, best = planned(draft, self._judge, limits)
        return best

    def followed(self, plan: Candidate) -> tuple[float, float]:
        """Return the excess of whoever follows a plan, and that of the public model.

        A plan that says that training does not pay is followed by staying with the public model.
        """
        trained, public = self.excess(plan.treaty)
        return trained if plan.pays else public, public

    def excess(self, treaty: Treaty) -> tuple[float, float]:
        """Return the mean excess of trainings, and that of the public model."""
        settled, surveyed = self._judge.in_place(treaty), self._judge.surveyed(treaty)
        encoder, ready = encoder_of(settled), plan_of(settled).informed_by(surveyed)
        risks = {
            name: encoder.risk(ready.problem.loss, FrameSource(frame))[0]
            for name, frame in self._owners(treaty).items()
        }
        risks = {
            name: risk.in_single_precision() if isinstance(risk, RowRisk) else risk
            for name, risk in risks.items()
        }
        models = simulated_models(ready, risks, runs=RUNS, seed=1)
        public = surveyed.model("public" if treaty.training.start == "public" else "tuned").theta
        return (
            float(self._case.excess(settled, models).mean()),
            float(self._case.excess(settled, public[None])[0]),
        )

    def _owners(self, treaty: Treaty):
        if len(treaty.parties) == 1:
            return {treaty.parties[0].name: self._case.rows}
        return self._case.owners

    def whitened(self, treaty: Treaty) -> Treaty:
        """Return the plan with its columns whitened, and the clip that is best then."""
        options = list(Basis().options(treaty, self._judge))
        return with_best_clip(options[1].treaty, self._judge)[0]


def main() -> None:
    words = sys.argv[1:]
    seed = int(words[0]) if words else 0
    chosen: Collection[str] = words[1:] or CASES
    figures: dict[str, dict[str, object]] = {
        name: {}
        for name in (
            *("ratios", "ratios_1000", "ratios_tuned", "over_public", "over_public_1000"),
            *("basis_gain", "delta_gain", "curator"),
        )
    }
    for name in chosen:
        for public, suffix in ((5_000, ""), (1_000, "_1000")):
            case = CASES[name](public, seed)
            papers, plans = Papers(case), Plans(case)
            for key in ("ratios", "over_public"):
                figures[key + suffix][name] = {}
            if not suffix:
                figures["ratios_tuned"][name] = {}
            for epsilon in EPSILONS:
                draft = case.at(epsilon)
                plan = plans.found(draft)
                ours, of_public = plans.followed(plan)
                theirs, who = papers.best(epsilon, any_horizon=False)
                _put(figures, "ratios" + suffix, name, epsilon, theirs / ours)
                _put(figures, "over_public" + suffix, name, epsilon, ours / of_public)
                line = (
                    f"{name}, {public:,} public rows, ε = {epsilon:g}: plan {ours:.4g} "
                    f"({_words(plan)}), public model "
                    f"{of_public:.4g}; {who}: {theirs:.4g}"
                )
                if not suffix:
                    tuned, who = papers.best(epsilon, any_horizon=True)
                    _put(figures, "ratios_tuned", name, epsilon, tuned / ours)
                    line += f"; {who}: {tuned:.4g}"
                if not suffix and epsilon == 1.0:
                    line += _more(plans, name, draft, plan.treaty, ours, figures)
                print(line, flush=True)
    finish(**figures)


def _more(
    plans: Plans,
    name: str,
    draft: Treaty,
    treaty: Treaty,
    ours: float,
    figures: dict[str, dict[str, object]],
) -> str:
    """Measure what else is asked at ε = 1; return it in words."""
    relaxed = plans.followed(plans.found(draft, delta=DELTA))[0]
    curated = plans.followed(plans.found(under_a_curator(draft)))[0]
    figures["delta_gain"][name] = _rounded(ours / relaxed)
    figures["curator"][name] = _rounded(ours / curated)
    words = f"; with δ {relaxed:.4g}, a curator {curated:.4g}"
    categories = any(feature.kind == "one-hot" for feature in treaty.features.values())
    if categories and treaty.dictionary.standardise == "frequency":
        whitened = plans.excess(plans.whitened(treaty))[0]
        figures["basis_gain"][name] = _rounded(whitened / ours)
        words += f"; whitened {whitened:.4g}"
    return words


def _words(plan: Candidate) -> str:
    if not plan.pays:
        return "does not train"
    return f"{plan.treaty.training.method}, T = {plan.treaty.training.horizon}"


def _put(
    figures: dict[str, dict[str, object]], key: str, name: str, epsilon: float, value: float
) -> None:
    inner = figures[key].setdefault(name, {})
    assert isinstance(inner, dict)
    inner[f"{epsilon:g}"] = _rounded(value)


def _rounded(value: float) -> float:
    return float(np.format_float_positional(value, 4, fractional=False, trim="-"))


if __name__ == "__main__":
    main()
