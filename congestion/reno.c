/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Reno: slow start, additive increase, halving.
 *
 * Source: RFC 5681 §3.1, equations 2 to 4; the same arithmetic as Linux' own.
 * Parameters: none. Deviations: none.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops")
u32 BPF_PROG(fw_reno_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U);
}

SEC("struct_ops")
void BPF_PROG(fw_reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!fairwind_reaches_avoidance(sk, &acked))
		return;
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

SEC("struct_ops")
u32 BPF_PROG(fw_reno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_reno = {
	.ssthresh = (void *)fw_reno_ssthresh,
	.cong_avoid = (void *)fw_reno_cong_avoid,
	.undo_cwnd = (void *)fw_reno_undo_cwnd,
	.name = "fw_reno",
};
