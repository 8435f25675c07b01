"""A rehearsal in three parts: a model of some public rows, an answer of others, judged on a third."""

from dataclasses import replace

import numpy as np

from treaty.fitness import RowRisk
from treaty.fitness.curvature import curvature_of
from treaty.learners import Survey
from treaty.learners.blended_step import BlendedStep
from treaty.plans import Plan
from treaty.questions import MeanGradient

DRAWS = 8
"""So often noise is drawn."""


def promised_and_kept(
    plan: Plan, found: Survey, asked: RowRisk, judged: RowRisk, seed: int
) -> tuple[float, float]:
    """Return by how much a blended step is expected to lower the mean loss, and by how much it does.

    Where a loss is far from a square around the public model, as where few rows of a label decide, a
    step may do other than expected.

    Args:
        plan: the plan, informed by the survey.
        found: what the rows tell that the public model was made of.
        asked: rows that stand in for the owners' records.
        judged: rows that the model is judged on before and after.
        seed: of the noise.
    """
    learner = plan.learner()
    assert isinstance(learner, BlendedStep)
    problem, before, view = found.problem, learner.model, learner.brief.public
    assert view is not None
    records = asked.with_loss(problem.loss)
    mean = records.gradient(before)
    # Of so few rows chance counts, and it is larger than in the rows that the model was fitted to.
    view = replace(view, scatter=records.gradient_covariance(before) - np.outer(mean, mean))
    brief = replace(learner.brief, records=asked.n, runs=DRAWS, public=view)
    learner = BlendedStep(brief)
    curvature = curvature_of(problem, found.risk, before) + problem.ridge * np.eye(len(before))
    promised = learner.expected_gain(curvature)
    random = np.random.default_rng(seed)
    length = MeanGradient.length(problem)
    size = np.sqrt(brief.noise / length)
    while not learner.finished:
        answer = learner.ask(0).exact(records, problem)
        learner.tell(0, answer + size * random.standard_normal((DRAWS, length)))
    rows = judged.with_loss(problem.fitness_loss)
    was, became = (
        float(np.mean(rows.value(models) + problem.penalty(models)))
        for models in (before[None], learner.model)
    )
    return promised, was - became
