"""Privacy: budgets, sensitivities, mechanisms, accounting and the owner's ledger."""

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
from treaty.privacy.registry import MECHANISMS as MECHANISMS
from treaty.privacy.registry import mechanism_named as mechanism_named
