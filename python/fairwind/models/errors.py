"""Checks of model parameters, and their errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairwind.errors import FairwindError

Floats = NDArray[np.float64]


class ModelError(FairwindError):
    """A parameter that no model can be made of."""


class ModelWarning(UserWarning):
    """A parameter that a model can be made of, but that hardly anybody means."""


def positive(name: str, values: ArrayLike, hint: str) -> Floats:
    """Give values as an array if all of them are finite and above zero.

    Parameters
    ----------
    name : str
        Of the parameter, with its unit at the end.
    values : array_like
        Numbers.
    hint : str
        What to give instead.

    Raises
    ------
    ModelError
        If one is not.
    """
    array = _numbers(name, values, hint)
    return _all(array, array > 0, f"{name} is {{:g}}: it must be finite and above zero", hint)


def not_negative(name: str, values: ArrayLike, hint: str) -> Floats:
    """Give values as an array if all of them are finite and none is below zero, as `positive`."""
    array = _numbers(name, values, hint)
    return _all(array, array >= 0, f"{name} is {{:g}}: it must be finite and not below zero", hint)


def _all(array: Floats, holds: NDArray[np.bool_], message: str, hint: str) -> Floats:
    bad = array[~(np.isfinite(array) & holds)]
    if bad.size:
        raise ModelError(message.format(bad.flat[0]), hint)
    return array


def _numbers(name: str, values: ArrayLike, hint: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} is {values!r}: a number was expected", hint) from error
