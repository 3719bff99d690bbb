"""The scenario that takes the answer apart: the search's own paths and streams, and its tables."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from fairwind_studies.right_aggressiveness import ablation
from fairwind_studies.right_aggressiveness.ablation import SLOWEST

import fairwind

HERE = Path(ablation.__file__).parent


def content(name: str) -> dict:
    return tomllib.loads((HERE / name).read_text(encoding="utf-8"))


def test_places_are_the_paths_of_the_search_and_unseen_ones():
    search, places = content("tune.toml"), content("ablation.toml")["sweep"]["place"]
    assert set(places) - set(ablation.UNSEEN) == set(search["paths"] | search["confirm"]["paths"])
    for name, keys in (search["paths"] | search["confirm"]["paths"]).items():
        assert places[name] == keys


def test_streams_are_those_of_the_search_with_its_reference():
    search, own = content("scenario.toml"), content("ablation.toml")
    reference = content("tune.toml")["reference"]["flows.modified.tcp.constants_for"]
    for theirs, ours in zip(search["flows"], own["flows"], strict=True):
        more = {"constants_for": reference} if theirs["name"] == "modified" else {}
        assert ours == theirs | {"tcp": theirs["tcp"] | more}
    assert (own["path"], own["duration"]) == (search["path"], search["duration"])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    scenario = fairwind.load(HERE / "ablation.toml").with_settings(
        {
            "sweep.place": '["base", "near", "jittery"]',
            "sweep.variant": '["TCP", "23 ms", "bundling"]',
            "sweep.repeat": "3",
            "duration": '"40 s"',
        }
    )
    return scenario.run(out=tmp_path_factory.mktemp("ablation") / "run")


def test_gains_are_written_by_variant_and_place(run):
    lines = ablation.gains(run)
    assert lines[0] == "| variant | mean | base | near | jittery |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| 23 ms", "| bundling"]
    near = float(lines[2].split(" | ")[3])
    assert near < -20, "a short RTO gains much where round trips are short"


def test_mean_over_paths_counts_in_units_of_the_reference():
    latencies = {"TCP": [1.0, 3.0, 2.0, 2.0], "LT": [2.0, 2.0, 1.0, 1.0]}
    rows = [
        {"group": "modified", "place": place, "seed": seed, "variant": name, SLOWEST: latency}
        for name, values in latencies.items()
        for (place, seed), latency in zip(product(["base", "near"], [1, 2]), values, strict=True)
    ]
    # No change of the mean on the base path, half on the other one; by seeds 0 and -50 %.
    results = SimpleNamespace(groups=pl.DataFrame(rows))
    assert ablation.over_paths(results, "LT").startswith("-25.0 [")


def test_harms_count_every_place_once(run):
    for line in ablation.harms(run)[2:]:
        counts = [int(cell) for cell in line.split(" | ")[1:4]]
        assert sum(counts) == 3
