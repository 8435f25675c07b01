"""Fitness: f, θ*, ψ, the model alone, and the trained model that leaves."""

from treaty.fitness.curvature import curvature_of as curvature_of
from treaty.fitness.moments import Moments as Moments
from treaty.fitness.problem import Problem as Problem
from treaty.fitness.risk import MomentRisk as MomentRisk
from treaty.fitness.risk import PooledRisk as PooledRisk
from treaty.fitness.risk import Risk as Risk
from treaty.fitness.risk import RowRisk as RowRisk
from treaty.fitness.risk import pooled as pooled
from treaty.fitness.risk import risk_of as risk_of
from treaty.fitness.solver import Optimum as Optimum
from treaty.fitness.solver import optimum as optimum
from treaty.fitness.yardsticks import PSI_IN_WORDS as PSI_IN_WORDS
from treaty.fitness.yardsticks import Yardstick as Yardstick
from treaty.fitness.yardsticks import best_constant as best_constant
from treaty.fitness.yardsticks import model_alone as model_alone
from treaty.fitness.yardsticks import yardstick as yardstick
