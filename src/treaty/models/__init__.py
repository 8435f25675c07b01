"""Models: what a training comes to, as plain data and as a scikit-learn estimator."""

from treaty.models.model import Model as Model
