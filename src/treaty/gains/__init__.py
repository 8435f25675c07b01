"""Gains: will an owner's predictions on its own next records get better, and by how much?"""

from treaty.gains.competing import ADAPTED as ADAPTED
from treaty.gains.competing import ALONE as ALONE
from treaty.gains.competing import CEILING as CEILING
from treaty.gains.competing import PUBLIC as PUBLIC
from treaty.gains.competing import TOGETHER as TOGETHER
from treaty.gains.competing import adapted as adapted
from treaty.gains.competing import contest as contest
from treaty.gains.foreseeing import foreseen_gain as foreseen_gain
from treaty.gains.imagining import imagined_gain as imagined_gain
from treaty.gains.judging import held_out_scores as held_out_scores
from treaty.gains.levels import levels_of as levels_of
from treaty.gains.own_gain import WORTHWHILE as WORTHWHILE
from treaty.gains.own_gain import Audience as Audience
from treaty.gains.own_gain import OwnGain as OwnGain
from treaty.gains.own_gain import gain_from as gain_from
from treaty.gains.own_gain import tails_of as tails_of
from treaty.gains.own_report import OwnReport as OwnReport
from treaty.gains.own_report import adapt_model as adapt_model
from treaty.gains.prospect import Prospect as Prospect
