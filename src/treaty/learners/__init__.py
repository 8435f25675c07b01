"""Learners: what to ask next, what to do with the answers. No I/O."""

from treaty.learners.averaged_subgradient import AveragedSubgradient as AveragedSubgradient
from treaty.learners.blended_step import BlendedStep as BlendedStep
from treaty.learners.bound import Bound as Bound
from treaty.learners.geometry import Geometry as Geometry
from treaty.learners.geometry import Survey as Survey
from treaty.learners.geometry import survey as survey
from treaty.learners.learner import Brief as Brief
from treaty.learners.learner import FrequencyScaling as FrequencyScaling
from treaty.learners.learner import Learner as Learner
from treaty.learners.one_at_a_time import OneAtATime as OneAtATime
from treaty.learners.one_shot import OneShot as OneShot
from treaty.learners.public_view import PublicView as PublicView
from treaty.learners.public_view import view_of as view_of
from treaty.learners.registry import METHODS as METHODS
from treaty.learners.registry import method_named as method_named
from treaty.learners.shrinking_steps import ShrinkingSteps as ShrinkingSteps
