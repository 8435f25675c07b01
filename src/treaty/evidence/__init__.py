"""Evidence: what a forecast knows of the records before anybody shows any."""

from treaty.evidence.evidence import Evidence as Evidence
from treaty.evidence.evidence import Ground as Ground
from treaty.evidence.folds import cross_fitted as cross_fitted
from treaty.evidence.stage import Stage as Stage
from treaty.evidence.stage import stages as stages
from treaty.evidence.stand_in import EvidenceKind as EvidenceKind
from treaty.evidence.stand_in import StandIn as StandIn
