"""An owner at work: its folder open, its records known to be those of the ledger."""

import fcntl
import os
from fractions import Fraction
from pathlib import Path

from treaty.errors import Refusal, TreatyError
from treaty.fitness import Risk
from treaty.limits import check_answer
from treaty.losses import permit
from treaty.owner.owner import Owner
from treaty.owner.policy import Policy
from treaty.plans import Plan, peer_plans
from treaty.privacy import Budget, Dataset, DurableLedger
from treaty.records import Source
from treaty.terms import Treaty, encoder_of, fingerprint, load, plan_of
from treaty.terms.names import LEARNER, token


class InUse:
    """A folder in use: by any number of agents, or by one that puts another ledger into it."""

    def __init__(self, folder: Path, *, shared: bool) -> None:
        self._descriptor = os.open(folder, os.O_RDONLY)
        try:
            how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(self._descriptor, how | fcntl.LOCK_NB)
        except OSError as error:
            self.end()
            raise TreatyError(
                f"{folder}: an agent is at work here; stop it first"
                if not shared
                else f"{folder}: a ledger is being put back here; try again when that is done"
            ) from error

    def end(self) -> None:
        """Let others use it."""
        os.close(self._descriptor)


class OpenHome:
    """An owner at work: ledger, policy and records in hand, an `Owner` for every treaty asked about."""

    def __init__(
        self,
        folder: Path,
        name: str,
        policy: Policy,
        ledger: DurableLedger,
        source: Source,
        key: bytes,
        use: InUse,
    ) -> None:
        self.name, self.policy, self.ledger = name, policy, ledger
        self._folder, self._source, self._use = folder, source, use
        self._state = source.state()
        self._owners: dict[str, Owner] = {}
        self._rates: dict[str, float] = {}
        there = source.fingerprint(key)
        if there != ledger.dataset.fingerprint:
            raise TreatyError(
                f"{source.label}: these are not the records of this ledger: they have changed since "
                "they were put under it. Put the old ones back, or begin a new ledger for the new ones"
            )

    def check_records(self) -> None:
        """Raise if the records have been touched since they were read."""
        if self._source.state() != self._state:
            raise TreatyError(
                f"{self._source.label}: the records have changed while being asked about; "
                "nothing more is answered"
            )

    def owner(self, treaty: str, learner: str) -> Owner:
        """Return who answers a learner under a treaty; learners ask only under treaties of theirs."""
        own, slash, peer = treaty.partition("/")
        if learner != token(peer if slash else LEARNER):
            raise Refusal(f"that learner may not ask under treaty {treaty[:12]}")
        if treaty not in self._owners:
            self._owners[treaty] = self._read(own, treaty)
        return self._owners[treaty]

    def _read(self, own: str, treaty: str) -> Owner:
        if self.ledger.granted(treaty) is None:
            if treaty != own and self.ledger.granted(own) is not None:
                raise Refusal(
                    f"{self.name} has not ratified treaty {own[:12]} for peers, only for one learner: "
                    "treaty ratify --peers grants that"
                )
            raise Refusal(f"{self.name} has not ratified treaty {treaty[:12]}")
        document = load(self._folder / "treaties" / f"{own}.toml")
        if fingerprint(document) != own:
            raise Refusal(f"the treaty {own[:12]} has been tampered with")
        self.policy.check_terms(document)
        permit([document.loss.name])
        plan = plan_of(document)
        check_answer(plan.releases[0].length)
        if "/" in treaty:
            plan = peer_plans(plan)[treaty.partition("/")[2]]
        party = plan.party(self.name)
        if party is None:
            raise Refusal(f"{self.name} is not a party to treaty {own[:12]}")
        granted = [g.budget for g, _ in self.ledger.grants() if g.treaty.partition("/")[0] == own]
        whole = float(sum((Fraction(b.epsilon) for b in granted), Fraction(0)))
        deltas = float(sum((Fraction(b.delta) for b in granted), Fraction(0)))
        self.policy.check_grant(party.records, Budget(whole, deltas))
        risk = self._risk(document, plan, party.records)
        self._rates[treaty] = party.rate
        return Owner(self.name, treaty=treaty, plan=plan, risk=risk, ledger=self.ledger)

    def _risk(self, document: Treaty, plan: Plan, records: int) -> Risk:
        risk, _ = encoder_of(document).risk(plan.problem.loss, self._source)
        if risk.n != records:
            raise TreatyError(
                changed(
                    self._source.label, self.ledger.dataset, Dataset(risk.n, "of another number")
                )
            )
        return risk

    def rate(self, treaty: str) -> float:
        """Return how often this owner talks, relative to others, under a treaty it answers under."""
        return self._rates[treaty]

    def close(self) -> None:
        """Close the ledger, and let others use the folder."""
        self.ledger.close()
        self._use.end()


def changed(label: str, before: Dataset, now: Dataset) -> str:
    """Say that records are not those a ledger guards."""
    return (
        f"{label}: {now.records:,} records are not the {before.records:,} that this ledger guards, or "
        "not the same ones; another dataset needs a ledger of its own"
    )
