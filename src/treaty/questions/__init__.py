"""Questions: what an owner can be asked about its records, and what an answer releases."""

from treaty.questions.mean_gradient import MeanGradient as MeanGradient
from treaty.questions.question import Question as Question
from treaty.questions.registry import QUESTIONS as QUESTIONS
from treaty.questions.registry import question_named as question_named
from treaty.questions.release import Release as Release
from treaty.questions.second_moments import SecondMoments as SecondMoments
