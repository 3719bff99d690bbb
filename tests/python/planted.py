"""Congestion controls with one fault each, as C sources, and the area where it is found."""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = """\
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

struct planted {{
	u32 had_timeout;
}};

SEC("struct_ops")
u32 BPF_PROG(planted_ssthresh, struct sock *sk)
{{
	struct tcp_sock *tp = tcp_sk(sk);

	{ssthresh}
}}

SEC("struct_ops")
void BPF_PROG(planted_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{{
	struct tcp_sock *tp = tcp_sk(sk);
	struct planted *ca = inet_csk_ca(sk);

	{growth}
}}

SEC("struct_ops")
void BPF_PROG(planted_set_state, struct sock *sk, u8 new_state)
{{
	struct planted *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		ca->had_timeout = 1;
}}

SEC("struct_ops")
void BPF_PROG(planted_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{{
	struct tcp_sock *tp = tcp_sk(sk);

	{acked}
}}

SEC("struct_ops")
u32 BPF_PROG(planted_undo_cwnd, struct sock *sk)
{{
	return tcp_reno_undo_cwnd(sk);
}}

SEC(".struct_ops")
struct tcp_congestion_ops planted = {{
	.ssthresh = (void *)planted_ssthresh,
	.cong_avoid = (void *)planted_cong_avoid,
	.set_state = (void *)planted_set_state,
	.pkts_acked = (void *)planted_pkts_acked,
	.undo_cwnd = (void *)planted_undo_cwnd,
	.name = "planted",
}};
"""

HALVE = "return max(tp->snd_cwnd / 2, 2U);"
KEEP = "return max(tp->snd_cwnd, 2U);"
RENO = "tcp_reno_cong_avoid(sk, ack, acked);"


@dataclass(frozen=True)
class Fault:
    """A fault.

    Attributes
    ----------
    name : str
        Of the file and of the control.
    area : str
        Where a screening finds it.
    scenarios : tuple of str
        Those of the area that show it.
    source : str
        C.
    """

    name: str
    area: str
    scenarios: tuple[str, ...]
    source: str


def _fault(
    name: str,
    area: str,
    *scenarios: str,
    ssthresh: str = HALVE,
    growth: str = RENO,
    acked: str = "(void)tp;",
) -> Fault:
    source = SOURCE.format(ssthresh=ssthresh, growth=growth, acked=acked)
    return Fault(name, area, scenarios, source)


FAULTS = (
    _fault("no-back-off", "harm", "harm-shallow", "harm-usual", ssthresh=KEEP),
    _fault(
        "forgets-rtt",
        "rtt-unfairness",
        "two-round-trips",
        growth="tcp_cong_avoid_ai(tp, min(tp->snd_cwnd, 16U), acked);",
    ),
    _fault(
        "ignores-ecn",
        "ecn",
        "ecn",
        ssthresh=f"if (!tp->lost_out && !tp->sacked_out)\n\t\t{KEEP}\n\t{HALVE}",
    ),
    _fault(
        "stalls-after-outage",
        "outage",
        "outage",
        growth=f"if (ca->had_timeout)\n\t\ttp->snd_cwnd = 1;\n\telse\n\t\t{RENO}",
    ),
    _fault(
        "divides-by-zero",
        "faults",
        "all",
        growth=f"tp->snd_cwnd_cnt += acked / (tp->sacked_out * 0);\n\t{RENO}",
    ),
    _fault(
        "never-leaves-slow-start",
        "start-up",
        "start-up",
        ssthresh=KEEP,
        growth="tp->snd_cwnd += acked;",
    ),
    _fault(
        "only-grows",
        "idle",
        "idle",
        ssthresh=KEEP,
        growth="(void)tp;",
        acked="tp->snd_cwnd += 1;",
    ),
)
