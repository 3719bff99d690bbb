/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Vegas: keeps a few of its packets in the queue, by the difference of expected and actual rate.
 *
 * Source: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet" (JSAC 1995) §4;
 * when it measures is as in Linux (tcp_vegas.c).
 * Parameters (segments queued by this flow): alpha 2, below which the window grows by a segment per round trip;
 * beta 4, above which it shrinks by one; gamma 1, above which slow start ends.
 * Deviations from the paper: losses halve the window as with Reno, by the endpoint's own repair (there a finer clock
 * finds them, and a quarter is taken off). Slow start ends at the window without a queue and one segment (there an
 * eighth is taken off), judged by the least round trip of a round, not by one segment's. A round with fewer than three
 * samples grows like Reno. All of these are as in Linux.
 * Deviations from Linux: slow start grows in every other round, as in the paper (there in every one). The least round
 * trip is forgotten when the window restarts after idle time (there whenever nothing was under way). A window that the
 * application leaves unused does not grow.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

enum { ALPHA = 2, BETA = 4, GAMMA = 1, LEAST_SAMPLES = 3, LEAST_WINDOW = 2 };

struct vegas {
	/* What was sent when the present round trip began. */
	u32 round_end;
	/* Least round trips ever and in this round, in microseconds; U32_MAX before there is one. */
	u32 base_rtt_us;
	u32 round_rtt_us;
	u32 samples;
	/* Losses are not under repair. */
	bool is_measuring;
	/* Slow start grows in every other round; this is one in which it only looks. */
	bool is_holding;
};

static __always_inline void begin_round(struct vegas *vegas, const struct tcp_sock *tp)
{
	vegas->round_end = tp->snd_nxt;
	vegas->round_rtt_us = U32_MAX;
	vegas->samples = 0;
}

SEC("struct_ops")
void BPF_PROG(fw_vegas_init, struct sock *sk)
{
	struct vegas *vegas = inet_csk_ca(sk);

	vegas->base_rtt_us = U32_MAX;
	vegas->is_measuring = true;
	vegas->is_holding = false;
	begin_round(vegas, tcp_sk(sk));
}

SEC("struct_ops")
void BPF_PROG(fw_vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *vegas = inet_csk_ca(sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	/* Never zero, for it divides. */
	rtt_us = (u32)sample->rtt_us + 1;
	vegas->base_rtt_us = min(vegas->base_rtt_us, rtt_us);
	vegas->round_rtt_us = min(vegas->round_rtt_us, rtt_us);
	vegas->samples++;
}

SEC("struct_ops")
void BPF_PROG(fw_vegas_set_state, struct sock *sk, u8 new_state)
{
	struct vegas *vegas = inet_csk_ca(sk);

	vegas->is_measuring = new_state == TCP_CA_Open;
	if (vegas->is_measuring)
		begin_round(vegas, tcp_sk(sk));
}

SEC("struct_ops")
void BPF_PROG(fw_vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct vegas *vegas = inet_csk_ca(sk);

	if (event == CA_EVENT_CWND_RESTART)
		vegas->base_rtt_us = U32_MAX; /* The path may be another one by now. */
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		begin_round(vegas, tcp_sk(sk));
}

/* The queue is short enough for slow start, or the end of it. */
static __always_inline void judge_slow_start(struct vegas *vegas, struct tcp_sock *tp, u64 queued, u32 rtt_us)
{
	u32 emptied;

	if (queued <= (u64)GAMMA * rtt_us) {
		vegas->is_holding = !vegas->is_holding;
		return;
	}
	emptied = (u32)div_u64((u64)tp->snd_cwnd * vegas->base_rtt_us, rtt_us);
	tp->snd_cwnd = max(min(tp->snd_cwnd, emptied + 1), (u32)LEAST_WINDOW);
	tp->snd_ssthresh = max(min(tp->snd_ssthresh, tp->snd_cwnd), (u32)LEAST_WINDOW);
}

static __always_inline void judge_avoidance(struct tcp_sock *tp, u64 queued, u32 rtt_us, bool is_limited)
{
	if (queued > (u64)BETA * rtt_us) {
		if (tp->snd_cwnd > LEAST_WINDOW)
			tp->snd_cwnd--;
		/* What was left shall not be come back to by slow start. */
		tp->snd_ssthresh = max(min(tp->snd_ssthresh, tp->snd_cwnd), (u32)LEAST_WINDOW);
	} else if (queued < (u64)ALPHA * rtt_us && is_limited && tp->snd_cwnd < tp->snd_cwnd_clamp) {
		tp->snd_cwnd++;
	}
}

/* A round trip is over: its least delay shows how much of the window is in the queue. */
static __always_inline void judge_round(struct sock *sk, struct vegas *vegas, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = vegas->round_rtt_us;
	u64 queued;

	if (vegas->samples < LEAST_SAMPLES) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	/* Segments queued, times the round trip: window (1 - base / rtt). */
	queued = (u64)tp->snd_cwnd * (rtt_us - vegas->base_rtt_us);
	if (tcp_in_slow_start(tp))
		judge_slow_start(vegas, tp, queued, rtt_us);
	else
		judge_avoidance(tp, queued, rtt_us, tcp_is_cwnd_limited(sk));
}

SEC("struct_ops")
void BPF_PROG(fw_vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct vegas *vegas = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!vegas->is_measuring) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (after(ack, vegas->round_end)) {
		judge_round(sk, vegas, ack, acked);
		begin_round(vegas, tp);
	} else if (tcp_in_slow_start(tp) && !vegas->is_holding && tcp_is_cwnd_limited(sk)) {
		tcp_slow_start(tp, acked);
	}
}

SEC("struct_ops")
u32 BPF_PROG(fw_vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
u32 BPF_PROG(fw_vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_vegas = {
	.init = (void *)fw_vegas_init,
	.ssthresh = (void *)fw_vegas_ssthresh,
	.cong_avoid = (void *)fw_vegas_cong_avoid,
	.pkts_acked = (void *)fw_vegas_pkts_acked,
	.set_state = (void *)fw_vegas_set_state,
	.cwnd_event = (void *)fw_vegas_cwnd_event,
	.undo_cwnd = (void *)fw_vegas_undo_cwnd,
	.name = "fw_vegas",
};
