"""What the package offers; each is imported when it is first used."""

from .advice import Advice as Advice
from .advice import advise as advise
from .errors import Refusal as Refusal
from .errors import TreatyError as TreatyError
from .estimators import TreatyClassifier as TreatyClassifier
from .estimators import TreatyRegressor as TreatyRegressor
from .evidence import Evidence as Evidence
from .fitness import Problem as Problem
from .fitness import risk_of as risk_of
from .fitness import yardstick as yardstick
from .forecasting import Forecast as Forecast
from .forecasting import forecast as forecast
from .gains import OwnGain as OwnGain
from .gains import OwnReport as OwnReport
from .gains import adapt_model as adapt_model
from .learners import survey as survey
from .losses import Domain as Domain
from .losses import Loss as Loss
from .models import Model as Model
from .plans import Party as Party
from .plans import Plan as Plan
from .privacy import Budget as Budget
from .records import Counts as Counts
from .records import Source as Source
from .records import open_source as open_source
from .settings import Candidate as Candidate
from .settings import plan as plan
from .simulation import Simulation as Simulation
from .simulation import simulate as simulate
from .simulation import sweep as sweep
from .terms import Treaty as Treaty
from .terms import fingerprint as fingerprint
from .terms import load as load
from .training import Assembly as Assembly
from .training import Training as Training
from .training import assemble as assemble
from .training import sources as sources
from .training import train as train
from .training import train_peers as train_peers

__version__: str
