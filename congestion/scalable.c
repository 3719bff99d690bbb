/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Scalable TCP: growth and loss in proportion to the window, so that recovery takes the same number of round trips
 * at any rate: ln(1 / 0.875) / ln(1.01) = 13.42.
 *
 * Source: Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", CCR 33(2), 2003.
 * Parameters (default, unit):
 *   a              0.01   segments per acknowledged segment
 *   b              1/8    share of the window that a loss takes
 *   least window   16     segments; Reno up to it
 * Deviations: Linux has no least window, and grows by at least a segment per round trip, as Reno does, up to a window
 * of 100 segments.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

#define ACKED_PER_SEGMENT 100U
#define DECREASE_SHIFT 3
#define LEAST_WINDOW 16U

SEC("struct_ops")
void BPF_PROG(fw_scalable_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 per_segment;

	if (!fairwind_reaches_avoidance(sk, &acked))
		return;
	per_segment = tp->snd_cwnd <= LEAST_WINDOW ? tp->snd_cwnd : ACKED_PER_SEGMENT;
	tcp_cong_avoid_ai(tp, per_segment, acked);
}

SEC("struct_ops")
u32 BPF_PROG(fw_scalable_ssthresh, struct sock *sk)
{
	u32 window = tcp_sk(sk)->snd_cwnd;

	if (window <= LEAST_WINDOW)
		return max(window >> 1U, 2U);
	return window - (window >> DECREASE_SHIFT);
}

SEC("struct_ops")
u32 BPF_PROG(fw_scalable_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_scalable = {
	.ssthresh = (void *)fw_scalable_ssthresh,
	.cong_avoid = (void *)fw_scalable_cong_avoid,
	.undo_cwnd = (void *)fw_scalable_undo_cwnd,
	.name = "fw_scalable",
};
