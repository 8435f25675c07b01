"""The papers' algorithms as well as they can do: steps, and once more horizons, tuned by oracle."""

import math
from dataclasses import replace

import numpy as np

from bench.privacy_cases import Case
from treaty.fitness import Risk, RowRisk
from treaty.learners import Survey, method_named, survey
from treaty.losses import Squared
from treaty.plans import Plan
from treaty.records import DictionaryTerms, FrameSource
from treaty.simulation import simulated_models
from treaty.terms import Treaty, encoder_of, fit, plan_of, problem_of
from treaty.trials import gradient_sizes

RUNS = 12
PACES = tuple(float(pace) for pace in 2.0 ** np.arange(-14, 5))
"""Steps, in multiples of 1/smoothness."""
METHODS = {"W-1": "shrinking-steps", "W-2": "averaged-subgradient", "F-1": "one-at-a-time"}
HORIZONS = {"W-1": 100, "W-2": 100, "F-1": 1_000}
SHORTER = {
    "W-1": (2, 4, 10, 30),
    "W-2": (2, 4, 10, 30),
    "F-1": (10, 30, 100, 300),
}
CLIP = 0.99
"""Gradients are clipped at this quantile of those of public rows, at the public model."""
RIDGE = 1e-5
"""F-1 needs one."""
STANDARDISED = DictionaryTerms(standardise="public", norm="l1", radius_quantile=0.95)


class Papers:
    """The papers' algorithms on one case; columns go from their public bounds to [−1, 1].

    In their favour: steps are those that do best on these very records; for squared loss the noise is
    that of clipped gradients, but the gradients are whole; where owners are met one at a time, noise is
    for as many answers as each gives.

    Args:
        case: the case.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        kept = "basis" in case.keep
        self._plain = _Basis(case, case.treaty.dictionary if kept else DictionaryTerms(norm="l1"))
        self._levered = self._plain if kept else _Basis(case, STANDARDISED)

    def best(
        self, epsilon: float, *, any_horizon: bool = False, standardised: bool = False
    ) -> tuple[float, str]:
        """Return the least f of all, and whose it is.

        Args:
            epsilon: ε of all.
            any_horizon: whether the horizon is tuned as well.
            standardised: whether they are given columns standardised on public rows.
        """
        basis = self._levered if standardised else self._plain
        found: list[tuple[float, str]] = []
        for name in METHODS:
            if name == "W-1" and self._case.treaty.loss.name == "hinge":
                continue  # it needs a smooth loss
            horizons = (*SHORTER[name], HORIZONS[name]) if any_horizon else (HORIZONS[name],)
            for horizon in horizons:
                found.append((basis.least(name, horizon, epsilon), f"{name}, T = {horizon}"))
        return min(found)


class _Basis:
    def __init__(self, case: Case, terms: DictionaryTerms) -> None:
        self._case = case
        self.treaty = self._with_clip(case, terms)
        settled = self.treaty
        problem, encoder = problem_of(settled), encoder_of(settled)
        self._public: Survey = survey(
            problem, encoder.rows(problem.fitness_loss, FrameSource(case.public))[0]
        )
        self._risks: dict[str, Risk] = {
            name: encoder.risk(problem.fitness_loss, FrameSource(frame))[0]
            for name, frame in case.owners.items()
        }
        self._risks = {
            name: risk.in_single_precision() if isinstance(risk, RowRisk) else risk
            for name, risk in self._risks.items()
        }

    def _with_clip(self, case: Case, terms: DictionaryTerms) -> Treaty:
        treaty = case.treaty.model_copy(update={"dictionary": terms, "fitted": None})
        if case.labels:
            return fit(treaty, FrameSource(case.public))
        loss = treaty.loss.model_copy(update={"ridge": RIDGE, "clip": None, "theta_max": math.inf})
        plain = fit(treaty.model_copy(update={"loss": loss}), FrameSource(case.public))
        rows = encoder_of(plain).rows(Squared(), FrameSource(case.public))[0]
        theta = np.linalg.lstsq(np.asarray(rows.moments.xx), rows.moments.xy, rcond=1e-9)[0]
        dense = rows.x if isinstance(rows.x, np.ndarray) else rows.x.toarray()
        clip = float(np.quantile(gradient_sizes(Squared(), dense, rows.y, theta), CLIP))
        box = 2 * float(np.abs(theta).max())
        loss = loss.model_copy(update={"clip": clip, "clip_norm": "l1", "theta_max": box})
        return plain.model_copy(update={"loss": loss})

    def least(self, name: str, horizon: int, epsilon: float) -> float:
        """Return the least f over all steps: every third first, then those beside the best."""
        scores: dict[int, float] = {}

        def score(at: int) -> float:
            if at not in scores:
                plan = self._plan(name, horizon, epsilon, PACES[at])
                models = simulated_models(plan, self._risks, runs=RUNS, seed=1)
                scores[at] = float(self._case.value(self.treaty, models).mean())
            return scores[at]

        best = min(range(0, len(PACES), 3), key=score)
        beside = [at for at in range(best - 2, best + 3) if 0 <= at < len(PACES)]
        return score(min(beside, key=score))

    def _plan(self, name: str, horizon: int, epsilon: float, pace: float) -> Plan:
        method = METHODS[name]
        training = self.treaty.training.model_copy(
            update={"method": method, "horizon": horizon, "start": "zero", "parameters": {}}
        )
        cap = None
        if not method_named(method).synchronous:
            cap = math.ceil(horizon / len(self.treaty.parties))
        parties = tuple(
            p.model_copy(update={"epsilon": epsilon, "answers": cap}) for p in self.treaty.parties
        )
        plan = plan_of(self.treaty.model_copy(update={"training": training, "parties": parties}))
        step = pace / self._public.geometry(np.zeros(plan.problem.dimension)).smoothness
        return replace(plan, parameters=_parameters(plan, name, step)).informed_by(self._public)


def _parameters(plan: Plan, name: str, step: float) -> dict[str, float]:
    if name == "W-2":
        return {"c1": step}
    if name == "W-1":
        return {"rho": step * plan.horizon**2}
    share = max(party.records for party in plan.parties) / plan.total
    return {"rho": step / share * plan.horizon**2 * plan.problem.ridge / len(plan.parties)}
