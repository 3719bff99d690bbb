"""What `fairwind doctor` concludes from what it finds."""

from __future__ import annotations

from fairwind.cli.doctor import diagnosis, removals, works
from fairwind.machine import Capability, Leftover


def test_only_what_is_needed_keeps_the_main_jobs_from_working():
    there = [Capability("a", "ok", "1", ""), Capability("b", "limited", "2", "do this")]
    absent = Capability("c", "missing", "none", "do that")
    needed = Capability("d", "needed", "none", "do this first")
    assert works([*there, absent])
    assert not works([*there, needed])


def test_removals_and_failures_are_listed():
    removed = [Leftover("namespace X", None), Leftover("folder Y", "remove Y: not permitted")]
    assert removals(removed) == [
        "removed: namespace X",
        "could not remove: remove Y: not permitted",
    ]
    assert removals([]) == ["no leftovers of ended runs"]


def test_findings_have_remedies_and_are_unique():
    found = diagnosis()
    assert len({one.what for one in found}) == len(found)
    assert all(bool(one.remedy) == (one.state != "ok") for one in found)
