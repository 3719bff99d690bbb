"""What the digest of a class covers, so that a run never shows the results of another class."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairwind.congestion.identity import NoDigestError, digest_of
from fairwind.congestion.used import control_versions
from fairwind.errors import FairwindError
from fairwind.execution.execute import RunSettings, run_plan
from made_up import ScriptedEngine, plan

FACTOR = 2


def halved(window):
    return window // FACTOR


class Base:
    beta = 0.5

    def ssthresh(self, sender):
        return halved(sender.snd_cwnd)


class Derived(Base):
    def on_ack(self, sender, acked):
        sender.snd_cwnd += acked


def made_with(beta):
    class Mine:
        def ssthresh(self, sender):
            return int(sender.snd_cwnd * beta)

    return Mine


def with_default(beta):
    class Mine:
        def ssthresh(self, sender, beta=beta):
            return int(sender.snd_cwnd * beta)

    return Mine


def with_object(**values):
    settings = SimpleNamespace(**values)

    class Mine:
        def ssthresh(self, sender):
            return int(sender.snd_cwnd * settings.beta)

    return Mine


@pytest.mark.parametrize("factory", [made_with, with_default])
def test_values_of_closures_and_defaults_count(factory):
    assert digest_of(factory(0.5)) != digest_of(factory(0.7))
    assert digest_of(factory(0.5)) == digest_of(factory(0.5))


def test_objects_in_closures_count():
    assert digest_of(with_object(beta=0.5)) != digest_of(with_object(beta=0.7))
    assert digest_of(with_object(beta=0.5)) == digest_of(with_object(beta=0.5))
    nested = [digest_of(made_with({"a": [1, {2, value}]})) for value in (3, 4)]
    assert nested[0] != nested[1]


def test_globals_of_called_functions_count(monkeypatch):
    before = digest_of(Derived)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3)
    assert digest_of(Derived) != before


def test_code_of_called_functions_counts(monkeypatch):
    before = digest_of(Derived)
    monkeypatch.setattr(sys.modules[__name__], "halved", lambda window: window // 3)
    assert digest_of(Derived) != before


def test_attributes_of_bases_count(monkeypatch):
    before = digest_of(Derived)
    monkeypatch.setattr(Base, "beta", 0.9)
    changed = digest_of(Derived)
    assert changed != before
    monkeypatch.setattr(Base, "undo_cwnd", lambda self, sender: 2, raising=False)
    assert digest_of(Derived) != changed


def test_attributes_set_later_count(monkeypatch):
    before = digest_of(Derived)
    monkeypatch.setattr(Derived, "gain", 4, raising=False)
    assert digest_of(Derived) != before


def test_modules_of_ones_own_count_by_source(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for beta in (0.5, 0.7):
        (tmp_path / "own_betas.py").write_text(f"def beta():\n    return {beta}\n")
        sys.modules.pop("own_betas", None)
        importlib.invalidate_caches()

        class Mine:
            def ssthresh(self, sender):
                import own_betas

                return int(sender.snd_cwnd * own_betas.beta())

        digests.append(digest_of(Mine))
    sys.modules.pop("own_betas", None)
    assert digests[0] != digests[1]


def test_installed_packages_count_by_version():
    import numpy as np

    class Mine:
        def ssthresh(self, sender):
            return int(np.sqrt(sender.snd_cwnd))

    assert digest_of(Mine) == digest_of(Mine)


def test_digests_are_the_same_in_every_process():
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); "
        "import test_control_identity as t; from fairwind.congestion.identity import digest_of; "
        "print(digest_of(t.Derived), digest_of(t.with_object(beta=0.5, names={'a', 'b', 'c'})))"
    )
    text = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
        ).stdout
        for _ in range(2)
    }
    assert len(text) == 1


def test_recursive_references_end():
    class Mine:
        def ssthresh(self, sender):
            return Mine.least or super().__hash__()

    Mine.least = [Mine]
    assert digest_of(Mine) == digest_of(Mine)


def test_values_without_a_digest_are_named():
    lock = threading.Lock()

    class Mine:
        def ssthresh(self, sender):
            with lock:
                return 2

    with pytest.raises(NoDigestError, match=r"lock in the closure of .*Mine.ssthresh is a .*lock"):
        digest_of(Mine)


def test_a_run_does_not_go_on_where_a_class_cannot_be_compared(tmp_path, monkeypatch):
    lock = threading.Lock()
    experiment = {"flows": [{"name": "a", "tcp": {"congestion": "mine"}}]}

    class Mine:
        def ssthresh(self, sender):
            return 2 if lock else 3

    versions = [control_versions([experiment], {"mine": Mine}) for _ in range(2)]
    assert versions[0] != versions[1]
    engine = ScriptedEngine()
    for version in versions:
        monkeypatch.setattr(ScriptedEngine, "control_versions", lambda *_, v=version: v)
        if version is versions[0]:
            run_plan(plan((1,)), engine, RunSettings(1, tmp_path))
            continue
        with pytest.raises(
            FairwindError, match=r"(?s)control mine .*lock in the closure.*parameters"
        ):
            run_plan(plan((1,)), engine, RunSettings(1, tmp_path))
