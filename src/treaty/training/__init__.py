"""Training in one process: a treaty, its records, a learner and owners with real budgets."""

from treaty.training.assembly import Assembly as Assembly
from treaty.training.assembly import assemble as assemble
from treaty.training.assembly import sources as sources
from treaty.training.train import Training as Training
from treaty.training.train import drive as drive
from treaty.training.train import train as train
from treaty.training.train import train_peers as train_peers
