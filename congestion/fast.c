/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * FAST: the window converges to a fixed number of this flow's packets in the queue.
 *
 * Source: Jin, Wei and Low, "FAST TCP: motivation, architecture, algorithms, performance" (INFOCOM 2004) §IV:
 * once per round trip w = min(2w, (1 - gamma) w + gamma (base/rtt w + alpha)). Its fixed point is the rate
 * alpha / queueing delay. The round trip is an average with the weight min(3/w, 1/4) for each sample.
 * Parameters: gamma 1/2. alpha (segments) follows the rate (segments per second), as in its authors' kernel and their
 * ns-2 module (from memory; these could not be read): 8, then 20 above 1500 until below 1250, then 200 above 15000
 * until below 12500. Slow start ends once the least round trip of a round is 0.75 ms above the base (the same).
 * Deviations: growth towards the next window is spread over the round trip, one segment for each that is acknowledged;
 * losses halve the window, as with Reno.
 * Fractions: windows times 2^8, the average round trip in microseconds times 2^16.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

enum {
	WINDOW_BITS = 8,
	RTT_BITS = 16,
	RATIO_BITS = 4,
	WEIGHT_BITS = 20,
	END_OF_SLOW_START_US = 750,
	LEAST_WINDOW = 2,
};

struct fast {
	/* Average round trip, times 2^16; 0 before there is one. */
	u64 average_rtt;
	/* When the present round trip began, in microseconds, and what was delivered then. */
	u64 began_us;
	u32 delivered_before;
	u32 round_end;
	/* Least round trip ever and in this round, in microseconds; U32_MAX before there is one. */
	u32 base_rtt_us;
	u32 round_rtt_us;
	/* The window to grow to, times 2^8. */
	u32 target;
	u32 alpha;
};

static __always_inline void begin_round(struct fast *fast, const struct tcp_sock *tp)
{
	fast->began_us = tp->tcp_mstamp;
	fast->delivered_before = tp->delivered;
	fast->round_end = tp->snd_nxt;
	fast->round_rtt_us = U32_MAX;
}

SEC("struct_ops")
void BPF_PROG(fw_fast_init, struct sock *sk)
{
	struct fast *fast = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	fast->base_rtt_us = U32_MAX;
	fast->average_rtt = 0;
	fast->alpha = 8;
	fast->target = tp->snd_cwnd << WINDOW_BITS;
	begin_round(fast, tp);
}

SEC("struct_ops")
void BPF_PROG(fw_fast_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct fast *fast = inet_csk_ca(sk);
	u32 window = max(tcp_sk(sk)->snd_cwnd, 1U);
	u32 weight = min((3U << WEIGHT_BITS) / window, 1U << (WEIGHT_BITS - 2));
	u64 average = fast->average_rtt;
	u32 rtt_us;

	if (sample->rtt_us <= 0)
		return;
	rtt_us = (u32)sample->rtt_us;
	fast->base_rtt_us = min(fast->base_rtt_us, rtt_us);
	fast->round_rtt_us = min(fast->round_rtt_us, rtt_us);
	if (!average)
		average = (u64)rtt_us << RTT_BITS;
	else
		average = (average * ((1U << WEIGHT_BITS) - weight) + ((u64)rtt_us << RTT_BITS) * weight) >>
			  WEIGHT_BITS;
	fast->average_rtt = average;
}

/* Segments to keep in the queue, by the rate of the round that is over. */
static __always_inline void choose_alpha(struct fast *fast, const struct tcp_sock *tp)
{
	u64 delivered = tp->delivered - fast->delivered_before;
	u64 rate = div64_u64(delivered * USEC_PER_SEC, tp->tcp_mstamp - fast->began_us);

	if (rate > 15000 || (fast->alpha == 200 && rate >= 12500))
		fast->alpha = 200;
	else if (rate > 1500 || (fast->alpha > 8 && rate >= 1250))
		fast->alpha = 20;
	else
		fast->alpha = 8;
}

/* The next window: half the present one, half what would leave `alpha` in the queue. */
static __always_inline void choose_target(struct fast *fast, struct tcp_sock *tp)
{
	u64 base = (u64)fast->base_rtt_us << RATIO_BITS;
	u64 average = fast->average_rtt >> (RTT_BITS - RATIO_BITS);
	u64 window = (u64)tp->snd_cwnd << WINDOW_BITS;
	u64 next;

	/* Fractions of the last target count where it was reached. */
	if (fast->target >> WINDOW_BITS == tp->snd_cwnd)
		window = fast->target;
	next = (window + div64_u64(window * base, average) + ((u64)fast->alpha << WINDOW_BITS)) / 2;
	next = min(next, 2 * window);
	next = max(next, (u64)LEAST_WINDOW << WINDOW_BITS);
	fast->target = (u32)min(next, (u64)U32_MAX);
	tp->snd_cwnd = min(tp->snd_cwnd, fast->target >> WINDOW_BITS);
	/* What was left shall not be come back to by slow start. */
	tp->snd_ssthresh = max(min(tp->snd_ssthresh, tp->snd_cwnd), (u32)LEAST_WINDOW);
}

/* A round trip is over. */
static __always_inline void judge_round(struct fast *fast, struct tcp_sock *tp)
{
	if (!fast->average_rtt || fast->round_rtt_us == U32_MAX)
		return;
	choose_alpha(fast, tp);
	if (!tcp_in_slow_start(tp) || fast->round_rtt_us - fast->base_rtt_us > END_OF_SLOW_START_US)
		choose_target(fast, tp);
}

SEC("struct_ops")
void BPF_PROG(fw_fast_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct fast *fast = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 target;

	if (after(ack, fast->round_end)) {
		judge_round(fast, tp);
		begin_round(fast, tp);
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	target = min(fast->target >> WINDOW_BITS, tp->snd_cwnd_clamp);
	if (tp->snd_cwnd < target)
		tp->snd_cwnd = min(tp->snd_cwnd + acked, target);
}

SEC("struct_ops")
u32 BPF_PROG(fw_fast_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
void BPF_PROG(fw_fast_set_state, struct sock *sk, u8 new_state)
{
	struct fast *fast = inet_csk_ca(sk);

	/* After a repair the window goes on from where that has left it. */
	if (new_state == TCP_CA_Open) {
		fast->target = tcp_sk(sk)->snd_cwnd << WINDOW_BITS;
		begin_round(fast, tcp_sk(sk));
	}
}

SEC("struct_ops")
u32 BPF_PROG(fw_fast_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_fast = {
	.init = (void *)fw_fast_init,
	.ssthresh = (void *)fw_fast_ssthresh,
	.cong_avoid = (void *)fw_fast_cong_avoid,
	.pkts_acked = (void *)fw_fast_pkts_acked,
	.set_state = (void *)fw_fast_set_state,
	.undo_cwnd = (void *)fw_fast_undo_cwnd,
	.name = "fw_fast",
};
