"""Treaty: is a model trained together under differential privacy worth it, and for whom?

The handful of names that most programs need:

    treaty.load        read a treaty from TOML
    treaty.sources     where each party's records are
    treaty.Evidence    rows that stand in for the records, read once for many forecasts
    treaty.forecast    what a collaboration is worth, before anyone trains
    treaty.plan        good settings for a draft, on public rows alone
    treaty.advise      whom to invite, which ε, at what price
    treaty.assemble    read the records under the treaty
    treaty.train       train once, with live noise and real budgets
    treaty.simulate    train many times at once, with simulated noise
    treaty.Model       the trained model: scikit-learn estimator, JSON
    treaty.adapt_model a shared model becomes an owner's own, and what that brings
    treaty.TreatyRegressor, treaty.TreatyClassifier
                       the same in the manner of scikit-learn, where one machine holds all records
"""

import sys

# "python -m treaty" puts the current folder first on the path, and what lies there must not become code
# because of us. Before any other import: even a json.py beside a treaty would be taken for Python's own.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    del sys.path[0]

from treaty.advice import Advice as Advice
from treaty.advice import advise as advise
from treaty.errors import Refusal as Refusal
from treaty.errors import TreatyError as TreatyError
from treaty.estimators import TreatyClassifier as TreatyClassifier
from treaty.estimators import TreatyRegressor as TreatyRegressor
from treaty.evidence import Evidence as Evidence
from treaty.fitness import Problem as Problem
from treaty.fitness import risk_of as risk_of
from treaty.fitness import yardstick as yardstick
from treaty.forecasting import Forecast as Forecast
from treaty.forecasting import forecast as forecast
from treaty.gains import OwnGain as OwnGain
from treaty.gains import OwnReport as OwnReport
from treaty.gains import adapt_model as adapt_model
from treaty.learners import survey as survey
from treaty.losses import Domain as Domain
from treaty.losses import Loss as Loss
from treaty.models import Model as Model
from treaty.plans import Party as Party
from treaty.plans import Plan as Plan
from treaty.privacy import Budget as Budget
from treaty.records import Counts as Counts
from treaty.records import Source as Source
from treaty.records import open_source as open_source
from treaty.settings import Candidate as Candidate
from treaty.settings import plan as plan
from treaty.simulation import Simulation as Simulation
from treaty.simulation import simulate as simulate
from treaty.simulation import sweep as sweep
from treaty.terms import Treaty as Treaty
from treaty.terms import fingerprint as fingerprint
from treaty.terms import load as load
from treaty.training import Assembly as Assembly
from treaty.training import Training as Training
from treaty.training import assemble as assemble
from treaty.training import sources as sources
from treaty.training import train as train
from treaty.training import train_peers as train_peers

__version__ = "0.1.0"
