/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * LEDBAT: background transport that keeps the queueing delay of one direction at a target.
 *
 * Source: RFC 6817 §2.4 (its pseudocode); slow start as draft-irtf-iccrg-ledbat-plus-plus §4.3 ends it.
 * Delay: that of our data alone, by timestamps: the peer's when it answered less ours that it echoes. Its clock runs in
 * milliseconds from any instant; the least of the last minutes is the base. Without timestamps it is the round trip.
 * Parameters: TARGET 100 ms, GAIN 1, ALLOWED_INCREASE 1 segment, BASE_HISTORY 10 minutes, CURRENT_FILTER 4 samples
 * (their least), MIN_CWND 2 segments.
 * Deviations: begins with slow start, which the RFC leaves open, until the queueing delay is three quarters of the
 * target; the window shrinks by at most half in a round trip (both as the draft). Losses halve the window once per
 * round trip, and time-outs are the endpoint's own. Growth stops ALLOWED_INCREASE beyond what is in flight, as in the
 * RFC; a larger window that does not limit the sender shrinks to that beyond the most that was in flight in the last
 * round trip, not at one instant. Timestamps of a peer must be in milliseconds.
 * Fractions: segments times TARGET (in milliseconds) times the window.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

enum {
	TARGET_MS = 100,
	SLOW_START_END_MS = 3 * TARGET_MS / 4,
	ALLOWED_INCREASE = 1,
	BASE_HISTORY = 10,
	CURRENT_FILTER = 4,
	LEAST_WINDOW = 2,
};

#define MINUTE_US (60 * (u64)USEC_PER_SEC)

struct ledbat {
	/* When the present minute of the base history began, in microseconds. */
	u64 minute_us;
	/* Milliseconds of delay beyond the first sample's: the least of each minute, the present one first, and the
	 * latest ones. */
	s32 base_ms[BASE_HISTORY];
	s32 current_ms[CURRENT_FILTER];
	/* The first sample, by clocks that are not in step. */
	u32 origin_ms;
	/* Growth and shrinking that are not a whole segment yet. */
	s32 credit;
	u32 round_end;
	/* Window below which the present round trip does not go. */
	u32 floor;
	bool has_sample;
};

SEC("struct_ops")
void BPF_PROG(fw_ledbat_init, struct sock *sk)
{
	struct ledbat *ledbat = inet_csk_ca(sk);

	ledbat->has_sample = false;
	ledbat->credit = 0;
	ledbat->round_end = tcp_sk(sk)->snd_nxt;
	ledbat->floor = LEAST_WINDOW;
}

static __always_inline void begin_history(struct ledbat *ledbat, u32 sample_ms, u64 now_us)
{
	ledbat->has_sample = true;
	ledbat->origin_ms = sample_ms;
	ledbat->minute_us = now_us;
	FAIRWIND_UNROLL
	for (int place = 0; place < BASE_HISTORY; place++)
		ledbat->base_ms[place] = 0;
	FAIRWIND_UNROLL
	for (int place = 0; place < CURRENT_FILTER; place++)
		ledbat->current_ms[place] = 0;
}

/* A minute that is over makes room for the next one, which begins with this sample. */
static __always_inline void note_base(struct ledbat *ledbat, s32 delay_ms, u64 now_us)
{
	if (now_us - ledbat->minute_us < MINUTE_US) {
		ledbat->base_ms[0] = min(ledbat->base_ms[0], delay_ms);
		return;
	}
	ledbat->minute_us = now_us;
	FAIRWIND_UNROLL
	for (int place = BASE_HISTORY - 1; place > 0; place--)
		ledbat->base_ms[place] = ledbat->base_ms[place - 1];
	ledbat->base_ms[0] = delay_ms;
}

static __always_inline void note_current(struct ledbat *ledbat, s32 delay_ms)
{
	FAIRWIND_UNROLL
	for (int place = CURRENT_FILTER - 1; place > 0; place--)
		ledbat->current_ms[place] = ledbat->current_ms[place - 1];
	ledbat->current_ms[0] = delay_ms;
}

static __always_inline s32 queueing_delay_ms(const struct ledbat *ledbat)
{
	s32 base = ledbat->base_ms[0];
	s32 current = ledbat->current_ms[0];

	FAIRWIND_UNROLL
	for (int place = 1; place < BASE_HISTORY; place++)
		base = min(base, ledbat->base_ms[place]);
	FAIRWIND_UNROLL
	for (int place = 1; place < CURRENT_FILTER; place++)
		current = min(current, ledbat->current_ms[place]);
	return current - base;
}

