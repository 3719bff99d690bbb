"""The study of aggression: verdicts follow their rule, and figures are drawn."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
from fairwind_studies.aggression.study import claims, figures

from fairwind.aggression import MEASURES
from fairwind.results import Verdict
from fairwind.studies import study_named


def table(
    axis: str, excess: dict[str, tuple[float, float]], load: str | None = None
) -> pl.DataFrame:
    """Give four seeds of each sender: its excess share, and its excess answer."""
    further = {} if load is None else {"load": load}
    rows = [
        {
            "cell": cell,
            "replicate": seed,
            "seed": seed,
            axis: sender,
            **further,
            "group": "mine",
            **dict.fromkeys(MEASURES, 0.7),
            "excess_throughput_ratio": share + seed / 1000,
            "excess_sent_ratio": share + seed / 1000,
            "excess_after_ratio": answer - seed / 1000,
        }
        for cell, (sender, (share, answer)) in enumerate(excess.items())
        for seed in range(4)
    ]
    return pl.DataFrame(rows)


def results(*, has_mechanisms: bool = True) -> SimpleNamespace:
    controls = table(
        "flows_mine_tcp_congestion",
        {"reno": (0.0, 0.0), "strong": (2.0, 0.3), "mild": (-0.2, 0.0), "near": (0.05, 0.05)},
    )
    thin = table("mechanism", {"none": (0.0, 0.2), "bundling": (0.6, -0.1)}, load="heavy")
    part = SimpleNamespace(aggression=lambda _reference: thin)
    return SimpleNamespace(
        aggression=lambda _reference: controls,
        part=lambda _name: part if has_mechanisms else None,
    )


def test_verdicts_follow_the_interval() -> None:
    equal, share, answer, thin_equal, thin_sent, thin_answer = claims(results())
    assert equal.verdict is Verdict.HOLDS
    assert share.verdict is Verdict.HOLDS_FOR_SOME
    assert share.in_short == "It is so of strong."
    assert "undecided: near" in share.evidence
    assert "not more: mild" in share.evidence
    assert answer.in_short == "It is so of strong."
    assert thin_equal.verdict is Verdict.HOLDS_FOR_SOME, "the answer is 20 % more"
    assert thin_sent.verdict is Verdict.HOLDS
    assert thin_answer.verdict is Verdict.FAILS


def test_share_is_averaged_as_a_ratio() -> None:
    _, share, *_ = claims(results())
    strong = share.details.filter(pl.col("sender") == "strong")
    assert 2.0 < strong["mean"].item() < 2.003
    assert strong["low"].item() < strong["mean"].item() < strong["high"].item()


def test_each_part_has_a_figure() -> None:
    names = [figure.name for figure in figures(results())]
    assert names == ["aggression-of-controls", "aggression-of-mechanisms-heavy"]
    assert len(figures(results(has_mechanisms=False))) == 1
    assert len(claims(results(has_mechanisms=False))) == 3


def test_forms_have_both_parts() -> None:
    study = study_named("aggression")
    for form in ("full", "reduced"):
        assert len(study.scenario(form).plan.cells) == 14
        (name,) = study.further_scenarios(form)
        assert name == "mechanisms"
