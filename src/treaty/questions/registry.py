"""Questions by the name they have on the wire and in ledgers."""

from treaty.errors import TreatyError
from treaty.questions.mean_gradient import MeanGradient
from treaty.questions.question import Question
from treaty.questions.second_moments import SecondMoments

QUESTIONS: dict[str, type[Question]] = {
    question.name: question
    for question in (
        MeanGradient,
        SecondMoments,
    )
}


def question_named(name: str) -> type[Question]:
    """Return the question called `name`."""
    if name not in QUESTIONS:
        raise TreatyError(f'no question is called "{name}"; there are {", ".join(QUESTIONS)}')
    return QUESTIONS[name]
