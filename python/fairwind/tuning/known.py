"""Known mechanisms of loss recovery in thin streams, as points that a front is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MECHANISMS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "mFR": {"modified_fast_retransmit": True},
    "LT": {"linear_timeouts": True},
    "LT+mFR": {"linear_timeouts": True, "modified_fast_retransmit": True},
    "early retransmit": {"early_retransmit": True},
    "RACK-TLP": {"loss_detection": "rack", "tail_loss_probe": True},
    "bundling": {"redundant_bundling": True},
}
"""Keys of `tcp` by mechanism.

Sources: mFR and LT, Petlund (2009); early retransmit, RFC 5827; RACK-TLP, RFC 8985; bundling,
Markussen (2014).
"""


def mechanisms_of(group: str) -> dict[str, dict[str, Any]]:
    """Give the key paths that each mechanism sets for a group of flows."""
    return {
        name: {f"flows.{group}.tcp.{key}": value for key, value in keys.items()}
        for name, keys in MECHANISMS.items()
    }
