"""Estimators in the manner of scikit-learn, for the case of one machine that holds all records."""

from treaty.estimators.classifier import TreatyClassifier as TreatyClassifier
from treaty.estimators.regressor import TreatyRegressor as TreatyRegressor
