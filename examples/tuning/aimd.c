/*
 * Additive increase, multiplicative decrease (Chiu and Jain 1989), with both constants as parameters.
 * With the defaults it is Reno: a segment more per round trip, and half of the window after a loss.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

/* What a loss leaves of the window, in 1/1024. */
FAIRWIND_PARAM(u32, beta, 512);
/* Segments more in ten round trips. */
FAIRWIND_PARAM(u32, growth, 10);

SEC("struct_ops")
u32 BPF_PROG(aimd_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd * beta / 1024, 2U);
}

SEC("struct_ops")
void BPF_PROG(aimd_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, max(tp->snd_cwnd * 10 / growth, 1U), acked);
}

SEC("struct_ops")
u32 BPF_PROG(aimd_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops aimd = {
	.ssthresh = (void *)aimd_ssthresh,
	.cong_avoid = (void *)aimd_cong_avoid,
	.undo_cwnd = (void *)aimd_undo_cwnd,
	.name = "aimd",
};
