/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Westwood+: Reno, with the bandwidth-delay product of an empty path as the window after a loss.
 *
 * Source: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion
 * control" (CCR 2004) §2; constants as in ns-3's tcp-westwood-plus.
 * Estimate: one sample of bandwidth per round trip, b = segments delivered / time; its running estimate is
 * 0.9 estimate + 0.1 (b + previous b) / 2; after a loss the window is estimate x least round trip.
 * Parameters: weight of the past 0.9; least time of a sample 50 ms (as Linux; shorter ones are rough).
 * Deviations: what was delivered is counted by the endpoint, selective acknowledgments included, where the paper
 * counts duplicates; nothing is sampled across idleness; the threshold is never above the window at the loss, so that
 * a loss never raises the window; the least round trip is measured anew after a time-out (Linux).
 * Fractions: segments per microsecond, times 2^32.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

enum { SCALE_BITS = 32, PAST_TENTHS = 9, LEAST_SAMPLE_US = 50000, LEAST_WINDOW = 2 };

struct westwood {
	/* When the present sample began, in microseconds, and what was delivered then. */
	u64 began_us;
	/* Estimate and latest sample; 0 before there is one. */
	u64 bandwidth;
	u64 last_sample;
	u32 delivered_before;
	/* Latest and least round trip in microseconds; 0 and U32_MAX before there is one. */
	u32 rtt_us;
	u32 least_rtt_us;
};

static __always_inline void begin_sample(struct westwood *westwood, const struct tcp_sock *tp)
{
	westwood->began_us = tp->tcp_mstamp;
	westwood->delivered_before = tp->delivered;
}

SEC("struct_ops")
void BPF_PROG(fw_westwood_init, struct sock *sk)
{
	struct westwood *westwood = inet_csk_ca(sk);

	westwood->bandwidth = 0;
	westwood->last_sample = 0;
	westwood->rtt_us = 0;
	westwood->least_rtt_us = U32_MAX;
	begin_sample(westwood, tcp_sk(sk));
}

static __always_inline void take_sample(struct westwood *westwood, u64 sample)
{
	u64 mean = (sample + westwood->last_sample) / 2;

	if (westwood->bandwidth)
		westwood->bandwidth = (PAST_TENTHS * westwood->bandwidth + (10 - PAST_TENTHS) * mean) / 10;
	else
		westwood->bandwidth = sample;
	westwood->last_sample = sample;
}

SEC("struct_ops")
void BPF_PROG(fw_westwood_pkts_acked, struct sock *sk, const struct ack_sample *report)
{
	struct westwood *westwood = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 elapsed_us = tp->tcp_mstamp - westwood->began_us;
	u32 delivered = tp->delivered - westwood->delivered_before;

	if (report->rtt_us > 0) {
		westwood->rtt_us = (u32)report->rtt_us;
		westwood->least_rtt_us = min(westwood->least_rtt_us, westwood->rtt_us);
	}
	if (!westwood->rtt_us || elapsed_us < max(westwood->rtt_us, (u32)LEAST_SAMPLE_US))
		return;
	take_sample(westwood, div64_u64((u64)delivered << SCALE_BITS, elapsed_us));
	begin_sample(westwood, tp);
}

SEC("struct_ops")
void BPF_PROG(fw_westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct westwood *westwood = inet_csk_ca(sk);

	if (event == CA_EVENT_LOSS)
		westwood->least_rtt_us = U32_MAX;
	else if (event == CA_EVENT_TX_START)
		begin_sample(westwood, tcp_sk(sk));
}

SEC("struct_ops")
u32 BPF_PROG(fw_westwood_ssthresh, struct sock *sk)
{
	const struct westwood *westwood = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 carried;

	if (!westwood->bandwidth || westwood->least_rtt_us == U32_MAX)
		return tcp_reno_ssthresh(sk);
	carried = westwood->bandwidth * westwood->least_rtt_us >> SCALE_BITS;
	return (u32)max(min(carried, (u64)tp->snd_cwnd), (u64)LEAST_WINDOW);
}

SEC("struct_ops")
void BPF_PROG(fw_westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
u32 BPF_PROG(fw_westwood_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_westwood = {
	.init = (void *)fw_westwood_init,
	.ssthresh = (void *)fw_westwood_ssthresh,
	.cong_avoid = (void *)fw_westwood_cong_avoid,
	.pkts_acked = (void *)fw_westwood_pkts_acked,
	.cwnd_event = (void *)fw_westwood_cwnd_event,
	.undo_cwnd = (void *)fw_westwood_undo_cwnd,
	.name = "fw_westwood",
};
