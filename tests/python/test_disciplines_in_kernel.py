"""fq, pfifo_fast, hfsc and netem of kernels in virtual time do what ours do.

The numbers are those of crates/network/tests/network/fq.rs and pfifo_fast.rs, where a link takes
the place of htb, which lets one more packet pass at the beginning; and that of hfsc.rs.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from fairwind.kernels import catalogue
from fairwind.kernels.catalogue import built_kernels
from process import fairwind

KERNELS = built_kernels() if catalogue.WORKER.exists() else []
NEWEST = [kernel for kernel in KERNELS if kernel.release.startswith("7.")]

PROGRAM = Path(__file__).parent / "disciplines_in_kernel.py"
EXPRESS = 1 + 8
ORDER_BEHIND_HFSC = (
    "0232202121230101200010321000210003210001200031201000210300210001203021"
    "2010202310022100023212122212232122222122312221311131131131113113113133"
    "3333333322212132222122212322122212223113111311311311131133333333333333"
)


def done_by(kernel: str, trials: tuple[str, ...], folder: Path) -> dict[str, list]:
    shell = ("shell", "--on", kernel, "--rate", "1 Gbit/s", "--")
    code, out, error = fairwind(*shell, "python3", str(PROGRAM), *trials, cwd=folder)
    assert code == 0, error
    return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> dict[str, list]:
    if not NEWEST:
        pytest.skip("no kernel 7.x for virtual time is built: fairwind kernel build 7.3")
    return done_by(NEWEST[0].name, (), tmp_path_factory.mktemp("kernel"))


def test_slots_of_pfifo_fast_become_free_sixteen_at_a_time(done):
    # One more packet than behind our link has left, the 16th of them before 14 ms.
    assert done["long_ring"] == [10, 14, 30]
    assert done["end_of_ring"] == [0, 0, 20]
    assert done["short_ring"] == [0, 24]


def test_flow_limit_of_fq_counts_what_does_not_pass_by(done):
    assert Counter(done["limited"]) == {0: EXPRESS + 1 + 100, 1: 20}


def test_flows_of_fq_take_turns(done):
    first, rest = done["turns"][: EXPRESS + 1], done["turns"][EXPRESS + 1 :]
    assert set(first) == {0}
    rounds = [sorted(rest[begin : begin + 3]) for begin in range(3, 150, 3)]
    assert all(one == [0, 1, 2] for one in rounds)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("spaced", [10 * number for number in range(15)]),
        ("first_turn", [0, *range(9), 18, 28, 38, 48, 58]),
        ("one_by_one", [3 * number for number in range(12)]),
        ("by_quanta", [0] * 10 + [30] * 2),
    ],
)
def test_maxrate_of_fq_spaces_packets(done, name, expected):
    assert done[name] == pytest.approx(expected, abs=0.05)


def test_bands_of_fq_have_nine_three_and_one_parts(done):
    packets = 3 * 568
    counts = Counter(done["bands"][:packets])
    for flow, parts in enumerate((9, 3, 1)):
        assert counts[flow] == pytest.approx(packets * parts / 13, abs=EXPRESS + 6)


@pytest.mark.skipif(
    not KERNELS, reason="no kernel for virtual time is built: fairwind kernel build"
)
def test_order_behind_hfsc_is_ours(tmp_path):
    for kernel in KERNELS:
        done = done_by(kernel.name, ("hfsc",), tmp_path)
        assert done["hfsc"] == ORDER_BEHIND_HFSC, kernel.name


def test_four_states_of_netem_lose_as_the_chain_says(done):
    # As in four_states_have_their_stationary_shares of crates/network/src/link/wire.rs.
    p13, p31, p32, p23, p14 = 0.02, 0.3, 0.2, 0.5, 0.01
    three = p13 / p31
    loss = (three + p14) / (1 + three + three * p32 / p23 + p14)
    begins = p14 + p13 + three * p32
    single_losses = (p14 + (p13 + three * p32) * (p31 + p32)) / begins
    single_deliveries = (three * p32 * p23 + (three * p31 + p14) * (p13 + p14)) / begins
    expected = [loss, single_losses, single_deliveries]
    # Some four standard deviations of 300 000 packets and of 12 000 runs.
    assert done["states"] == pytest.approx(expected, abs=0.02)
    assert done["states"][0] == pytest.approx(loss, abs=0.004)
