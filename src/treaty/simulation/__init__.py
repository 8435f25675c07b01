"""Simulation: many runs of one learner at once."""

from treaty.simulation.simulate import Simulation as Simulation
from treaty.simulation.simulate import simulate as simulate
from treaty.simulation.sweep import sweep as sweep
