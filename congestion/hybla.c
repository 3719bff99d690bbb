/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Hybla: a connection over a long path, such as a satellite's, sends as much as one with a short round trip.
 *
 * Source: Caini, Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", Int. J. Satell. Commun.
 * Netw. 22, 2004. With rho = least round trip / RTT0, at least 1, an acknowledged segment adds 2^rho - 1 segments in
 * slow start and rho^2 / w afterwards.
 * Parameters (default, unit):
 *   RTT0               25      ms, the round trip to be equal to
 *   greatest rho       16      in the exponent, as in Linux
 *   greatest window    65535   segments, as in Linux
 * Deviations from the paper, all as in Linux: rho is a multiple of 1/8; while losses are repaired it is Reno. The paper
 * paces what it sends, and estimates bandwidth to set the first threshold: neither is here; set pacing for the one.
 * Deviations from Linux: the least round trip is that of single samples (there of smoothed ones); the window begins
 * with rho segments only where that is more than the initial window (there in any case); of an exponent beyond 16 Linux
 * keeps the fraction, here it is dropped.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

#define REFERENCE_US 25000U
#define GREATEST_RHO_8 (16 * 8)
#define GREATEST_WINDOW 65535U
/* Segments are counted in 1/128. */
#define PART_SHIFT 7

struct hybla {
	/* Least round trip in microseconds, 0 before there is one. */
	u32 least_rtt;
	/* rho in eighths. */
	u32 rho_8;
	/* What an acknowledged segment adds in slow start, and what a window of them adds afterwards, in 1/128. */
	u32 slow_start_parts;
	u32 window_parts;
};

/* 128 times two to so many eighths. */
static __always_inline u32 power_of_two(u32 eighths)
{
	u32 fraction;

	switch (eighths & 7) {
	case 0: fraction = 128; break;
	case 1: fraction = 140; break;
	case 2: fraction = 152; break;
	case 3: fraction = 166; break;
	case 4: fraction = 181; break;
	case 5: fraction = 197; break;
	case 6: fraction = 215; break;
	default: fraction = 235; break;
	}
	return fraction << ((eighths >> 3) & 31);
}

static __always_inline void note_rtt(struct hybla *ca, u32 rtt)
{
	u32 exponent;

	if (ca->least_rtt && ca->least_rtt <= rtt)
		return;
	ca->least_rtt = rtt;
	ca->rho_8 = max((u32)((u64)rtt * 8 / REFERENCE_US), 8U);
	exponent = min(ca->rho_8, (u32)GREATEST_RHO_8);
	ca->slow_start_parts = power_of_two(exponent) - (1 << PART_SHIFT);
	/* rho^2 = (rho_8 / 8)^2. */
	ca->window_parts = ca->rho_8 * ca->rho_8 * 2;
}

SEC("struct_ops")
void BPF_PROG(fw_hybla_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);

	ca->least_rtt = 0;
	ca->rho_8 = 8;
	ca->slow_start_parts = 1 << PART_SHIFT;
	ca->window_parts = 1 << PART_SHIFT;
	if (tp->srtt_us) {
		note_rtt(ca, tp->srtt_us >> 3);
		tp->snd_cwnd = min(max(tp->snd_cwnd, ca->rho_8 >> 3), GREATEST_WINDOW);
	}
}

SEC("struct_ops")
void BPF_PROG(fw_hybla_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	if (sample->rtt_us > 0)
		note_rtt(inet_csk_ca(sk), sample->rtt_us);
}

/* What is not yet a segment waits in snd_cwnd_cnt, in 1/128. */
static __always_inline void grow(struct tcp_sock *tp, u32 slow_start_parts, u32 window_parts, u32 acked)
{
	u64 credit = tp->snd_cwnd_cnt;
	u64 step = 1 << PART_SHIFT;
	u64 greatest = min(tp->snd_cwnd_clamp, GREATEST_WINDOW);
	u64 most = greatest;
	u64 window;

	if (tcp_in_slow_start(tp)) {
		credit += (u64)slow_start_parts * acked;
		most = min((u64)tp->snd_ssthresh, greatest);
	} else {
		credit += (u64)window_parts * acked;
		step *= max(tp->snd_cwnd, 1U);
	}
	window = tp->snd_cwnd + credit / step;
	credit %= step;
	if (window >= most) {
		credit = 0;
		window = max(most, min((u64)tp->snd_cwnd, greatest));
	}
	tp->snd_cwnd = window;
	tp->snd_cwnd_cnt = credit;
}

SEC("struct_ops")
void BPF_PROG(fw_hybla_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (fairwind_ca_state(sk) == TCP_CA_Open)
		grow(tp, ca->slow_start_parts, ca->window_parts, acked);
	else
		grow(tp, 1 << PART_SHIFT, 1 << PART_SHIFT, acked);
}

SEC("struct_ops")
u32 BPF_PROG(fw_hybla_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
u32 BPF_PROG(fw_hybla_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_hybla = {
	.init = (void *)fw_hybla_init,
	.ssthresh = (void *)fw_hybla_ssthresh,
	.cong_avoid = (void *)fw_hybla_cong_avoid,
	.pkts_acked = (void *)fw_hybla_pkts_acked,
	.undo_cwnd = (void *)fw_hybla_undo_cwnd,
	.name = "fw_hybla",
};
