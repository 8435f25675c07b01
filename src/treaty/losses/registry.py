"""Losses by name: the four that come with Treaty, or a user's own by its module path."""

import importlib

from treaty.errors import TreatyError
from treaty.losses.base import Loss
from treaty.losses.hinge import Hinge
from treaty.losses.huber import Huber
from treaty.losses.logistic import Logistic
from treaty.losses.squared import Squared

SHIPPED: dict[str, type[Loss]] = {loss.name: loss for loss in (Squared, Hinge, Logistic, Huber)}


def loss_named(name: str, parameters: dict[str, float] | None = None) -> Loss:
    """Return the loss called `name`: a shipped one, or "package.module:Class".

    Example:
        >>> loss_named("huber", {"delta": 0.5}).slope_bound(10.0, (-1.0, 1.0))
        1.0
    """
    kind = _own(name) if ":" in name else SHIPPED.get(name)
    if kind is None:
        raise TreatyError(
            f'no loss is called "{name}"; shipped are {", ".join(sorted(SHIPPED))}, '
            'and your own goes by its module path, such as "my_losses:Pinball"'
        )
    try:
        return kind.from_parameters(parameters or {})
    except TypeError as error:
        raise TreatyError(f'loss "{name}" does not take these parameters: {error}') from error


def _own(path: str) -> type[Loss]:
    module_name, _, class_name = path.partition(":")
    try:
        kind = getattr(importlib.import_module(module_name), class_name)
    except ImportError as error:
        raise TreatyError(
            f'loss "{path}": cannot import {module_name} ({error}); '
            "install it, or put its folder on PYTHONPATH"
        ) from error
    except AttributeError as error:
        raise TreatyError(f'loss "{path}": {module_name} has no class {class_name}') from error
    if not (isinstance(kind, type) and issubclass(kind, Loss)):
        raise TreatyError(f'loss "{path}" is not a subclass of treaty.losses.Loss')
    return kind
