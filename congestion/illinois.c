/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Illinois: additive increase and multiplicative decrease with steps by queueing delay. With an empty queue it grows fast
 * and falls little; with a full queue it grows slowly and falls far. Losses trigger the decrease, delay sets its size.
 *
 * Source: Liu, Basar and Srikant, "TCP-Illinois: A loss- and delay-based congestion control algorithm for high-speed
 * networks" (Performance Evaluation 2008) §3; constants of Linux (tcp_illinois.c).
 * With d the mean queueing delay of a round trip and m the greatest ever:
 *   alpha = 10 for d <= m/100, else k1 / (k2 + d), which is 0.3 at d = m;
 *   beta = 1/8 for d <= m/10, 1/2 for d >= 8m/10, linear between.
 * Parameters: alpha 0.3 to 10 segments per round trip; beta 1/8 to 1/2; below a window of 15 segments alpha 1 and
 * beta 1/2; after a queue, five round trips without one before alpha is 10 again.
 * Deviations from Linux: growth counts the segments that an acknowledgment newly reports, where Linux counts all that it
 * covers, so that the one that ends a recovery counts a window at once; fractions of a segment are kept, and in units of
 * 1/1024 where it has 1/128 and 1/64.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

enum {
	SCALE_BITS = 10,
	ONE = 1 << SCALE_BITS,
	ALPHA_LEAST = 3 * ONE / 10,
	ALPHA_BASE = ONE,
	ALPHA_GREATEST = 10 * ONE,
	BETA_LEAST = ONE / 8,
	BETA_GREATEST = ONE / 2,
	SMALL_WINDOW = 15,
	PATIENCE = 5,
	LEAST_WINDOW = 2,
};

struct illinois {
	/* Sum and number of this round trip's samples. */
	u64 rtt_sum_us;
	/* Growth that is not a whole segment yet: segments times ONE times the window. */
	u64 credit;
	u32 samples;
	/* Least and greatest round trip ever, in microseconds; U32_MAX and 0 before there is one. */
	u32 base_rtt_us;
	u32 greatest_rtt_us;
	u32 round_end;
	u32 alpha;
	u32 beta;
	/* There was a queue, and round trips without one since. */
	bool had_queue;
	u8 calm_rounds;
};

static __always_inline void begin_round(struct illinois *illinois, const struct tcp_sock *tp)
{
	illinois->round_end = tp->snd_nxt;
	illinois->rtt_sum_us = 0;
	illinois->samples = 0;
}

SEC("struct_ops")
void BPF_PROG(fw_illinois_init, struct sock *sk)
{
	struct illinois *illinois = inet_csk_ca(sk);

	illinois->alpha = ALPHA_GREATEST;
	illinois->beta = BETA_GREATEST;
	illinois->base_rtt_us = U32_MAX;
	illinois->greatest_rtt_us = 0;
	illinois->credit = 0;
	illinois->had_queue = false;
	illinois->calm_rounds = 0;
	begin_round(illinois, tcp_sk(sk));
}

SEC("struct_ops")
void BPF_PROG(fw_illinois_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct illinois *illinois = inet_csk_ca(sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	rtt_us = (u32)sample->rtt_us;
	illinois->base_rtt_us = min(illinois->base_rtt_us, rtt_us);
	illinois->greatest_rtt_us = max(illinois->greatest_rtt_us, rtt_us);
	illinois->rtt_sum_us += rtt_us;
	illinois->samples++;
}

/* Growth per round trip at a mean queueing delay, of which the greatest is known. */
static __always_inline u32 alpha_at(struct illinois *illinois, u64 delay_us, u64 greatest_us)
{
	u64 calm_us = greatest_us / 100;

	if (delay_us <= calm_us) {
		if (illinois->had_queue && ++illinois->calm_rounds < PATIENCE)
			return illinois->alpha;
		illinois->had_queue = false;
		illinois->calm_rounds = 0;
		return ALPHA_GREATEST;
	}
	illinois->had_queue = true;
	greatest_us -= calm_us;
	delay_us -= calm_us;
	return (u32)div64_u64(greatest_us * ALPHA_GREATEST,
			      greatest_us + delay_us * (ALPHA_GREATEST - ALPHA_LEAST) / ALPHA_LEAST);
}

/* Part of the window that a loss takes. */
static __always_inline u32 beta_at(u64 delay_us, u64 greatest_us)
{
	u64 low_us = greatest_us / 10;
	u64 high_us = 8 * greatest_us / 10;

	if (delay_us <= low_us)
		return BETA_LEAST;
	if (delay_us >= high_us || high_us <= low_us)
		return BETA_GREATEST;
	return BETA_LEAST +
	       (u32)div64_u64((BETA_GREATEST - BETA_LEAST) * (delay_us - low_us), high_us - low_us);
}

/* A round trip is over: its mean delay says how the next one grows and what a loss takes. */
static __always_inline void judge_round(struct illinois *illinois, const struct tcp_sock *tp)
{
	if (tp->snd_cwnd < SMALL_WINDOW) {
		illinois->alpha = ALPHA_BASE;
		illinois->beta = BETA_GREATEST;
	} else if (illinois->samples) {
		u64 mean_us = div_u64(illinois->rtt_sum_us, illinois->samples);
		u64 delay_us = mean_us - illinois->base_rtt_us;
		u64 greatest_us = illinois->greatest_rtt_us - illinois->base_rtt_us;

		illinois->alpha = alpha_at(illinois, delay_us, greatest_us);
		illinois->beta = beta_at(delay_us, greatest_us);
	}
	begin_round(illinois, tp);
}

SEC("struct_ops")
void BPF_PROG(fw_illinois_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct illinois *illinois = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 segment;
	u32 grown;

	if (after(ack, illinois->round_end))
		judge_round(illinois, tp);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}
	segment = (u64)tp->snd_cwnd << SCALE_BITS;
	illinois->credit += (u64)acked * illinois->alpha;
	if (!segment || illinois->credit < segment)
		return;
	grown = (u32)div64_u64(illinois->credit, segment);
	illinois->credit -= grown * segment;
	tp->snd_cwnd = min(tp->snd_cwnd + grown, tp->snd_cwnd_clamp);
}

SEC("struct_ops")
u32 BPF_PROG(fw_illinois_ssthresh, struct sock *sk)
{
	struct illinois *illinois = inet_csk_ca(sk);
	u32 window = tcp_sk(sk)->snd_cwnd;
	u32 fall = (u32)((u64)window * illinois->beta >> SCALE_BITS);

	illinois->credit = 0;
	return max(window - fall, (u32)LEAST_WINDOW);
}

SEC("struct_ops")
void BPF_PROG(fw_illinois_set_state, struct sock *sk, u8 new_state)
{
	struct illinois *illinois = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	illinois->alpha = ALPHA_BASE;
	illinois->beta = BETA_GREATEST;
	illinois->had_queue = false;
	illinois->calm_rounds = 0;
	begin_round(illinois, tcp_sk(sk));
}

SEC("struct_ops")
u32 BPF_PROG(fw_illinois_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_illinois = {
	.init = (void *)fw_illinois_init,
	.ssthresh = (void *)fw_illinois_ssthresh,
	.cong_avoid = (void *)fw_illinois_cong_avoid,
	.pkts_acked = (void *)fw_illinois_pkts_acked,
	.set_state = (void *)fw_illinois_set_state,
	.undo_cwnd = (void *)fw_illinois_undo_cwnd,
	.name = "fw_illinois",
};
