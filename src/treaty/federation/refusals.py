"""Which refusals are written down: every learner has a quota, so that no flood hides another."""

from datetime import datetime, timedelta

WRITTEN = 100
"""So many refusals of one learner are written down in an hour; further ones are only counted."""


class Refusals:
    """What each learner has been refused in the current hour."""

    def __init__(self) -> None:
        self._hours: dict[object, tuple[datetime, int]] = {}

    def counted(self, what: dict[str, object], now: datetime) -> dict[str, object] | None:
        """Return what to write down of a refusal; None if it is only counted.

        Args:
            what: the refusal; its key "learner" is who asked. Only learners of this federation, and
                "nobody", are counted: there are never many.
            now: the time.
        """
        learner = what["learner"]
        begin, count = self._hours.get(learner, (now, 0))
        before = 0
        if now - begin >= timedelta(hours=1):
            before, begin, count = max(0, count - WRITTEN), now, 0
        self._hours[learner] = (begin, count + 1)
        if count == WRITTEN:
            reason = f"more than {WRITTEN} refusals in an hour: the next ones are only counted"
            return {"learner": learner, "reason": reason}
        if count > WRITTEN:
            return None
        return {**what, "unwritten_before": before} if before else what
