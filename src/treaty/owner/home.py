"""An owner's folder: its ledger, its policy, the treaties it has ratified, and where its records are.

Nobody else can read anything in it. `records.key` is a secret that never leaves it: the fingerprint by
which the ledger knows the records again is keyed with it.
"""

import contextlib
import secrets
from collections.abc import Generator
from fractions import Fraction
from pathlib import Path

import tomli_w

from treaty.errors import Refusal, TreatyError
from treaty.limits import check_answer
from treaty.losses import permit
from treaty.owner.backup import files_of, unpack
from treaty.owner.offer import Offer
from treaty.owner.open_home import InUse, OpenHome, changed
from treaty.owner.policy import Policy
from treaty.plain import Plain, read_plain
from treaty.plans import peer_plans
from treaty.privacy import Budget, Dataset, DurableLedger, Grant
from treaty.privacy.restoring import restore
from treaty.private_files import close_to_others, make_private_folder, write_private
from treaty.records import Source, open_source
from treaty.terms import Treaty, dumps, encoder_of, fingerprint, fit, plan_of

KEY_BYTES = 32


class Whereabouts(Plain):
    """Whose folder it is, and where the records are: owner.toml.

    Args:
        name: the owner.
        data: the file of the records, or the file about a database.
    """

    name: str
    data: str


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

    @property
    def owner_file(self) -> Path:
        """Whose it is and where the records are."""
        return self.folder / "owner.toml"

    @property
    def key_file(self) -> Path:
        """The secret with which records are fingerprinted."""
        return self.folder / "records.key"

    def records(self) -> Path:
        """Return where the records are."""
        return Path(self._whereabouts().data)

    def _whereabouts(self) -> Whereabouts:
        if not self.owner_file.exists():
            raise TreatyError(
                f"{self.folder}: nothing has been ratified here: treaty ratify does that, or give the "
                "folder in which it was done. If the folder is lost, treaty ledger --restore BACKUP "
                "brings it back; ratifying anew would begin a fresh budget"
            )
        return read_plain(Whereabouts, self.owner_file)

    def ledger(self) -> DurableLedger:
        """Open the ledger."""
        return DurableLedger(self.ledger_file)

    def _key(self) -> bytes:
        try:
            key = self.key_file.read_bytes()
        except OSError as error:
            raise TreatyError(
                f"{self.key_file}: cannot be read ({error.strerror}). Without this key nobody can tell "
                "whether the records are those of the ledger"
            ) from error
        if len(key) != KEY_BYTES:
            raise TreatyError(
                f"{self.key_file}: not a key: it has {len(key)} bytes, not {KEY_BYTES}"
            )
        return key

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
        fresh = not self.ledger_file.exists() and not self.policy_file.exists()
        policy = Policy() if fresh else Policy.load(self.policy_file)
        # The policy first: nothing that a treaty names is touched before it is allowed by name.
        with _defaults_explained(self.policy_file, fresh=fresh):
            policy.check_terms(treaty)
        permit([treaty.loss.name])
        treaty = fit(treaty, None)
        plan = plan_of(treaty)
        check_answer(plan.releases[0].length)
        party = plan.party(name)
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
        source = treaty.open(data)
        records = _count(treaty, source, party.records, name)
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
        with _defaults_explained(self.policy_file, fresh=fresh):
            policy.check_grant(records, budget)
        left = Fraction(policy.total_epsilon) - self._committed(own) - Fraction(budget.epsilon)
        if left < 0:
            raise Refusal(
                f"epsilon {budget.epsilon:g} does not fit under the policy's total of "
                f"{policy.total_epsilon:g}: {float(left + Fraction(budget.epsilon)):g} is left"
            )
        return Offer(treaty, plan, party, records, grants, budget, float(left))

    def _check_name(self, name: str) -> None:
        known = read_plain(Whereabouts, self.owner_file).name if self.owner_file.exists() else name
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
        if not self.ledger_file.exists() and any((self.folder / "treaties").glob("*.toml")):
            raise TreatyError(
                f"{self.ledger_file}: is gone, and treaties have been ratified here: put it back, or "
                "restore a backup of it (treaty ledger --restore)"
            )
        make_private_folder(self.folder)
        close_to_others(self.folder)
        if not self.ledger_file.exists() and not self.policy_file.exists():
            Policy().save(self.policy_file)
        policy = Policy.load(self.policy_file)
        if not self.key_file.exists() and not self.ledger_file.exists():
            write_private(self.key_file, secrets.token_bytes(KEY_BYTES))
        dataset = Dataset(offer.records, source.fingerprint(self._key()))
        if not self.owner_file.exists():
            where = {"name": offer.party.name, "data": str(Path(data).resolve())}
            write_private(self.owner_file, tomli_w.dumps(where).encode())
        if not self.ledger_file.exists():
            DurableLedger.create(self.ledger_file, dataset, policy.cap).close()
        ledger = self.ledger()
        try:
            if ledger.dataset != dataset:
                raise TreatyError(changed(source.label, ledger.dataset, dataset))
            if ledger.cap != (Fraction(policy.cap.epsilon), Fraction(policy.cap.delta)):
                ledger.set_cap(policy.cap)
            make_private_folder(self.folder / "treaties")
            kept = self.folder / "treaties" / f"{fingerprint(offer.treaty)}.toml"
            write_private(kept, dumps(offer.treaty).encode())
            ledger.grant_all(offer.grants)
        finally:
            ledger.close()

    def open(self) -> "OpenHome":
        """Open everything an agent needs, and check that the records are those of the ledger."""
        policy = Policy.load(self.policy_file)
        where = self._whereabouts()
        close_to_others(self.folder)
        use = InUse(self.folder, shared=True)
        try:
            ledger = self.ledger()
        except TreatyError:
            use.end()
            raise
        try:
            ledger.verify()
            _, most_delta = ledger.cap
            if policy.total_epsilon < ledger.cap[0] or policy.total_delta < most_delta:
                epsilon = min(policy.total_epsilon, float(ledger.cap[0]))
                ledger.set_cap(Budget(epsilon, min(policy.total_delta, float(most_delta))))
            source = open_source(where.data)
            return OpenHome(self.folder, where.name, policy, ledger, source, self._key(), use)
        except BaseException:
            ledger.close()
            use.end()
            raise

    def backup(self, path: str | Path) -> int:
        """Copy ledger, policy, source and treaties into one file; return how many events it holds."""
        ledger = self.ledger()
        try:
            return ledger.backup(path, files_of(self.folder))
        finally:
            ledger.close()

    def restore(
        self, backup: str | Path, *, new_key: bool = False, data: str | Path | None = None
    ) -> Fraction:
        """Put a backup in place of what is lost or damaged; return the ε counted as lost.

        Where the folder is gone as well, as on a new machine, policy, source and treaties come back with
        the ledger: what was spent stays spent.

        Args:
            backup: the copy.
            new_key: whether the key of the records is lost as well, so that the owner vouches for them.
            data: where the records are now, if not where they were.
        """
        copy = DurableLedger(backup, marked=False)
        files = copy.files()
        copy.close()
        if not self.owner_file.exists() and "owner.toml" not in files:
            raise TreatyError(
                f"{backup}: holds the ledger alone, and {self.folder} has neither policy nor source: "
                "put policy.toml and owner.toml there first. Never ratify anew instead: that would "
                "begin a fresh budget"
            )
        unpack(files, self.folder)
        if data is not None:
            where = {"name": self._whereabouts().name, "data": str(Path(data).resolve())}
            write_private(self.owner_file, tomli_w.dumps(where).encode())
        source = open_source(self.records())
        policy = Policy.load(self.policy_file)
        close_to_others(self.folder)
        use = InUse(self.folder, shared=False)
        try:
            if self.key_file.exists() == new_key:
                raise TreatyError(
                    f"{self.key_file}: is there, so no new key is needed"
                    if new_key
                    else f"{self.key_file}: is missing. If the records are the very ones that the "
                    "backup guards, say so with --new-key"
                )
            key = secrets.token_bytes(KEY_BYTES) if new_key else self._key()
            records = sum(block.height for block in source.blocks(list(source.schema)[:1]))
            dataset = Dataset(records, source.fingerprint(key))
            copy = DurableLedger(backup, marked=False)
            guarded = copy.dataset
            copy.close()
            if guarded.records != records or (guarded != dataset and not new_key):
                raise TreatyError(changed(str(backup), dataset, guarded))
            lost = restore(self.ledger_file, Path(backup), dataset, policy.cap)
            if new_key:
                write_private(self.key_file, key)
            return lost
        finally:
            use.end()


@contextlib.contextmanager
def _defaults_explained(policy_file: Path, *, fresh: bool) -> Generator[None]:
    """Where an owner has no policy yet, say that it is the defaults which refuse."""
    try:
        yield
    except Refusal as error:
        if not fresh:
            raise
        raise Refusal(
            f"{error}; these are the defaults, write another policy into {policy_file} first"
        ) from error


def _count(treaty: Treaty, source: Source, expected: int, name: str) -> int:
    risk, _ = encoder_of(treaty).risk(plan_of(treaty).problem.loss, source)
    if risk.n != expected:
        raise TreatyError(
            f"{source.label}: there are {risk.n:,} records, and the treaty says that {name} holds "
            f"{expected:,}"
        )
    return risk.n
