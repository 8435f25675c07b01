"""The owner's policy: what it will ratify and answer at all. It is the owner's alone, and fails closed.

largest_epsilon = 1.0          # for one treaty
total_epsilon = 3.0            # for all treaties over this dataset
treaties = ["3f9a…"]           # whole fingerprints; leave out for any that is ratified by hand
quiet_hours = ["22:00-06:00"]  # in UTC: no answer goes out
answers_per_hour = 10000
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Annotated

import tomli_w
from pydantic import Field, field_validator, model_validator

from treaty.errors import Refusal, TreatyError
from treaty.plain import Plain, read_plain
from treaty.privacy import Budget
from treaty.private_files import write_private
from treaty.terms import Treaty, fingerprint


@dataclass(frozen=True)
class Told:
    """What a line of a policy means, in the words that the owner reads beside it."""

    words: str


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Policy(Plain):
    """What an owner allows, whatever a treaty says."""

    largest_epsilon: Annotated[Positive, Told("the most ε for one treaty.")] = 1.0
    total_epsilon: Annotated[
        Positive, Told("the most ε for all treaties over this dataset together.")
    ] = 3.0
    total_delta: Annotated[
        float,
        Field(ge=0, lt=1),
        Told("the most δ for all treaties together; 0 allows only pure ε."),
    ] = 0.0
    largest_horizon: Annotated[int, Field(ge=1), Told("the longest training.")] = 10_000
    smallest_records: Annotated[
        int, Field(ge=2), Told("how many records there must be: the mean of few tells of each.")
    ] = 100
    losses: Annotated[
        tuple[str, ...],
        Told(
            "the losses it answers for. One that does not come with Treaty is named in full "
            '("my_losses:Pinball"), and its module is imported and runs here.'
        ),
    ] = ("squared", "huber", "logistic", "hinge")
    columns: Annotated[
        tuple[str, ...] | None, Told("the columns a treaty may use; all if not given.")
    ] = None
    treaties: Annotated[
        tuple[str, ...] | None, Told("the fingerprints it may ratify; any if not given.")
    ] = None
    quiet_hours: Annotated[
        tuple[str, ...],
        Told("spans of the day, in UTC, in which nothing is answered; queries wait."),
    ] = ()
    answers_per_hour: Annotated[
        int, Field(ge=1), Told("how many answers leave in an hour; further queries wait.")
    ] = 1_000_000
    mean_pause: Annotated[
        float,
        Field(gt=0, le=86_400),
        Told("for asynchronous training: seconds, on average, before it says that it is ready."),
    ] = 0.003

    @field_validator("quiet_hours")
    @classmethod
    def _spans(cls, spans: tuple[str, ...]) -> tuple[str, ...]:
        for span in spans:
            _span(span)
        return spans

    @model_validator(mode="after")
    def _one_under_all(self) -> "Policy":
        if self.largest_epsilon > self.total_epsilon:
            raise ValueError("largest_epsilon is above total_epsilon")
        return self

    @classmethod
    def load(cls, path: Path) -> "Policy":
        """Read a policy; anything doubtful about it is an error."""
        if not path.is_file():
            raise TreatyError(
                f"{path}: there is no policy, and nothing is answered without: `treaty ratify` makes one"
            )
        return read_plain(cls, path)

    def save(self, path: Path) -> None:
        """Write it, every line of it with what it means, for the owner to change."""
        lines: list[str] = []
        for key, value in self.model_dump(mode="json").items():
            meanings = type(self).model_fields[key].metadata
            lines += [f"# {meaning.words}" for meaning in meanings if isinstance(meaning, Told)]
            line = tomli_w.dumps({key: [] if value is None else value}, indent=1).strip()
            written = line.replace("\n ", " ").replace(",\n]", "]").replace("[ ", "[")
            lines.append(f"# {key} = [...]" if value is None else written)
        write_private(path, "\n".join([*lines, ""]).encode())

    @property
    def cap(self) -> Budget:
        """What all treaties together may spend."""
        return Budget(self.total_epsilon, self.total_delta)

    def check_terms(self, treaty: Treaty) -> None:
        """Refuse a treaty whose terms this policy does not allow.

        Only the document is looked at. Nothing it names is imported or opened before this.
        """
        own = fingerprint(treaty)
        if self.treaties is not None and own not in self.treaties:
            raise Refusal(f"the policy lists the treaties it allows, and {own[:12]} is not one")
        horizon = treaty.training.horizon
        if horizon > self.largest_horizon:
            raise Refusal(
                f"the policy allows a horizon of {self.largest_horizon:,}, not {horizon:,}"
            )
        if treaty.loss.name not in self.losses:
            raise Refusal(f"the policy does not allow the loss {treaty.loss.name}")
        used = [*treaty.features, treaty.target.column]
        barred = [c for c in used if self.columns is not None and c not in self.columns]
        if barred:
            raise Refusal(f'the policy does not allow the column "{barred[0]}"')

    def check_grant(self, records: int, budget: Budget) -> None:
        """Refuse a grant that this policy does not allow.

        Args:
            records: how many records there are.
            budget: what is to be granted in all.
        """
        if budget.epsilon > self.largest_epsilon:
            raise Refusal(
                f"the policy allows one treaty an epsilon of {self.largest_epsilon:g}, "
                f"and {budget.epsilon:g} is asked for"
            )
        if budget.delta > self.total_delta:
            raise Refusal(
                f"the policy allows a delta of {self.total_delta:g}, and {budget.delta:g} is asked for"
            )
        if records < self.smallest_records:
            raise Refusal(
                f"the policy asks for at least {self.smallest_records:,} records; "
                f"there are {records:,}"
            )

    def wait(self, recent: int, now: datetime) -> float:
        """Return for how many seconds nothing may be answered; 0 if it may.

        Args:
            recent: how many answers were given in the last hour.
            now: the time.
        """
        for span in self.quiet_hours:
            begin, end = _span(span)
            clock = now.timetz().replace(tzinfo=None)
            inside = begin <= clock < end if begin <= end else clock >= begin or clock < end
            if inside:
                ends = datetime.combine(now.date(), end, tzinfo=UTC)
                return ((ends - now) % timedelta(days=1)).total_seconds() or 1.0
        return 30.0 if recent >= self.answers_per_hour else 0.0


def _span(text: str) -> tuple[time, time]:
    begin, dash, end = text.partition("-")
    try:
        ends = time.fromisoformat(begin.strip()), time.fromisoformat(end.strip())
        if not dash or any(e.tzinfo is not None for e in ends) or ends[0] == ends[1]:
            raise ValueError
        return ends
    except ValueError as error:
        raise ValueError(f'quiet hours are written "22:00-06:00", in UTC, not "{text}"') from error
