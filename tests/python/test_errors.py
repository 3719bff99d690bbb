"""One root for all errors, and settings from Python."""

from __future__ import annotations

import numpy as np
import pytest

import fairwind
from fairwind import FairwindError, ScenarioError, SimulationError, _core
from fairwind.scenario import Scenario

TEXT = """
name = "x"
duration = "5 s"
[path]
rate = "1 Mbit/s"
rtt = "20 ms"
[[flows]]
name = "a"
workload = { kind = "greedy" }
"""


def test_every_error_of_the_core_is_caught_by_its_root():
    errors = [
        value
        for name in _core.__all__
        if isinstance(value := getattr(_core, name), type) and issubclass(value, Exception)
    ]
    assert {ScenarioError, SimulationError, _core.CaptureError, _core.ControlError} <= {*errors}
    assert [error for error in errors if not issubclass(error, FairwindError)] == []


def test_the_root_catches_a_wrong_scenario():
    with pytest.raises(fairwind.FairwindError) as caught:
        Scenario("x.toml", TEXT).with_settings({"duration": 5}).check()
    assert isinstance(caught.value, ScenarioError)
    assert caught.value.errors[0]["key"] == "duration"
    assert "a time needs a unit" in str(caught.value)
    assert caught.value.message == str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("flows.a.count", 4, 4),
        ("flows.a.count", np.int64(4), 4),
        ("flows.a.count", "4", 4),
        ("flows.a.tcp.sack", False, False),
        ("flows.a.tcp", {"sack": True, "congestion": "bic"}, {"sack": True, "congestion": "bic"}),
        ("flows.a.tcp.congestion", {"name": "htcp"}, "htcp"),
    ],
)
def test_python_values_are_settings(key, value, expected):
    plan = Scenario("x.toml", TEXT).with_settings({key: value}).plan
    found = plan.cells[0].experiment["flows"][0]
    for step in key.split(".")[2:]:
        found = found[step]
    if isinstance(expected, dict):
        found = {name: found[name] for name in expected}
    assert found == expected


def test_lists_are_axes_and_numbers_keep_their_digits():
    scenario = Scenario("x.toml", TEXT + '[sweep]\n"path.loss" = ["1 %"]\n')
    plan = scenario.with_settings(
        {"path.loss": ["1 %", "2 %"], "measure.percentiles": [50, 99.9]}
    ).plan
    assert len(plan.cells) == 2
    assert plan.cells[0].experiment["measure"]["percentiles"] == [50.0, 99.9]


@pytest.mark.parametrize("value", [None, {"rate": None}, object(), float("nan"), 1 << 70, b"5 s"])
def test_values_without_a_form_in_toml_are_refused(value):
    with pytest.raises(FairwindError, match=r"path.* cannot be set to .*: a setting is a text"):
        Scenario("x.toml", TEXT).with_settings({"path": value})
