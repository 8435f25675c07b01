"""An owner's folder: its ledger, its policy, the treaties it has ratified, and where its records are."""

import tomllib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import tomli_w

from treaty.errors import Refusal, TreatyError
from treaty.federation import subjects
from treaty.federation.authority import LEARNER
from treaty.federation.policy import Policy
from treaty.fitness import Risk
from treaty.learners import Plan, peer_plans
from treaty.owner import Owner
from treaty.privacy import Budget, Dataset, DurableLedger, Grant
from treaty.records import Source, open_source
from treaty.terms import Treaty, dumps, encoder_of, fingerprint, fit, load, plan_of


@dataclass(frozen=True, eq=False)
class Offer:
    """What ratifying a treaty means, before it is done.

    Args:
        treaty: the treaty, with its dictionary.
        plan: what it comes to.
        name: who ratifies.
        records: how many records it is about.
        grants: what would be granted; several where every party is a learner.
        budget: what they come to in all.
        left: the ε that all treaties together would then have left.
    """

    treaty: Treaty
    plan: Plan
    name: str
    records: int
    grants: tuple[Grant, ...]
    budget: Budget
    left: float

    def words(self) -> str:
        """Say in plain words what is being granted."""
        treaty, grant = self.treaty, self.grants[0]
        columns = ", ".join([*treaty.features, treaty.target.column])
        learners = (
            f"each of the {len(self.grants)} parties, for a model of its own"
            if len(self.grants) > 1
            else "one learner"
        )
        noise = "pure" if self.budget.delta == 0 else f"with δ = {self.budget.delta:g}"
        return "\n".join(
            [
                f"{treaty.title or 'Untitled'}, treaty {fingerprint(treaty)[:12]}",
                f"{self.name} lets {learners} ask about {self.records:,} records:",
                f"  at most {grant.answers:,} times each, the mean gradient of the "
                f"{treaty.loss.name} loss, with noise;",
                f"  made from the columns {columns};",
                f"  ε = {self.budget.epsilon:g} in all ({noise}): whatever anybody concludes from the "
                f"answers about one record changes in odds by at most a factor of "
                f"{_odds(self.budget.epsilon)};",
                "  what is spent never comes back. Records and exact numbers never leave.",
                f"After this, ε = {self.left:g} is left for other treaties over these records.",
            ]
        )


def _odds(epsilon: float) -> str:
    return f"{2.718281828459045**epsilon:.3g}" if epsilon < 50 else "e^" + f"{epsilon:g}"


