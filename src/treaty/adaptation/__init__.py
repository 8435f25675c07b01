"""Adaptation: an owner's own model, shrunk towards a shared one, inside its own walls."""

from treaty.adaptation.adapting import Adapted as Adapted
from treaty.adaptation.adapting import adapt as adapt
from treaty.adaptation.adapting import alone as alone
from treaty.adaptation.metrics import Metric as Metric
from treaty.adaptation.metrics import in_predictions as in_predictions
from treaty.adaptation.own_records import OwnRecords as OwnRecords
