/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * H-TCP: the increase grows with the time since the last loss; the decrease depends on the queue.
 *
 * Source: Leith, Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
 * draft-leith-tcp-htcp-06. With D seconds since the last loss,
 *   alpha(D) = 1 for D <= 1, else 1 + 10 (D - 1) + ((D - 1) / 2)^2;   w += 2 (1 - beta) alpha(D) / w;
 *   beta = least / greatest round trip within 0.5 to 0.8; w *= beta.
 * Parameters (default, unit):
 *   DELTA_L          1      s without change
 *   beta             0.5 to 0.8; 0.5 where the throughput of two periods differs by more than a fifth, or where the
 *                    least round trip is 10 ms or less
 *   rise of the greatest round trip      20     ms per sample at most
 *   decay of the greatest round trip     5      % of the distance to the least, per loss
 *   RTT_SCALING      0      1: alpha grows with the least round trip over 100 ms (0.1 to 2 of it)
 * From Linux (tcp_htcp.c), not from the draft: the bounds on how the greatest round trip rises and decays, and no
 * adaptive beta at 10 ms or less.
 * Deviations from Linux: a loss is the instant at which the window falls, there the end of its repair;
 * beta is adaptive again in the period after one of changed throughput, there after two; throughput is smoothed from
 * the loss on, there from three round trips after it; alpha has fractions; round trips are single samples in
 * microseconds, there in ticks; RTT_SCALING is off, there it is on.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

#ifndef RTT_SCALING
#define RTT_SCALING 0
#endif

/* alpha and beta are in 1/128. */
#define PART_SHIFT 7
#define LEAST_BETA 64U
#define GREATEST_BETA 102U
#define QUIET_US USEC_PER_SEC
#define LEAST_ADAPTIVE_RTT_US 10000U
#define GREATEST_RISE_US 20000U
/* The square of more milliseconds would not fit; a thousand seconds without a loss. */
#define GREATEST_PERIOD_MS 1000000ULL

struct period {
	/* Begin in microseconds. */
	u64 start;
	/* Greatest throughput of the period before, in segments per second. */
	u32 greatest_before;
	u32 greatest_rtt;
};

struct htcp {
	struct period period;
	/* What it was before the last loss, for one that was none. */
	struct period undo;
	/* Throughput is measured from here on. */
	u64 measured_since;
	u32 measured_segments;
	/* Smoothed and greatest throughput of the period, in segments per second. */
	u32 throughput;
	u32 greatest_throughput;
	u32 least_rtt;
	u32 alpha;
	u32 beta;
};

static __always_inline void update_alpha(struct htcp *ca, u64 now)
{
	u64 past = now - ca->period.start;
	u64 factor = 1 << PART_SHIFT;

	if (past > QUIET_US) {
		u64 millis = min((past - QUIET_US) / USEC_PER_MSEC, GREATEST_PERIOD_MS);

		/* 128 (1 + 10 d + (d / 2)^2) */
		factor += 1280 * millis / 1000 + 32 * millis * millis / 1000000;
	}
#if RTT_SCALING
	factor = factor * clamp(ca->least_rtt, 10000U, 200000U) / 100000U;
#endif
	ca->alpha = max((u32)((2 * factor * (128 - ca->beta)) >> PART_SHIFT), 1U);
}

static __always_inline void update_beta(struct htcp *ca)
{
	u64 now = ca->greatest_throughput;
	u64 before = ca->period.greatest_before;
	bool is_steady = 5 * now >= 4 * before && 5 * now <= 6 * before;

	if (is_steady && ca->least_rtt > LEAST_ADAPTIVE_RTT_US && ca->period.greatest_rtt) {
		u64 share = ((u64)ca->least_rtt << PART_SHIFT) / ca->period.greatest_rtt;

		ca->beta = clamp(share, (u64)LEAST_BETA, (u64)GREATEST_BETA);
	} else {
		ca->beta = LEAST_BETA;
	}
}

