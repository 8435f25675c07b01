"""A training over a federation, from the treaty to the model."""

from pathlib import Path

from treaty.arrays import FloatArray
from treaty.errors import TreatyError
from treaty.federation.authority import LEARNER, Credential
from treaty.federation.conductor import Conductor, Manner, Outcome, Told, Watch
from treaty.federation.journal import Journal
from treaty.fitness import model_alone
from treaty.fitness.model import Model
from treaty.learners import learner_for, peer_plans
from treaty.records import Source
from treaty.terms import Treaty, encoder_of, fingerprint, fit, model_of, plan_of


class FederatedTraining:
    """One training, made ready; with an owner's credential, that owner's own (peers).

    Args:
        treaty: the treaty; its dictionary must be in place.
        credential: who learns.
        journal: the run; one that exists is gone on with.
        public: public rows, for the start, the step sizes and to watch the fitness on.
        manner: how owners are dealt with.
        watch: is shown the progress.
        told: is told in words what happens.
    """

    def __init__(
        self,
        treaty: Treaty,
        credential: Credential,
        journal: str | Path,
        public: Source | None = None,
        *,
        manner: Manner | None = None,
        watch: Watch | None = None,
        told: Told | None = None,
    ) -> None:
        self._document = fit(treaty, None)
        self.treaty = fingerprint(self._document)
        plan = plan_of(self._document)
        if credential.name != LEARNER:
            if credential.name not in {party.name for party in plan.parties}:
                raise TreatyError(f"{credential.name} is not a party to this treaty")
            plan = peer_plans(plan)[credential.name]
            self.treaty += f"/{credential.name}"
        self._plan = plan
        self._public = None
        if public is not None:
            self._public, _ = encoder_of(self._document).risk(plan.problem.fitness_loss, public)
        start = None
        if treaty.training.start == "public":
            if self._public is None:
                raise TreatyError(
                    "training.start: to start from the public model, give a file of public rows "
                    "with --public"
                )
            start = model_alone(plan.problem, self._public)
        learner = learner_for(plan, public=self._public, start=start)
        self._journal = Journal(journal, self.treaty, learner.step_sizes)
        self.run_name = self._journal.run
        self.epsilons = {
            party.name: (plan.budget(party).epsilon, plan.answers(party)) for party in plan.parties
        }
        self.outcome: Outcome | None = None
        self._conductor = Conductor(
            self.treaty,
            plan,
            learner,
            credential,
            self._journal,
            manner=manner,
            watch=watch,
            told=told,
        )

    async def run(self) -> Model:
        """Train to the end, or go on to it."""
        try:
            self.outcome = await self._conductor.run()
        finally:
            self._journal.close()
        return model_of(self._document, self.outcome.theta)

    def fitness(self, theta: FloatArray) -> float | None:
        """Return f on the public rows, if there are any."""
        if self._public is None:
            return None
        return float(self._plan.problem.penalty(theta) + self._public.value(theta))

    def spent(self) -> dict[str, float]:
        """Return the ε each owner has spent on this training."""
        given = {} if self.outcome is None else self.outcome.given
        return {n: e * given.get(n, 0) / answers for n, (e, answers) in self.epsilons.items()}
