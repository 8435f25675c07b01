"""Advice: whom to invite, which ε, at what price."""

from treaty.advice.advice import Advice as Advice
from treaty.advice.advice import Standpoint as Standpoint
from treaty.advice.advice import advice_of as advice_of
from treaty.advice.advice import advise as advise
from treaty.advice.advice import with_own_gains as with_own_gains
from treaty.advice.coalition import best_coalition as best_coalition
from treaty.advice.coalition import shapley as shapley
from treaty.advice.stability import Stability as Stability
from treaty.advice.worth import Worth as Worth
from treaty.advice.worth import worth_of as worth_of
