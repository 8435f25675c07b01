"""Simulation: many runs of one learner at once."""

from treaty.simulation.chance import differing_by_chance as differing_by_chance
from treaty.simulation.grid import sweep as sweep
from treaty.simulation.simulation import Simulation as Simulation
from treaty.simulation.simulation import simulate as simulate
from treaty.simulation.simulation import simulated_models as simulated_models
