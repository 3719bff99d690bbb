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
    return checked(name, values, hint, np.greater, 0.0, "finite and above zero")


def not_negative(name: str, values: ArrayLike, hint: str) -> Floats:
    """Give values as an array if all of them are finite and none is below zero, as `positive`."""
    rule = "finite and not below zero"
    return checked(name, values, hint, np.greater_equal, 0.0, rule)


def checked(
    name: str, values: ArrayLike, hint: str, holds: np.ufunc, least: float, rule: str
) -> Floats:
    """Give values as an array if all are finite and hold against the least, as `positive`."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} is {values!r}: a number was expected", hint) from error
    bad = array[~(np.isfinite(array) & holds(array, least))]
    if bad.size:
        raise ModelError(f"{name} is {bad.flat[0]:g}: it must be {rule}", hint)
    return array
