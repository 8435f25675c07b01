"""What a forecast means, in plain words; where the evidence does not tell, it says so."""

from collections.abc import Mapping, Sequence

from treaty.evidence import EvidenceKind
from treaty.measures import Estimate
from treaty.views import some


def verdict(
    together: Estimate,
    alone: Mapping[str, Estimate],
    public_only: Estimate | None,
    nothing: Estimate,
    evidence: EvidenceKind,
    unknown: Sequence[str] = (),
) -> tuple[str, ...]:
    """Compare intervals: better only where they lie apart."""
    lines: list[str] = []
    if beats(nothing, together):
        lines.append("Do not train: the same guess for every record would be better.")
    elif not beats(together, nothing):
        lines.append("The evidence does not tell whether training together beats a constant guess.")
    if public_only is not None:
        if beats(public_only, together):
            lines.append("The public rows alone give a better model: nobody should spend budget.")
        elif beats(together, public_only):
            lines.append("Together is better than the public rows alone.")
        else:
            lines.append("The evidence does not tell whether together beats the public rows alone.")
    known = {name: own for name, own in alone.items() if name not in unknown}
    gains = [name for name, own in known.items() if beats(together, own)]
    loses = [name for name, own in known.items() if beats(own, together)]
    open_ = [name for name in known if name not in gains and name not in loses]
    for names, what in (
        (gains, "better off together than alone"),
        (loses, "better off alone"),
        (open_, "too close to call: the evidence does not tell"),
        (unknown, "not told: the stand-in has too few rows of them"),
    ):
        if names:
            lines.append(f"{len(names)} of {len(alone)} owners {what}: {some(names)}.")
    if evidence == "generated":
        lines.append("Rows made up from public bounds are the weakest evidence there is.")
    if evidence == "private":
        lines.append("Made from private records without noise: this report must not leave.")
    return tuple(lines)


def beats(one: Estimate, other: Estimate) -> bool:
    """Whether one is lower than the other beyond doubt."""
    return one.high < other.low
