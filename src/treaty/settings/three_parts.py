"""A rehearsal in three parts: a model of some public rows, an answer of others, judged on a third."""

from dataclasses import replace

import numpy as np

from treaty.fitness import RowRisk
from treaty.fitness.curvature import curvature_of
from treaty.learners import Survey
from treaty.learners.blended_step import BlendedStep
from treaty.plans import Plan


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
    learner = BlendedStep(replace(learner.brief, records=asked.n))
    before = learner.model
    curvature = curvature_of(found.problem, found.risk, before)
    curvature = curvature + found.problem.ridge * np.eye(len(before))
    promised = learner.expected_gain(curvature)
    random = np.random.default_rng(seed)
    records, size = asked.with_loss(found.problem.loss), np.sqrt(learner.brief.noise / len(before))
    while not learner.finished:
        noise = size * random.standard_normal(len(before))
        learner.tell(0, records.gradient(learner.model) + noise)
    loss = found.problem.fitness_loss
    rows = judged.with_loss(loss)
    was, became = (
        float(rows.value(model)) + float(found.problem.penalty(model))
        for model in (before, learner.model)
    )
    return promised, was - became
