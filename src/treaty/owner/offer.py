"""What ratifying a treaty means, in words, before it is done."""

import math
from dataclasses import dataclass

from treaty.losses import Clipped
from treaty.plans import Party, Plan
from treaty.plans.deltas import delta_doubt
from treaty.privacy import Budget, Grant
from treaty.questions import Release
from treaty.records import Feature
from treaty.terms import Treaty, fingerprint
from treaty.terms.names import check_names

USUAL: dict[str, tuple[float, float]] = {
    "the largest ‖x‖₁": (0.1, 1e3),
    "theta_max": (0.01, 100.0),
    "the largest answer Ξ": (0.01, 1e4),
    "the noise over the largest answer": (1e-7, 100.0),
    "the largest |y|": (0.1, 1e5),
    "a bound": (0.01, 1e9),
}
"""Ranges in which every example that comes with Treaty lies, with room to spare."""


@dataclass(frozen=True, eq=False)
class Offer:
    """What ratifying a treaty means, before it is done.

    Args:
        treaty: the treaty, with its dictionary.
        plan: what it comes to.
        party: who ratifies.
        records: how many records it is about.
        grants: what would be granted; several where every party is a learner.
        budget: what they come to in all.
        left: the ε that all treaties together would then have left.
    """

    treaty: Treaty
    plan: Plan
    party: Party
    records: int
    grants: tuple[Grant, ...]
    budget: Budget
    left: float

    def words(self) -> str:
        """Say in plain words what is being granted, and what to look at twice."""
        treaty, grant = self.treaty, self.grants[0]
        release = self.plan.release(self.party, grant.budget)
        learners = (
            f"each of the {len(self.grants)} parties, for a model of its own"
            if len(self.grants) > 1
            else "one learner"
        )
        except_ = "" if self.budget.delta == 0 else ", except with probability δ"
        noise = "pure" if self.budget.delta == 0 else f"with δ = {self.budget.delta:g}"
        return "\n".join(
            [
                f"{treaty.title or 'Untitled'}, treaty {fingerprint(treaty)[:12]}",
                f"{self.party.name} lets {learners} ask about {self.records:,} records:",
                f"  at most {grant.answers:,} times each, {release.question.words(release.problem)}, "
                "with noise;",
                "  made from these columns, every value moved into its bounds:",
                *(f"    {line}" for line in _columns(treaty)),
                *(f"  {line};" for line in _sizes(treaty, release)),
                f"  ε = {self.budget.epsilon:g} in all ({noise}): whatever anybody concludes from the "
                f"answers about one record changes in odds by at most a factor of "
                f"{_odds(self.budget.epsilon)}{except_};",
                "  that is about a record: a person with several records here is protected by as many "
                "times that ε;",
                *self._overlapping(),
                "  what is spent never comes back. Records and exact numbers never leave.",
                *(f"Look twice: {line}" for line in unusual(self.party, treaty, release)),
                f"After this, ε = {self.left:g} is left for other treaties over these records.",
            ]
        )

    def _overlapping(self) -> list[str]:
        """Say what protects a record that may sit with several owners."""
        if self.plan.overlap == 1:
            return []
        most = max(self.plan.parties, key=lambda party: party.budget.epsilon)
        return [
            f"  a record may sit with up to {self.plan.overlap} owners, each of which spends that share "
            f"of its ε: what protects such a record is the largest ε among them, at most "
            f"{most.budget.epsilon:g} ({most.name});"
        ]


def unusual(party: Party, treaty: Treaty, release: Release) -> list[str]:
    """Return a sentence for every number that no example shipped with Treaty comes near."""
    problem, largest = release.problem, release.largest
    sizes = [
        ("the largest ‖x‖₁", problem.domain.l1, ""),
        ("theta_max", problem.theta_max, ""),
        ("the largest answer Ξ", largest, ""),
        ("the noise over the largest answer", release.scale / largest, ""),
        ("the largest |y|", max(abs(end) for end in problem.domain.target), ""),
    ]
    for column, feature in treaty.features.items():
        if feature.kind == "number":
            sizes += [("a bound", max(abs(end) for end in feature.bounds), f" of {column}")]
    told = [doubt] if (doubt := delta_doubt(party)) else []
    try:
        check_names("column", [*treaty.features, treaty.target.column])
    except ValueError as error:
        told.append(str(error))
    for what, size, of in sizes:
        low, high = USUAL[what]
        if not low <= size <= high:
            told.append(
                f"{what}{of} is {size:.3g}; in the examples it lies between {low:g} and {high:g}"
            )
    return told


def _columns(treaty: Treaty) -> list[str]:
    lines = [f"{column}: {_domain(feature)}" for column, feature in treaty.features.items()]
    target = treaty.target
    if target.bounds is None:
        negative, positive = target.labels or ("-1", "1")
        return [*lines, f"{target.column}, to be predicted: {negative} or {positive}"]
    low, high = target.bounds
    return [*lines, f"{target.column}, to be predicted: {low:g} to {high:g}"]


def _domain(feature: Feature) -> str:
    if feature.kind == "number":
        low, high = feature.bounds
        return f"{low:g} to {high:g}" + (", its logarithm" if feature.log1p else "")
    if feature.kind == "hats":
        low, high = feature.bounds
        straight = ", and the number itself" if feature.straight else ""
        return (
            f"{low:g} to {high:g}, as weights on {feature.width - feature.straight} knots{straight}"
        )
    if feature.kind == "date":
        years = f" from {feature.years[0]} to {feature.years[1]}" if feature.years else ""
        return f"a date{years}, as its {', '.join(feature.parts)}"
    listed = ", ".join(feature.categories[:4])
    more = len(feature.categories) - 4
    return listed + (f" and {more} more" if more > 0 else "")


def _sizes(treaty: Treaty, release: Release) -> list[str]:
    problem, largest, scale = release.problem, release.largest, release.scale
    norm = {"l1": "ℓ₁", "l2": "ℓ₂"}[release.mechanism.norm]
    clipped = isinstance(problem.loss, Clipped)
    clip = f"clipped at {treaty.loss.clip:g}" if clipped else "not clipped"
    theta = (
        "any model may be asked about"
        if math.isinf(problem.theta_max)
        else f"models are asked about whose coefficients are at most {problem.theta_max:g} in size (Θ)"
    )
    return [
        *([theta] if release.question.arguments(problem) else []),
        f"what one record brings, and so an answer without noise, is never larger than Ξ = "
        f"{largest:.4g} in the {norm} norm ({clip})",
        f"the {release.mechanism.name} noise on every one of the {release.length:,} numbers of an "
        f"answer has scale {scale:.4g}, {scale / largest:.3g} times the largest answer possible",
    ]


def _odds(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 50 else "e^" + f"{epsilon:g}"
