/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * CUBIC: the window is a cubic function of the time since the last loss.
 *
 * Source: RFC 9438; where it differs, Linux 6.18 (tcp_cubic.c). The slow start is that of Ha and Rhee, "Taming the
 * elephants: New TCP slow start" (2011), with Linux' constants.
 * Parameters (default, unit):
 *   C             410/1024 = 0.4     segments / s^3
 *   beta          717/1024 = 0.7     window after / window before a loss
 *   least window of the search for the end of slow start    16      segments
 *   pause that ends a train of acknowledgments               2      ms
 *   length of a train that ends slow start   half of the least round trip (all of it where pacing is on)
 *   samples before the delay is judged                       8      per round trip
 *   rise of the delay that ends slow start   an eighth of the least, 4 to 16 ms
 * Deviations: time is in microseconds, Linux' in ticks of its clock; the cube root is exact, Linux' is a table look-up;
 * an acknowledgment may wait a millisecond on its way, Linux has it wait less above 2 Gbit/s. The endpoint's own
 * CUBIC ("cubic" in the profiles of Linux) is the same, acknowledgment by acknowledgment.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

#define SHARES 1024
#define BETA 717
#define C_SHARES 410
/* Segments acknowledged per segment of Reno-friendly growth and window, in eighths: (1 + beta) / (3 (1 - beta)). */
#define INVERSE_ALPHA_8 (8 * (SHARES + BETA) / 3 / (SHARES - BETA))
#define UPDATE_INTERVAL_US (USEC_PER_SEC / 32)
#define TICK_US USEC_PER_MSEC
#define SETTLING_US USEC_PER_SEC
/* As far from its plateau, in 1/1024 s, the curve fits into 64 bits. */
#define GREATEST_OFFSET 350000ULL
/* Without a plateau the window grows by at least a twentieth per round trip. */
#define MOST_WITHOUT_PLATEAU 20U

#define LEAST_WINDOW 16U
#define PAUSE_US 2000U
#define ALLOWANCE_US 1000U
#define LEAST_SAMPLES 8
#define LEAST_RISE_US 4000U
#define GREATEST_RISE_US 16000U

struct cubic {
	/* Begin of the growth since the last loss in microseconds, 0 before the first acknowledgment after it. */
	u64 epoch_start;
	u64 last_update;
	/* Of the present round trip of slow start: its begin, and the last acknowledgment of its train. */
	u64 round_start;
	u64 last_ack;
	u32 round_end;
	u32 round_delay;
	/* Acknowledged segments per segment of growth. */
	u32 per_segment;
	/* Window before the last loss, lowered by fast convergence. */
	u32 last_maximum;
	u32 last_window;
	u32 plateau;
	/* Time from the begin to the plateau (K), in 1/1024 s. */
	u32 to_plateau;
	u32 least_rtt;
	/* What Reno's window would be, and acknowledged segments not yet turned into its growth. */
	u32 reno_window;
	u32 reno_credit;
	u8 samples;
	u8 slow_start_ended;
};

static __always_inline void begin_round(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = inet_csk_ca(sk);

	ca->round_start = tp->tcp_mstamp;
	ca->last_ack = tp->tcp_mstamp;
	ca->round_end = tp->snd_nxt;
	ca->round_delay = U32_MAX;
	ca->samples = 0;
}

static __always_inline void begin_anew(struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);

	ca->epoch_start = 0;
	ca->last_update = 0;
	ca->per_segment = 1;
	ca->last_maximum = 0;
	ca->last_window = 0;
	ca->plateau = 0;
	ca->to_plateau = 0;
	ca->least_rtt = 0;
	ca->reno_window = 0;
	ca->reno_credit = 0;
	ca->slow_start_ended = 0;
	begin_round(sk);
}

SEC("struct_ops")
void BPF_PROG(fw_cubic_init, struct sock *sk)
{
	begin_anew(sk);
}

/* Time without anything in flight does not count as growth time (RFC 9438 §5.8). */
SEC("struct_ops")
void BPF_PROG(fw_cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = inet_csk_ca(sk);
	s32 idle_ticks;

	if (event != CA_EVENT_TX_START)
		return;
	idle_ticks = (s32)(tcp_jiffies32 - tp->lsndtime);
	if (!ca->epoch_start || idle_ticks <= 0)
		return;
	ca->epoch_start += (u64)idle_ticks * (USEC_PER_SEC / HZ);
	ca->epoch_start = min(ca->epoch_start, tp->tcp_mstamp);
}

/* The integer cube root, rounded down, by Newton's method from above: no root of 64 bits takes as many steps. */
static __always_inline u32 cube_root(u64 value)
{
	u64 root = 1ULL << 22;
	int step;

	if (!value)
		return 0;
	for (step = 0; step < 64; step++) {
		u64 next = (2 * root + value / max(root * root, 1ULL)) / 3;

		if (next >= root)
			break;
		root = next;
	}
	return root;
}

/* RFC 9438 §4.2: the curve starts at the window as it is and reaches the plateau after K. */
static __always_inline void begin_epoch(struct cubic *ca, u32 window, u32 acked, u64 now)
{
	ca->epoch_start = max(now, 1ULL);
	ca->reno_window = window;
	ca->reno_credit = acked;
	if (ca->last_maximum <= window) {
		ca->to_plateau = 0;
		ca->plateau = window;
	} else {
		/* K^3 = segments / C, in 1/1024 s: segments 2^40 / 410. */
		ca->to_plateau = cube_root(((u64)(ca->last_maximum - window) << 40) / C_SHARES);
		ca->plateau = ca->last_maximum;
	}
}

