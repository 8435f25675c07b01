"""How much noise several answers need so that together they keep within a budget."""

import functools
import math

from treaty.privacy.budget import Budget

LOOSEST = 500.0
"""Above this ε, δ buys next to nothing, and its exponential overflows."""
SOLVER_SLACK = 1.0 + 1e-7
"""What σ is multiplied by, against the rounding of its solver."""


@functools.cache
def pure_epsilon_each(budget: Budget, answers: int) -> float:
    """Return the ε₀ such that `answers` pure ε₀-private answers are (ε, δ)-private together.

    With δ = 0 that is ε/answers, by composition. With δ > 0 it is the largest ε₀ that optimal
    composition allows: every ε₀-private answer is dominated by randomised response, whose privacy
    loss dp-accounting composes tightly and rounds up.
    """
    plain = budget.epsilon / answers
    if budget.delta == 0 or budget.epsilon > LOOSEST or answers == 1:
        return plain

    from dp_accounting.pld import common, privacy_loss_distribution

    def spent(each: float) -> float:
        loss = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(each, 0.0),
            value_discretization_interval=each / 20,
        )
        return float(loss.self_compose(answers).get_delta_for_epsilon(budget.epsilon))

    low, high = plain, budget.epsilon
    while high / low > 1 + 1e-4:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if spent(middle) <= budget.delta else (low, middle)
    return low


@functools.cache
def gaussian_multiplier(budget: Budget, answers: int) -> float:
    """Return σ/Δ₂ such that `answers` Gaussian answers are (ε, δ)-private together.

    `answers` Gaussians of multiplier m compose exactly to one of multiplier m/√answers, and
    dp-accounting solves for that one without slack (Balle and Wang 2018). Its doubles can leave δ
    exceeded by up to a millionth, so that a little is added.
    """
    if budget.unlimited:
        return 0.0
    import dp_accounting

    one = float(dp_accounting.get_sigma_gaussian(budget.epsilon, budget.delta))
    return one * SOLVER_SLACK * math.sqrt(answers)