class Home:
    """An owner's folder.

    Args:
        folder: where.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def ledger_file(self) -> Path:
        """The ledger."""
        return self.folder / "ledger.sqlite"

    @property
    def policy_file(self) -> Path:
        """The policy."""
        return self.folder / "policy.toml"

    def ledger(self) -> DurableLedger:
        """Open the ledger."""
        return DurableLedger(self.ledger_file)

    def offer(
        self,
        treaty: Treaty,
        name: str,
        epsilon: float,
        data: str | Path,
        *,
        delta: float = 0.0,
        peers: bool = False,
    ) -> Offer:
        """Say what ratifying would grant, having checked policy, records and cap; nothing is written.

        Args:
            treaty: the treaty; its dictionary must be in place.
            name: who ratifies.
            epsilon: what is to be granted; it must be what the treaty says.
            data: the records: a CSV or Parquet file, or a TOML file about a database.
            delta: the δ to be granted.
            peers: whether every party is a learner of its own.
        """
        treaty = fit(treaty, None)
        plan = plan_of(treaty)
        party = next((party for party in plan.parties if party.name == name), None)
        if party is None:
            there = ", ".join(p.name for p in plan.parties)
            raise TreatyError(f"{name} is not a party to this treaty; there are {there}")
        if (epsilon, delta) != (party.budget.epsilon, party.budget.delta):
            raise Refusal(
                f"the treaty says that {name} grants (ε, δ) = ({party.budget.epsilon:g}, "
                f"{party.budget.delta:g}), not ({epsilon:g}, {delta:g}): "
                "what is granted must be what all parties read"
            )
        self._check_name(name)
        source = open_source(data)
        records = _count(treaty, source, party.records, name)
        fresh = not self.ledger_file.exists() and not self.policy_file.exists()
        policy = Policy() if fresh else Policy.load(self.policy_file)
        own = fingerprint(treaty)
        if peers:
            shared = peer_plans(plan)
            grants = tuple(
                Grant(f"{own}/{learner}", other.budget(mine), other.answers(mine))
                for learner, other in shared.items()
                for mine in other.parties
                if mine.name == name
            )
            budget = plan.budget(party)
        else:
            grants = (Grant(own, plan.budget(party), plan.answers(party)),)
            budget = grants[0].budget
        try:
            policy.check(treaty, plan, records, budget)
        except Refusal as error:
            if not fresh:
                raise
            raise Refusal(
                f"{error}; these are the defaults, write another policy into {self.policy_file} first"
            ) from error
        left = Fraction(policy.total_epsilon) - self._committed(own) - Fraction(budget.epsilon)
        if left < 0:
            raise Refusal(
                f"epsilon {budget.epsilon:g} does not fit under the policy's total of "
                f"{policy.total_epsilon:g}: {float(left + Fraction(budget.epsilon)):g} is left"
            )
        return Offer(treaty, plan, name, records, grants, budget, float(left))

    def _check_name(self, name: str) -> None:
        file = self.folder / "owner.toml"
        known = tomllib.loads(file.read_text())["name"] if file.exists() else name
        if known != name:
            raise TreatyError(f"{self.folder} is {known}'s; {name} needs a folder of its own")

    def _committed(self, own: str) -> Fraction:
        """Return what is granted or spent; refuse if this treaty is among it."""
        if not self.ledger_file.exists():
            return Fraction(0)
        ledger = self.ledger()
        try:
            if any(grant.treaty.partition("/")[0] == own for grant, _ in ledger.grants()):
                raise Refusal(f"treaty {own[:12]} has been granted a budget already")
            return ledger.committed()[0]
        finally:
            ledger.close()

    def ratify(self, offer: Offer, data: str | Path) -> None:
        """Write the grant into the ledger, and keep the treaty; from now on it is answered."""
        source = open_source(data)
        dataset = Dataset(offer.records, source.fingerprint())
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.ledger_file.exists() and not self.policy_file.exists():
            Policy().save(self.policy_file)
        policy = Policy.load(self.policy_file)
        where = {"name": offer.name, "data": str(Path(data).resolve())}
        if not (self.folder / "owner.toml").exists():
            (self.folder / "owner.toml").write_bytes(tomli_w.dumps(where).encode())
        if not self.ledger_file.exists():
            DurableLedger.create(self.ledger_file, dataset, policy.cap).close()
        ledger = self.ledger()
        try:
            if ledger.dataset != dataset:
                raise TreatyError(_changed(source.label, ledger.dataset, dataset))
            if ledger.cap != (Fraction(policy.cap.epsilon), Fraction(policy.cap.delta)):
                ledger.set_cap(policy.cap)
            (self.folder / "treaties").mkdir(exist_ok=True)
            kept = self.folder / "treaties" / f"{fingerprint(offer.treaty)}.toml"
            kept.write_text(dumps(offer.treaty))
            ledger.grant_all(offer.grants)
        finally:
            ledger.close()

    def open(self) -> "OpenHome":
        """Open everything an agent needs, and check that the records are those of the ledger."""
        policy = Policy.load(self.policy_file)
        try:
            plain = tomllib.loads((self.folder / "owner.toml").read_text())
            name, data = str(plain["name"]), str(plain["data"])
        except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
            raise TreatyError(f"{self.folder}: nothing has been ratified here yet") from error
        ledger = self.ledger()
        try:
            ledger.verify()
            _, most_delta = ledger.cap
            if policy.total_epsilon < ledger.cap[0] or policy.total_delta < most_delta:
                epsilon = min(policy.total_epsilon, float(ledger.cap[0]))
                ledger.set_cap(Budget(epsilon, min(policy.total_delta, float(most_delta))))
            return OpenHome(self.folder, name, policy, ledger, open_source(data))
        except TreatyError:
            ledger.close()
            raise


class OpenHome:
    """An owner at work: ledger, policy and records in hand, an `Owner` for every treaty asked about."""

    def __init__(
        self, folder: Path, name: str, policy: Policy, ledger: DurableLedger, source: Source
    ) -> None:
        self.name, self.policy, self.ledger = name, policy, ledger
        self._folder, self._source = folder, source
        self._state = source.state()
        self._owners: dict[str, Owner] = {}
        self._rates: dict[str, float] = {}
        there = source.fingerprint()
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
        if learner != subjects.token(peer if slash else LEARNER):
            raise Refusal(f"that learner may not ask under treaty {treaty[:12]}")
        if treaty not in self._owners:
            self._owners[treaty] = self._read(own, treaty)
        return self._owners[treaty]

    def _read(self, own: str, treaty: str) -> Owner:
        if self.ledger.granted(treaty) is None:
            raise Refusal(f"{self.name} has not ratified treaty {treaty[:12]}")
        document = load(self._folder / "treaties" / f"{own}.toml")
        if fingerprint(document) != own:
            raise Refusal(f"the treaty {own[:12]} has been tampered with")
        plan = plan_of(document)
        if "/" in treaty:
            plan = peer_plans(plan)[treaty.partition("/")[2]]
        party = next((party for party in plan.parties if party.name == self.name), None)
        if party is None:
            raise Refusal(f"{self.name} is not a party to treaty {own[:12]}")
        granted = [g.budget for g, _ in self.ledger.grants() if g.treaty.partition("/")[0] == own]
        whole = float(sum((Fraction(b.epsilon) for b in granted), Fraction(0)))
        deltas = float(sum((Fraction(b.delta) for b in granted), Fraction(0)))
        self.policy.check(document, plan, party.records, Budget(whole, deltas))
        risk = self._risk(document, plan, party.records)
        self._rates[treaty] = party.rate
        return Owner(
            self.name,
            treaty=treaty,
            problem=plan.problem,
            risk=risk,
            horizon=plan.horizon,
            mechanism=plan.mechanism,
            ledger=self.ledger,
        )

    def _risk(self, document: Treaty, plan: Plan, records: int) -> Risk:
        risk, _ = encoder_of(document).risk(plan.problem.loss, self._source)
        if risk.n != records:
            raise TreatyError(
                _changed(
                    self._source.label, self.ledger.dataset, Dataset(risk.n, "of another number")
                )
            )
        return risk

    def rate(self, treaty: str) -> float:
        """Return how often this owner talks, relative to others, under a treaty it answers under."""
        return self._rates[treaty]

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()


def _count(treaty: Treaty, source: Source, expected: int, name: str) -> int:
    risk, _ = encoder_of(treaty).risk(plan_of(treaty).problem.loss, source)
    if risk.n != expected:
        raise TreatyError(
            f"{source.label}: there are {risk.n:,} records, and the treaty says that {name} holds "
            f"{expected:,}"
        )
    return risk.n


def _changed(label: str, before: Dataset, now: Dataset) -> str:
    return (
        f"{label}: {now.records:,} records are not the {before.records:,} that this ledger guards, or "
        "not the same ones; another dataset needs a ledger of its own"
    )
