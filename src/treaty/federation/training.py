"""A training over a federation, from the treaty to the model."""

from pathlib import Path

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.federation.channel import Channel, Say
from treaty.federation.conductor import Conductor, Ending, Manner, Watch
from treaty.federation.journal import Journal
from treaty.limits import check_answer
from treaty.models import Model
from treaty.plans import Driver, peer_plans
from treaty.privacy.accounting import epsilon_of
from treaty.records import SourceLike
from treaty.terms import Treaty, fingerprint, fit, model_of, plan_of
from treaty.terms.names import LEARNER
from treaty.training import survey_of


class FederatedTraining:
    """One training, made ready; over an owner's channel, that owner's own (peers).

    Args:
        treaty: the treaty; its dictionary must be in place.
        channel: the way to the owners of whoever learns.
        journal: the path of the journal; if it exists, its run is resumed.
        public: public rows, for the start, the step sizes and to watch the fitness on.
        manner: how owners are dealt with.
        watch: is shown the progress.
        say: is told in words what happens.
    """

    def __init__(
        self,
        treaty: Treaty,
        channel: Channel,
        journal: str | Path,
        public: SourceLike | None = None,
        *,
        manner: Manner | None = None,
        watch: Watch | None = None,
        say: Say | None = None,
    ) -> None:
        self._document = fit(treaty, None)
        self.treaty = fingerprint(self._document)
        plan = plan_of(self._document)
        check_answer(plan.releases[0].length)
        if channel.name != LEARNER:
            if plan.party(channel.name) is None:
                raise TreatyError(f"{channel.name} is not a party to this treaty")
            plan = peer_plans(plan)[channel.name]
            self.treaty += f"/{channel.name}"
        self._public = None if public is None else survey_of(self._document, public)
        if self._public is not None:
            plan = plan.informed_by(self._public)
        elif plan.begin != "zero":
            raise TreatyError(
                "training.start: to start from the public model, give public rows with `public`"
            )
        driver = Driver(plan)
        self._journal = Journal(journal, self.treaty, driver.learner.step_sizes)
        self.run_name = self._journal.run
        self._plan = plan
        self.ending: Ending | None = None
        self._conductor = Conductor(
            self.treaty,
            driver,
            channel,
            self._journal,
            manner=manner,
            watch=watch,
            say=say,
        )

    async def run(self) -> Model:
        """Train to the end, or go on to it."""
        try:
            self.ending = await self._conductor.run()
        finally:
            self._journal.close()
        return model_of(self._document, self.ending.theta, self.spent(), self.ending.given)

    def fitness(self, theta: FloatArray) -> float | None:
        """Return f on the public rows, if there are any."""
        if self._public is None:
            return None
        problem = self._public.problem
        return float(problem.penalty(theta) + self._public.risk.value(theta))

    @property
    def granted(self) -> dict[str, int]:
        """How many answers each owner grants."""
        return {party.name: self._plan.answers(party) for party in self._plan.parties}

    def spent(self) -> dict[str, float]:
        """Return the ε that each owner's answers in this training come to, at the δ of its budget."""
        given = {} if self.ending is None else self.ending.given
        return {
            party.name: epsilon_of(
                {release.event: given.get(party.name, 0)}, self._plan.budget(party).delta
            )
            for party, release in zip(self._plan.parties, self._plan.releases, strict=True)
        }
