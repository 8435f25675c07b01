"""Advice as tables."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from treaty.fitness import PSI_IN_WORDS
from treaty.forecasting.table import EVIDENCE, told_apart
from treaty.gains.own_gain import NOTHING
from treaty.gains.table import LEARNERS_VIEW, render_all

if TYPE_CHECKING:
    from treaty.advice.advice import Advice, Standpoint


def render(advice: "Advice") -> Group:
    """Return advice as something Rich prints."""
    table = Table(header_style="bold")
    table.add_column("owner", overflow="fold")
    for name in ("records", "ε", "invite", "adds", "Shapley", "ψ alone", "pays by ψ"):
        table.add_column(name, justify="right")
    for owner in advice.owners:
        table.add_row(
            Text(owner.name),
            f"{owner.records:,}",
            f"{owner.epsilon:g}",
            "yes" if owner.invited and advice.pays else "no",
            f"{owner.adds:.2g}",
            f"{owner.shapley:.2g}",
            f"{owner.alone:.3g}",
            _joining(owner, advice.unknown),
            style=None if owner.invited else "dim",
        )
    own: list[RenderableType] = []
    if advice.gains and advice.stability is not None:
        sentence = Text(advice.stability.sentence())
        own = [
            render_all(advice.gains),
            sentence,
            Text(_adding(advice)),
            Text(""),
            Text(LEARNERS_VIEW),
        ]
    lines: list[RenderableType] = [
        *own,
        Text(f"{advice.title}\nfrom {EVIDENCE[advice.evidence]}; {told_apart(advice.alike)}"),
        Text(f"everybody together: ψ = {advice.everybody}"),
        table,
        Text(PSI_IN_WORDS),
        Text(IN_WORDS),
        Text(_invitation(advice)),
    ]
    if advice.with_precision_weights is not None:
        lines.append(
            Text(
                "With owners weighed by (records × ε)² instead of by records, everybody together would "
                f"reach {advice.with_precision_weights:.3g}."
            )
        )
    if advice.unknown:
        listed = ", ".join(advice.unknown)
        lines.append(
            Text(f"The stand-in has too few rows of {listed}: taken to be like everybody.")
        )
    if advice.reach is not None:
        lines += [Text(line) for line in _reach(advice)]
    if advice.budgets is not None and advice.priced is not None:
        granted = ", ".join(f"{name} {epsilon:.3g}" for name, epsilon in advice.budgets.items())
        lines.append(
            Text(f"Budgets for the money: {granted}; ψ = {advice.priced:.3g} by the formula.")
        )
        if advice.priced >= advice.without:
            lines.append(Text(f"That is no better than no coalition, at {advice.without:.3g}."))
    if advice.evidence == "private":
        lines.append(Text("Made from private records without noise: this report must not leave."))
    return Group(*lines)


IN_WORDS = (
    "adds: by how much ψ would be higher without that owner. Shapley: the same on average over all "
    "orders in which owners could join. pays by ψ: whether the shared model beats its own for all of "
    "these records."
)


def _adding(advice: "Advice") -> str:
    """Say who adds most to the others' predictions of their own records."""
    adds = sorted(advice.adds_to_others.items(), key=lambda item: -item[1])
    if not adds or adds[0][1] < NOTHING / 10:
        return "Nobody adds anything to speak of to the others' predictions of their own records."
    most = ", ".join(f"{name} {100 * share:.2g}%" for name, share in adds[:5])
    return f"By how much owners lower the others' own errors, on average: {most}" + (
        f"; the other {len(adds) - 5} less." if len(adds) > 5 else "."
    )


def _joining(owner: "Standpoint", unknown: tuple[str, ...]) -> str:
    if owner.name in unknown:
        return "not told"
    if owner.sure:
        return "yes" if owner.joins else "no"
    return "likely" if owner.joins else "unlikely"


def _invitation(advice: "Advice") -> str:
    if advice.recommended.low <= advice.without <= advice.recommended.high:
        return (
            f"The evidence does not tell whether to invite anybody: the best coalition, "
            f"{len(advice.coalition)} of {len(advice.owners)}, would reach ψ = {advice.recommended}, "
            f"and without any it is {advice.without:.3g}."
        )
    if not advice.pays:
        return (
            f"Invite nobody: the best coalition would reach ψ = {advice.recommended}, "
            f"and without any it is {advice.without:.3g}."
        )
    said = (
        f"Invite {len(advice.coalition)} of {len(advice.owners)}: ψ = {advice.recommended}, "
        f"against {advice.everybody.value:.3g} with everybody and {advice.without:.3g} without "
        "any coalition."
    )
    if advice.gains and not any(gain.decision == "join" for gain in advice.gains.values()):
        said = said.replace("Invite", "For one model over everybody's records, invite", 1)
        said += " But no owner's own predictions would gain enough to join for their sake."
    return said


def _reach(advice: "Advice") -> list[str]:
    found = advice.reach
    assert found is not None
    if found.epsilon_factor is None:
        wanted = f"ψ = {found.target:.3g} is out of reach at any ε"
        if advice.asked_alone:
            wanted = (
                f"No ε makes everybody together beat {found.owner} alone, at {found.target:.3g}"
            )
        now = advice.everybody.value
        if now <= found.best:
            return [
                f"{wanted}: what this plan ends at is hardly noise. In reach: {now:.3g}, as it is; for "
                "less change the settings (treaty plan), or give more rounds."
            ]
        # Noise adds in proportion to 1/ε².
        doubled = found.best + max(0.0, now - found.best) / 4
        return [
            f"{wanted}: without any noise this plan ends at {found.best:.3g}. In reach: about "
            f"{doubled:.3g} with twice every ε, against {now:.3g} as it is; for less than "
            f"{found.best:.3g} change the settings (treaty plan), or give more rounds."
        ]
    now = advice.everybody.value
    if found.owners is not None and now <= found.target:
        alone = ", and so do the public rows alone" if advice.without <= found.target else ""
        return [
            f"ψ = {found.target:.3g} is reached as it is: everybody together ends at {now:.3g}{alone}."
        ]
    goal = "To reach" if found.owners is not None else f"To be as good as {found.owner} alone, at"
    ways = [f"every ε times {found.epsilon_factor:.3g}"]
    if found.records_factor is not None:
        ways.append(f"everybody's records times {found.records_factor:.3g}")
    if found.owners is not None:
        ways.append(f"{found.owners:,} owners like the average one")
    if found.owner_epsilon is not None:
        ways.append(f"nobody's ε changed but {found.owner}'s, to {found.owner_epsilon:.3g}")
    lines = [f"{goal} ψ = {found.target:.3g}, everybody together needs " + ", or ".join(ways) + "."]
    if found.owner is not None and found.owner_epsilon is None:
        lines.append(f"Changing nobody's ε but {found.owner}'s is not enough.")
    return lines
