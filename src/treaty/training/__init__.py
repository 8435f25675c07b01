"""Training in one process: a treaty, its records, a learner and owners with real budgets."""

from treaty.training.assembly import Assembly as Assembly
from treaty.training.assembly import assemble as assemble
from treaty.training.assembly import sources as sources
from treaty.training.assembly import survey_of as survey_of
from treaty.training.training import Training as Training
from treaty.training.training import drive as drive
from treaty.training.training import own_gains_with as own_gains_with
from treaty.training.training import rivals_of as rivals_of
from treaty.training.training import train as train
from treaty.training.training import train_only as train_only
from treaty.training.training import train_peers as train_peers
