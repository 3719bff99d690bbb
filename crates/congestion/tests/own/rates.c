/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The window is twice what the latest sample of the delivery rate would deliver in the least round trip, and segments
 * are paced at that rate; all of the sample is kept, so that a test can look at it.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

struct recorded {
	u64 prior_mstamp;
	u32 prior_delivered, prior_delivered_ce;
	s32 delivered, delivered_ce;
	s64 interval_us;
	u32 snd_interval_us, rcv_interval_us;
	s64 rtt_us;
	s32 losses;
	u32 acked_sacked;
	u32 prior_in_flight, last_end_seq;
	u8 is_app_limited, is_retrans, is_ack_delayed, unused;
	u32 ack;
	s32 flag;
};

SEC("struct_ops")
void BPF_PROG(fwt_rates_init, struct sock *sk)
{
	struct recorded *recorded = inet_csk_ca(sk);

	__builtin_memset(recorded, 0, sizeof(*recorded));
	sk->sk_pacing_status = SK_PACING_NEEDED;
}

SEC("struct_ops")
void BPF_PROG(fwt_rates_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct recorded *recorded = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 least_us = tcp_min_rtt(tp);
	u64 segments;

	recorded->prior_mstamp = rs->prior_mstamp;
	recorded->prior_delivered = rs->prior_delivered;
	recorded->prior_delivered_ce = rs->prior_delivered_ce;
	recorded->delivered = rs->delivered;
	recorded->delivered_ce = rs->delivered_ce;
	recorded->interval_us = rs->interval_us;
	recorded->snd_interval_us = rs->snd_interval_us;
	recorded->rcv_interval_us = rs->rcv_interval_us;
	recorded->rtt_us = rs->rtt_us;
	recorded->losses = rs->losses;
	recorded->acked_sacked = rs->acked_sacked;
	recorded->prior_in_flight = rs->prior_in_flight;
	recorded->last_end_seq = rs->last_end_seq;
	recorded->is_app_limited = rs->is_app_limited;
	recorded->is_retrans = rs->is_retrans;
	recorded->is_ack_delayed = rs->is_ack_delayed;
	recorded->ack = ack;
	recorded->flag = flag;

	if (rs->delivered <= 0 || rs->interval_us <= 0)
		return;
	segments = div64_u64(2 * (u64)rs->delivered * least_us, (u64)rs->interval_us);
	tp->snd_cwnd = clamp_t(u64, segments, 4, 10000);
	sk->sk_pacing_rate =
		div64_u64((u64)rs->delivered * tp->mss_cache * USEC_PER_SEC, (u64)rs->interval_us);
}

SEC("struct_ops")
u32 BPF_PROG(fwt_rates_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

SEC("struct_ops")
u32 BPF_PROG(fwt_rates_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fwt_rates = {
	.init = (void *)fwt_rates_init,
	.ssthresh = (void *)fwt_rates_ssthresh,
	.cong_control = (void *)fwt_rates_cong_control,
	.undo_cwnd = (void *)fwt_rates_undo_cwnd,
	.name = "fwt_rates",
};
