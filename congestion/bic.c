/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * BIC: binary search of the window for the point of the last loss.
 *
 * Source: Xu, Harfoush, Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks",
 * INFOCOM 2004; constants of Linux 6.18 (tcp_bic.c).
 * Parameters (default, the paper's, unit):
 *   greatest step           16                32      segments / round trip
 *   beta                    819/1024 = 0.8    0.875   window after / window before a loss
 *   least window            14                14      segments; Reno below
 *   share of the distance   1/4               1/2     per round trip
 *   smooth part             20                        round trips for the last 4 segments
 * Deviations: time is in microseconds, Linux' in ticks of its clock. The endpoint's own BIC ("bic") is the same,
 * acknowledgment by acknowledgment.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

#define SHARES 1024
#define BETA 819
#define GREATEST_STEP 16U
#define LEAST_WINDOW 14U
/* A round trip takes this part of the distance to the last maximum. */
#define DISTANCE_PARTS 4U
#define SMOOTH_ROUNDS 20U
/* Without a last maximum the window grows by at least a twentieth per round trip. */
#define MOST_WITHOUT_MAXIMUM 20U
#define UPDATE_INTERVAL_US (USEC_PER_SEC / 32)
/* The running mean of segments per acknowledgment keeps this many of its parts. */
#define MEAN_PARTS 16U

struct bic {
	u64 last_update;
	/* Acknowledgments per segment of growth. */
	u32 acks_per_segment;
	/* Window before the last loss, lowered by fast convergence. */
	u32 last_maximum;
	u32 last_window;
	/* Segments that an acknowledgment covers in the mean, times MEAN_PARTS. */
	u32 segments_per_ack;
};

static __always_inline void begin_anew(struct bic *ca)
{
	ca->last_update = 0;
	ca->acks_per_segment = 1;
	ca->last_maximum = 0;
	ca->last_window = 0;
	ca->segments_per_ack = 2 * MEAN_PARTS;
}

SEC("struct_ops")
void BPF_PROG(fw_bic_init, struct sock *sk)
{
	begin_anew(inet_csk_ca(sk));
}

/* Binary search: a quarter of the distance per round trip, within limits. */
static __always_inline u32 below_maximum(u32 window, u32 maximum)
{
	u32 distance = (maximum - window) / DISTANCE_PARTS;

	if (distance <= 1)
		return window * SMOOTH_ROUNDS / DISTANCE_PARTS;
	return window / min(distance, GREATEST_STEP);
}

/* Beyond the maximum: slowly, then faster, then by the greatest step. */
static __always_inline u32 above_maximum(u32 window, u32 maximum)
{
	u32 beyond = window - maximum;

	if (beyond < DISTANCE_PARTS)
		return window * SMOOTH_ROUNDS / DISTANCE_PARTS;
	if (beyond < GREATEST_STEP * (DISTANCE_PARTS - 1))
		return window * (DISTANCE_PARTS - 1) / beyond;
	return window / GREATEST_STEP;
}

static __always_inline u32 acks_per_segment(const struct bic *ca, u32 window)
{
	u32 acks;

	if (window <= LEAST_WINDOW)
		return window;
	if (window < ca->last_maximum)
		acks = below_maximum(window, ca->last_maximum);
	else
		acks = above_maximum(window, ca->last_maximum);
	if (!ca->last_maximum)
		acks = min(acks, MOST_WITHOUT_MAXIMUM);
	return max(acks * MEAN_PARTS / max(ca->segments_per_ack, 1U), 1U);
}

SEC("struct_ops")
void BPF_PROG(fw_bic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bic *ca = inet_csk_ca(sk);

	if (!fairwind_reaches_avoidance(sk, &acked))
		return;
	if (ca->last_window != tp->snd_cwnd || tp->tcp_mstamp - ca->last_update > UPDATE_INTERVAL_US) {
		ca->last_window = tp->snd_cwnd;
		ca->last_update = tp->tcp_mstamp;
		ca->acks_per_segment = acks_per_segment(ca, tp->snd_cwnd);
	}
	tcp_cong_avoid_ai(tp, ca->acks_per_segment, acked);
}

SEC("struct_ops")
u32 BPF_PROG(fw_bic_ssthresh, struct sock *sk)
{
	struct bic *ca = inet_csk_ca(sk);
	u32 window = tcp_sk(sk)->snd_cwnd;

	if (window < ca->last_maximum)
		ca->last_maximum = (u64)window * (SHARES + BETA) / (2 * SHARES);
	else
		ca->last_maximum = window;
	if (window <= LEAST_WINDOW)
		return max(window >> 1U, 2U);
	return max((u32)((u64)window * BETA / SHARES), 2U);
}

SEC("struct_ops")
void BPF_PROG(fw_bic_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		begin_anew(inet_csk_ca(sk));
}

/* Growth is meant per segment and counted per acknowledgment: how many segments does one cover? */
SEC("struct_ops")
void BPF_PROG(fw_bic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct bic *ca = inet_csk_ca(sk);

	if (fairwind_ca_state(sk) == TCP_CA_Open)
		ca->segments_per_ack += sample->pkts_acked - ca->segments_per_ack / MEAN_PARTS;
}

SEC("struct_ops")
u32 BPF_PROG(fw_bic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_bic = {
	.init = (void *)fw_bic_init,
	.ssthresh = (void *)fw_bic_ssthresh,
	.cong_avoid = (void *)fw_bic_cong_avoid,
	.set_state = (void *)fw_bic_set_state,
	.pkts_acked = (void *)fw_bic_pkts_acked,
	.undo_cwnd = (void *)fw_bic_undo_cwnd,
	.name = "fw_bic",
};