SEC("struct_ops")
void BPF_PROG(fw_ledbat_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat *ledbat = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct tcp_options_received *options = &tp->rx_opt;
	u32 sample_ms;
	s32 delay_ms;

	if (sample->rtt_us < 0)
		return;
	if (BPF_CORE_READ_BITFIELD(options, saw_tstamp) && tp->rx_opt.rcv_tsecr)
		sample_ms = tp->rx_opt.rcv_tsval - tp->rx_opt.rcv_tsecr;
	else
		sample_ms = (u32)sample->rtt_us / USEC_PER_MSEC;
	if (!ledbat->has_sample)
		begin_history(ledbat, sample_ms, tp->tcp_mstamp);
	delay_ms = (s32)(sample_ms - ledbat->origin_ms);
	note_base(ledbat, delay_ms, tp->tcp_mstamp);
	note_current(ledbat, delay_ms);
}

/* Whole segments out of the credit, up or down. */
static __always_inline void spend(struct ledbat *ledbat, struct tcp_sock *tp, u32 allowed)
{
	u32 segment = TARGET_MS * max(tp->snd_cwnd, 1U);
	u32 steps;

	if (ledbat->credit >= 0) {
		steps = (u32)ledbat->credit / segment;
		ledbat->credit -= (s32)(steps * segment);
		if (tp->snd_cwnd < allowed)
			tp->snd_cwnd = min(tp->snd_cwnd + steps, allowed);
		return;
	}
	steps = (u32)-ledbat->credit / segment;
	ledbat->credit += (s32)(steps * segment);
	tp->snd_cwnd = steps < tp->snd_cwnd ? tp->snd_cwnd - steps : 0;
	tp->snd_cwnd = max(tp->snd_cwnd, max(ledbat->floor, (u32)LEAST_WINDOW));
	tp->snd_ssthresh = max(min(tp->snd_ssthresh, tp->snd_cwnd), (u32)LEAST_WINDOW);
}

SEC("struct_ops")
void BPF_PROG(fw_ledbat_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct ledbat *ledbat = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	s32 queueing_ms = ledbat->has_sample ? queueing_delay_ms(ledbat) : 0;
	u32 allowed;
	s32 off_target_ms;

	if (after(ack, ledbat->round_end)) {
		ledbat->round_end = tp->snd_nxt;
		ledbat->floor = tp->snd_cwnd / 2;
	}
	if (tcp_in_slow_start(tp)) {
		if (queueing_ms <= SLOW_START_END_MS) {
			if (tcp_is_cwnd_limited(sk))
				tcp_slow_start(tp, acked);
			return;
		}
		tp->snd_ssthresh = max(tp->snd_cwnd, (u32)LEAST_WINDOW);
	}
	/* So far below the target that the product stays within 32 bits. */
	off_target_ms = max(TARGET_MS - queueing_ms, -1000 * TARGET_MS);
	acked = min(acked, 1000U);
	allowed = min(tcp_packets_in_flight(tp) + acked + ALLOWED_INCREASE, tp->snd_cwnd_clamp);
	if (off_target_ms <= 0 || tcp_is_cwnd_limited(sk)) {
		ledbat->credit += off_target_ms * (s32)acked;
		spend(ledbat, tp, allowed);
	}
	/* A sender that waits until it has a bundle leaves a part of its window open, but uses it. */
	if (tcp_is_cwnd_limited(sk))
		return;
	/* What the application leaves unused is not kept for later (§2.4.2, max_allowed_cwnd). */
	allowed = max(allowed, tp->max_packets_out + ALLOWED_INCREASE);
	if (tp->snd_cwnd > allowed) {
		tp->snd_cwnd = max(allowed, (u32)LEAST_WINDOW);
		tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
	}
}

SEC("struct_ops")
u32 BPF_PROG(fw_ledbat_ssthresh, struct sock *sk)
{
	struct ledbat *ledbat = inet_csk_ca(sk);

	ledbat->credit = 0;
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
u32 BPF_PROG(fw_ledbat_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_ledbat = {
	.init = (void *)fw_ledbat_init,
	.ssthresh = (void *)fw_ledbat_ssthresh,
	.cong_avoid = (void *)fw_ledbat_cong_avoid,
	.pkts_acked = (void *)fw_ledbat_pkts_acked,
	.undo_cwnd = (void *)fw_ledbat_undo_cwnd,
	.name = "fw_ledbat",
};
