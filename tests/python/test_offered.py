"""What thin streams ask for, of every kind of workload."""

from __future__ import annotations

from typing import Any

import pytest

from fairwind.quantities import parse_bytes, parse_seconds
from fairwind.studies.workloads import mean_of, payload_bits_per_second, wire_bits_per_second


def group(size: Any, interval: Any = "100 ms") -> dict[str, Any]:
    return {"workload": {"kind": "thin", "size": size, "interval": interval}, "tcp": {}}


def test_a_payload_is_offered_with_52_bytes_of_headers():
    # (120 + 20 + 20 + 12) B x 8 x 10 / s
    assert wire_bits_per_second(group({"payload": "120 B"})) == pytest.approx(13_760)
    assert payload_bits_per_second(group({"payload": "120 B"})) == pytest.approx(9_600)


def test_a_packet_is_offered_with_its_headers_in_it():
    assert wire_bits_per_second(group({"packet": "172 B"})) == pytest.approx(13_760)
    assert payload_bits_per_second(group({"packet": "172 B"})) == pytest.approx(9_600)


def test_recorded_applications_offer_their_means():
    # 26 B every 314 ms
    recorded = {"distribution": "empirical", "quantiles": [], "mean": "26 B"}
    every = {"distribution": "empirical", "quantiles": [], "mean": "314 ms"}
    offered = payload_bits_per_second(group({"payload": recorded}, every))
    assert offered == pytest.approx(662.42, abs=0.01)


@pytest.mark.parametrize(
    ("quantity", "mean"),
    [
        ("2 s", 2.0),
        ({"distribution": "exponential", "mean": "150 ms"}, 0.15),
        ({"distribution": "uniform", "min": "50 ms", "max": "150 ms"}, 0.1),
        ({"distribution": "pareto", "min": "100 ms", "shape": 1.5}, 0.3),  # 0.1 x 1.5 / 0.5
        ({"distribution": "pareto", "min": "100 ms", "shape": 1}, None),  # it has none
        (  # 0.995 x 4 ms + 0.005 x (4 + 104) / 2 ms
            {
                "distribution": "empirical",
                "quantiles": [
                    {"share": "0 ppb", "value": "4 ms"},
                    {"share": "99.5 %", "value": "4 ms"},
                    {"share": "100 %", "value": "104 ms"},
                ],
            },
            0.00425,
        ),
        ({"distribution": "bounded-pareto", "min": "1 ms", "max": "1 s", "shape": 1.2}, None),
    ],
)
def test_a_mean_is_given_where_it_is_known(quantity, mean):
    found = mean_of(quantity, parse_seconds)
    assert found == (None if mean is None else pytest.approx(mean))


def test_a_workload_without_sizes_offers_what_nobody_knows():
    greedy = {"workload": {"kind": "greedy"}, "tcp": {}}
    assert wire_bits_per_second(greedy) is None
    assert payload_bits_per_second(greedy) is None
    assert mean_of("3 kB", parse_bytes) == 3000
