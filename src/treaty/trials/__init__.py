"""Trials: many simulated trainings, spread over processes or a cluster, whose results are kept."""

from treaty.trials.clipping import ClippedAtAnySize as ClippedAtAnySize
from treaty.trials.clipping import gradient_sizes as gradient_sizes
from treaty.trials.spreading import spread as spread
from treaty.trials.steps import best_step as best_step
from treaty.trials.store import Store as Store
