"""Losses: value, slope, and the bounds they declare."""

from treaty.losses.base import Domain as Domain
from treaty.losses.base import Loss as Loss
from treaty.losses.base import Norm as Norm
from treaty.losses.clipped import Clipped as Clipped
from treaty.losses.hinge import Hinge as Hinge
from treaty.losses.huber import Huber as Huber
from treaty.losses.logistic import Logistic as Logistic
from treaty.losses.registry import SHIPPED as SHIPPED
from treaty.losses.registry import loss_named as loss_named
from treaty.losses.registry import permit as permit
from treaty.losses.registry import ships as ships
from treaty.losses.squared import Squared as Squared
from treaty.losses.weighted import Weighted as Weighted
from treaty.losses.windowed import Windowed as Windowed
