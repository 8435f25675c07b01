"""Privacy: budgets, sensitivities, mechanisms, accounting and the owner's ledger."""

from treaty.errors import TreatyError
from treaty.privacy.budget import Budget as Budget
from treaty.privacy.durable import Dataset as Dataset
from treaty.privacy.durable import DurableLedger as DurableLedger
from treaty.privacy.gaussian import Gaussian as Gaussian
from treaty.privacy.laplace import Laplace as Laplace
from treaty.privacy.ledger import Entry as Entry
from treaty.privacy.ledger import Grant as Grant
from treaty.privacy.ledger import Ledger as Ledger
from treaty.privacy.ledger import MemoryLedger as MemoryLedger
from treaty.privacy.ledger import epsilon_spent as epsilon_spent
from treaty.privacy.mechanism import Mechanism as Mechanism

MECHANISMS: dict[str, Mechanism] = {m.name: m for m in (Laplace(), Gaussian())}


def mechanism_named(name: str) -> Mechanism:
    """Return the mechanism called `name`."""
    if name not in MECHANISMS:
        raise TreatyError(f'no mechanism is called "{name}"; there are {", ".join(MECHANISMS)}')
    return MECHANISMS[name]
