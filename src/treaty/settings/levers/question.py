"""The question: one, at the public model; the answers are blended with what public rows tell."""

from treaty.terms import Treaty

ROOM = 10.0
"""Θ is a box so large that it does not matter; where gradients are clipped it costs no noise."""
RIDGE = 1e-6


def one_question(treaty: Treaty) -> Treaty:
    """Return the treaty with one question at the tuned public model, every gradient clipped."""
    training = treaty.training.model_copy(
        update={"method": "blended-step", "horizon": 1, "start": "tuned", "parameters": {}}
    )
    loss = treaty.loss.model_copy(
        update={
            "clip": treaty.loss.clip or 1.0,
            "clip_norm": None,
            "ridge": RIDGE,
            "theta_max": ROOM,
        }
    )
    parties = tuple(party.model_copy(update={"answers": None}) for party in treaty.parties)
    return treaty.model_copy(
        update={"training": training, "loss": loss, "parties": parties, "fitted": None}
    )
