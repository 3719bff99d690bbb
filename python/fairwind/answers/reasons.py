"""Reasons why an axis changed nothing: what its settings act on never happened in the run."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fairwind.folder.differing import differing
from fairwind.preview.traps import OF_THIN_STREAMS, thin_below
from fairwind.results import Results
from fairwind.results.tidy import ANSWERS
from fairwind.scenario.plan import Axis

RETRANSMISSION = ("data_segments_retransmitted", "no flow of {group} retransmitted")

COUNTERS: Mapping[str, tuple[str, str]] = {
    "backoff_factor": ("timeouts", "no flow of {group} had a time-out"),
    "collapse_retransmissions": RETRANSMISSION,
    "early_retransmit": RETRANSMISSION,
    "early_retransmit_delay": RETRANSMISSION,
    "ecn": ("packets_marked", "no packet of {group} was marked"),
    "forward_rto": ("timeouts", "no flow of {group} had a time-out"),
    "linear_retries": ("timeouts", "no flow of {group} had a time-out"),
    "linear_timeouts": ("timeouts", "no flow of {group} had a time-out"),
    "loss_detection": RETRANSMISSION,
    "lost_retransmission_detection": RETRANSMISSION,
    "modified_fast_retransmit": RETRANSMISSION,
    "probe_ack_delay": RETRANSMISSION,
    "probe_factor": RETRANSMISSION,
    "rack_duplicate_threshold": RETRANSMISSION,
    "redundant_bundling": ("bundles_sent", "no flow of {group} sent a bundle"),
    "redundant_streams": ("bundles_sent", "no flow of {group} sent a bundle"),
    "reordering_window": RETRANSMISSION,
    "reordering_window_grows": RETRANSMISSION,
    "retransmission_limit": RETRANSMISSION,
    "syn_retries": ("syn_retries", "no flow of {group} retransmitted a SYN"),
    "tail_loss_probe": RETRANSMISSION,
    "thin_duplicate_threshold": RETRANSMISSION,
    "timers": ("timeouts", "no flow of {group} had a time-out"),
    "undo": RETRANSMISSION,
    "window_reduction": RETRANSMISSION,
}
"""By setting: the column of the table of flows that counts what it acts on, and its absence."""

OF_SENDERS = COUNTERS.keys() - {"ecn", "syn_retries"}
"""Settings without effect at an end that sends no data."""

OF_REPEATED_TIMEOUTS = ("backoff_factor", "linear_retries", "linear_timeouts")
"""Settings of the second of several time-outs in a row, and those after it."""

OF_CONTROLS = {"hystart": "cubic"}
"""Settings of one congestion control."""


def reason_without_effect(results: Results, axis: Axis, value: str) -> str | None:
    """Say why one value of an axis gave the same as the first one; None where it does not show."""
    changed: dict[str, tuple[str, str]] = {}
    cells = {tuple(one.settings.items()): one.experiment for one in results.manifest.plan.cells}
    for settings, experiment in cells.items():
        place = dict(settings)
        other = cells.get(tuple((place | {axis.name: value}).items()))
        if place[axis.name] == axis.labels[0] and other is not None:
            changed |= differing(experiment, other)
    if not changed:
        return "both values resolve to the same settings"
    found = [_reason(results, key) for key in changed]
    known = [one for one in dict.fromkeys(found) if one is not None]
    return "; ".join(known) if None not in found else None


def _reason(results: Results, key: str) -> str | None:
    """Say why a key of a resolved experiment did not matter."""
    match key.split("."):
        case ["flows", group, "tcp" | "receiver_tcp" as end, setting]:
            is_own = end == "tcp" or setting == "ecn"  # marks matter at either end
            flows = results.flows.filter(group=group if is_own else f"{group}{ANSWERS}")
            if setting in OF_CONTROLS:
                return _other_control(results, group, end, setting)
            if flows.is_empty() and end == "receiver_tcp" and setting in OF_SENDERS:
                return f"the receivers of {group} send no data"
            return _never_counted(flows, setting) or _not_thin(results, group, end, setting)
        case ["network", "links", link, "queue", *_] if results.has_table("queues"):
            counts = results.queues.filter(queue=link).select("drops_packets", "marks_packets")
            return None if counts.sum().row(0) != (0, 0) else f"queue {link} dropped nothing"
    return None


def _other_control(results: Results, group: str, end: str, setting: str) -> str | None:
    """Say that a setting is one of another congestion control than that of a group."""
    used = {
        control if isinstance(control, str) else control["name"]
        for cell in results.manifest.plan.cells
        for flows in cell.experiment["flows"]
        if flows["name"] == group and (control := flows[end].get("congestion")) is not None
    }
    if not used or OF_CONTROLS[setting] in used:
        return None
    return (
        f"the setting {setting} is one of {OF_CONTROLS[setting]}, and {group} has {', '.join(used)}"
    )


def _never_counted(flows: pl.DataFrame, setting: str) -> str | None:
    """Say that what a setting acts on never happened to any flow."""
    column, absence = COUNTERS.get(setting, ("", ""))
    if column not in flows.columns or flows.is_empty() or flows[column].null_count():
        return None
    group = flows["group"][0]
    if not flows[column].sum():
        return absence.format(group=group)
    if setting in OF_REPEATED_TIMEOUTS and (flows["timeouts_in_a_row_max"] < 2).all():
        return f"no flow of {group} had two time-outs in a row"
    return None


def _not_thin(results: Results, group: str, end: str, setting: str) -> str | None:
    """Say that flows were not thin: the mean in flight is the rate times the ACK latency."""
    flows = results.flows.filter(group=group if end == "tcp" else f"{group}{ANSWERS}")
    if setting not in OF_THIN_STREAMS or flows.is_empty():
        return None
    below = max(
        thin_below(flow[end])
        for cell in results.manifest.plan.cells
        for flow in cell.experiment["flows"]
        if flow["name"] == group
    )
    rate = pl.col("data_segments_sent") / pl.col("measured_s")
    least = flows.select((rate * pl.col("ack_latency_mean_s")).min()).item()
    if least is None or least < below:
        return None
    return (
        f"each flow of {flows['group'][0]} had {least:.0f} packets in flight or more in the mean, "
        f"and {setting} acts on fewer than {below:.0f}"
    )