SEC("struct_ops")
void BPF_PROG(fw_htcp_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	ca->period.start = tp->tcp_mstamp;
	ca->period.greatest_before = 0;
	ca->period.greatest_rtt = 0;
	ca->undo = ca->period;
	ca->measured_since = tp->tcp_mstamp;
	ca->measured_segments = 0;
	ca->throughput = 0;
	ca->greatest_throughput = 0;
	ca->least_rtt = 0;
	ca->alpha = 1 << PART_SHIFT;
	ca->beta = LEAST_BETA;
}

static __always_inline void measure_rtt(struct htcp *ca, u32 rtt, u8 state)
{
	if (!ca->least_rtt || rtt < ca->least_rtt)
		ca->least_rtt = rtt;
	if (state != TCP_CA_Open)
		return;
	ca->period.greatest_rtt = max(ca->period.greatest_rtt, ca->least_rtt);
	if (rtt > ca->period.greatest_rtt && rtt <= ca->period.greatest_rtt + GREATEST_RISE_US)
		ca->period.greatest_rtt = rtt;
}

/* Once per round trip and window, smoothed over four. */
static __always_inline void measure_throughput(struct htcp *ca, u32 window, u32 segments, u64 now, u8 state)
{
	u64 past = now - ca->measured_since;
	u32 throughput;

	if (state != TCP_CA_Open && state != TCP_CA_Disorder) {
		ca->measured_segments = 0;
		ca->measured_since = now;
		return;
	}
	ca->measured_segments += segments;
	if (!past || past < ca->least_rtt || ca->measured_segments + 1 < window)
		return;
	throughput = ca->measured_segments * USEC_PER_SEC / past;
	ca->throughput = ca->throughput ? (3 * (u64)ca->throughput + throughput) / 4 : throughput;
	ca->greatest_throughput = max(ca->greatest_throughput, ca->throughput);
	ca->measured_segments = 0;
	ca->measured_since = now;
}

SEC("struct_ops")
void BPF_PROG(fw_htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);
	u8 state = fairwind_ca_state(sk);

	if (sample->rtt_us > 0)
		measure_rtt(ca, sample->rtt_us, state);
	measure_throughput(ca, tp->snd_cwnd, sample->pkts_acked, tp->tcp_mstamp, state);
}

/* w += alpha / w. What is not yet a segment waits in snd_cwnd_cnt, in 1/128. */
SEC("struct_ops")
void BPF_PROG(fw_htcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);
	u64 credit, step;

	if (!fairwind_reaches_avoidance(sk, &acked))
		return;
	step = (u64)max(tp->snd_cwnd, 1U) << PART_SHIFT;
	credit = tp->snd_cwnd_cnt + (u64)ca->alpha * acked;
	if (credit >= step) {
		tp->snd_cwnd = min(tp->snd_cwnd + (u32)(credit / step), tp->snd_cwnd_clamp);
		credit %= step;
		update_alpha(ca, tp->tcp_mstamp);
	}
	tp->snd_cwnd_cnt = credit;
}

SEC("struct_ops")
u32 BPF_PROG(fw_htcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	ca->undo = ca->period;
	update_beta(ca);
	if (ca->period.greatest_rtt > ca->least_rtt)
		ca->period.greatest_rtt = ca->least_rtt + (u64)(ca->period.greatest_rtt - ca->least_rtt) * 95 / 100;
	ca->period.greatest_before = ca->greatest_throughput;
	ca->period.start = tp->tcp_mstamp;
	ca->throughput = 0;
	ca->greatest_throughput = 0;
	ca->measured_segments = 0;
	ca->measured_since = tp->tcp_mstamp;
	update_alpha(ca, tp->tcp_mstamp);
	return max((u32)(((u64)tp->snd_cwnd * ca->beta) >> PART_SHIFT), 2U);
}

SEC("struct_ops")
u32 BPF_PROG(fw_htcp_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);

	ca->greatest_throughput = max(ca->greatest_throughput, ca->period.greatest_before);
	ca->period = ca->undo;
	update_alpha(ca, tp->tcp_mstamp);
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_htcp = {
	.init = (void *)fw_htcp_init,
	.ssthresh = (void *)fw_htcp_ssthresh,
	.cong_avoid = (void *)fw_htcp_cong_avoid,
	.pkts_acked = (void *)fw_htcp_pkts_acked,
	.undo_cwnd = (void *)fw_htcp_undo_cwnd,
	.name = "fw_htcp",
};