static __always_inline u32 per_segment_by_curve(const struct cubic *ca, u32 window, u64 now)
{
	u64 elapsed = (now - ca->epoch_start + ca->least_rtt) * 16 / 15625;
	bool is_below = elapsed < ca->to_plateau;
	u64 offset = is_below ? ca->to_plateau - elapsed : elapsed - ca->to_plateau;
	u32 distance, target, per_segment;

	offset = min(offset, GREATEST_OFFSET);
	distance = (C_SHARES * offset * offset * offset) >> 40;
	if (is_below)
		target = ca->plateau > distance ? ca->plateau - distance : 0;
	else
		target = ca->plateau + distance;
	per_segment = target > window ? window / (target - window) : 100 * window;
	if (!ca->last_maximum)
		per_segment = min(per_segment, MOST_WITHOUT_PLATEAU);
	return per_segment;
}

/* RFC 9438 §4.3: never slower than Reno with the same beta would be. */
static __always_inline u32 per_segment_by_reno(struct cubic *ca, u32 window)
{
	u32 per_step = max((window * INVERSE_ALPHA_8) >> 3, 1U);

	if (ca->reno_credit > per_step) {
		u32 steps = (ca->reno_credit - 1) / per_step;

		ca->reno_credit -= steps * per_step;
		ca->reno_window += steps;
	}
	return ca->reno_window > window ? window / (ca->reno_window - window) : U32_MAX;
}

static __always_inline void update(struct cubic *ca, u32 window, u32 acked, u64 now)
{
	u32 by_reno;

	ca->reno_credit += acked;
	if (ca->last_window == window && now - ca->last_update <= UPDATE_INTERVAL_US)
		return;
	/* The curve is looked at once per tick at most. */
	if (!ca->epoch_start || now - ca->last_update >= TICK_US) {
		ca->last_window = window;
		ca->last_update = now;
		if (!ca->epoch_start)
			begin_epoch(ca, window, acked, now);
		ca->per_segment = per_segment_by_curve(ca, window, now);
	}
	by_reno = per_segment_by_reno(ca, window);
	ca->per_segment = max(min(ca->per_segment, by_reno), 2U);
}

SEC("struct_ops")
void BPF_PROG(fw_cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = inet_csk_ca(sk);

	if (!fairwind_reaches_avoidance(sk, &acked))
		return;
	update(ca, tp->snd_cwnd, acked, tp->tcp_mstamp);
	tcp_cong_avoid_ai(tp, ca->per_segment, acked);
}

/* RFC 9438 §4.6, §4.7. */
SEC("struct_ops")
u32 BPF_PROG(fw_cubic_ssthresh, struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);
	u32 window = tcp_sk(sk)->snd_cwnd;

	ca->epoch_start = 0;
	if (window < ca->last_maximum)
		ca->last_maximum = (u64)window * (SHARES + BETA) / (2 * SHARES);
	else
		ca->last_maximum = window;
	return max((u32)((u64)window * BETA / SHARES), 2U);
}

SEC("struct_ops")
void BPF_PROG(fw_cubic_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		begin_anew(sk);
}

/* A train of acknowledgments that lasts longer than half a round trip fills the path. */
static __always_inline bool is_train_long(const struct sock *sk, struct cubic *ca, u64 now)
{
	u32 most = ca->least_rtt + ALLOWANCE_US;

	if (now - ca->last_ack > PAUSE_US)
		return false;
	ca->last_ack = now;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		most >>= 1;
	return now - ca->round_start > most;
}

/* A round trip that is longer than it was shows a queue. */
static __always_inline bool is_delay_high(struct cubic *ca, u32 delay)
{
	ca->round_delay = min(ca->round_delay, delay);
	if (ca->samples < LEAST_SAMPLES) {
		ca->samples++;
		return false;
	}
	return ca->round_delay >
	       ca->least_rtt + clamp(ca->least_rtt >> 3, LEAST_RISE_US, GREATEST_RISE_US);
}

static __always_inline void observe_slow_start(struct sock *sk, struct cubic *ca, u32 delay)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool is_over;

	if (after(tp->snd_una, ca->round_end))
		begin_round(sk);
	if (tp->snd_cwnd < LEAST_WINDOW)
		return;
	is_over = is_train_long(sk, ca, tp->tcp_mstamp);
	is_over |= is_delay_high(ca, delay);
	if (is_over) {
		ca->slow_start_ended = 1;
		tp->snd_ssthresh = tp->snd_cwnd;
	}
}

SEC("struct_ops")
void BPF_PROG(fw_cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = inet_csk_ca(sk);
	u32 delay;

	if (sample->rtt_us < 0)
		return;
	/* Shortly after a loss, delays are those of the loss. */
	if (ca->epoch_start && tp->tcp_mstamp - ca->epoch_start < SETTLING_US)
		return;
	delay = max(sample->rtt_us, 1);
	if (!ca->least_rtt || delay < ca->least_rtt)
		ca->least_rtt = delay;
	if (!ca->slow_start_ended && tcp_in_slow_start(tp))
		observe_slow_start(sk, ca, delay);
}

SEC("struct_ops")
u32 BPF_PROG(fw_cubic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_cubic = {
	.init = (void *)fw_cubic_init,
	.ssthresh = (void *)fw_cubic_ssthresh,
	.cong_avoid = (void *)fw_cubic_cong_avoid,
	.set_state = (void *)fw_cubic_set_state,
	.cwnd_event = (void *)fw_cubic_cwnd_event,
	.pkts_acked = (void *)fw_cubic_pkts_acked,
	.undo_cwnd = (void *)fw_cubic_undo_cwnd,
	.name = "fw_cubic",
};
