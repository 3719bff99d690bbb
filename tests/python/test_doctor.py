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


def test_what_was_removed_is_told_and_what_could_not_be():
    removed = [Leftover("namespace X", None), Leftover("folder Y", "remove Y: not permitted")]
    assert removals(removed) == [
        "removed: namespace X",
        "could not remove: remove Y: not permitted",
    ]
    assert removals([]) == ["nothing is left of any run that lives no more"]


def test_whatever_is_not_well_says_what_to_do_and_nothing_is_told_twice():
    found = diagnosis()
    assert len({one.what for one in found}) == len(found)
    assert all(bool(one.remedy) == (one.state != "ok") for one in found)
