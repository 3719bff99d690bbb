/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * HighSpeed TCP: Reno with an increase that grows and a decrease that shrinks with the window. A window of 83 000
 * segments corresponds to a loss rate of one in ten million.
 *
 * Source: RFC 3649 §5, appendix B (windows at which the increase reaches 1, 2, 3, ... segments).
 * Parameters (default, unit):
 *   W    38      segments; Reno up to it
 *   W1   83000   segments, at which the loss rate is P1
 *   P1   1e-7    losses per segment
 *   B1   0.1     share of the window that a loss takes at W1; 0.5 at W, in between by the logarithm of the window
 * Deviations: between the table's rows increase and decrease are interpolated, where Linux holds those of the row
 * above; beyond the last row they stay. The decrease at each row is b(w) of §5 in 1/1024, the table has two decimals.
 * Increases count per acknowledged segment, in Linux per acknowledgment.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

/* Increases are in 1/256 segment, decreases in 1/1024 of the window. */
#define INCREASE_SHIFT 8
#define DECREASE_SHIFT 10
#define ROWS 73U

/* The row's increase is its number in the table, counted from 1. */
struct row {
	u32 window;
	u32 decrease;
};

static const struct row rows[ROWS] = {
	{ 38, 512 }, { 118, 452 }, { 221, 418 }, { 347, 394 }, { 495, 375 }, { 663, 360 }, { 851, 346 },
	{ 1058, 335 }, { 1284, 324 }, { 1529, 315 }, { 1793, 307 }, { 2076, 299 }, { 2378, 292 }, { 2699, 285 },
	{ 3039, 279 }, { 3399, 273 }, { 3778, 267 }, { 4177, 262 }, { 4596, 257 }, { 5036, 252 }, { 5497, 247 },
	{ 5979, 243 }, { 6483, 238 }, { 7009, 234 }, { 7558, 230 }, { 8130, 226 }, { 8726, 222 }, { 9346, 219 },
	{ 9991, 215 }, { 10661, 212 }, { 11358, 208 }, { 12082, 205 }, { 12834, 202 }, { 13614, 199 }, { 14424, 196 },
	{ 15265, 193 }, { 16137, 190 }, { 17042, 187 }, { 17981, 184 }, { 18955, 181 }, { 19965, 178 },
	{ 21013, 176 }, { 22101, 173 }, { 23230, 170 }, { 24402, 168 }, { 25618, 165 }, { 26881, 162 },
	{ 28193, 160 }, { 29557, 157 }, { 30975, 155 }, { 32450, 152 }, { 33986, 150 }, { 35586, 148 },
	{ 37253, 145 }, { 38992, 143 }, { 40808, 140 }, { 42707, 138 }, { 44694, 135 }, { 46776, 133 },
	{ 48961, 131 }, { 51258, 128 }, { 53677, 126 }, { 56230, 123 }, { 58932, 121 }, { 61799, 118 },
	{ 64851, 116 }, { 68113, 113 }, { 71617, 110 }, { 75401, 108 }, { 79517, 105 }, { 84035, 102 }, { 89053, 99 },
	{ 94717, 95 },
};

struct highspeed {
	/* What holds at the window at which it was computed last. */
	u32 window;
	u32 increase;
	u32 decrease;
};

/* The last row with a window of at most `window`; the first one for smaller windows. */
static __always_inline u32 row_of(u32 window)
{
	u32 row = 0;
	u32 step;

	for (step = 64; step; step >>= 1) {
		u32 next = row + step;

		if (next < ROWS && rows[next].window <= window)
			row = next;
	}
	return row;
}

static __always_inline void look_up(struct highspeed *ca, u32 window)
{
	u32 row, behind, width, fall;

	if (ca->window == window)
		return;
	ca->window = window;
	row = row_of(window);
	if (row >= ROWS)
		return;
	ca->increase = (row + 1) << INCREASE_SHIFT;
	ca->decrease = rows[row].decrease;
	if (row + 1 >= ROWS || window <= rows[row].window)
		return;
	behind = window - rows[row].window;
	width = rows[row + 1].window - rows[row].window;
	fall = rows[row].decrease - rows[row + 1].decrease;
	if (!width)
		return;
	ca->increase += (behind << INCREASE_SHIFT) / width;
	ca->decrease -= behind * fall / width;
}

SEC("struct_ops")
void BPF_PROG(fw_highspeed_init, struct sock *sk)
{
	struct highspeed *ca = inet_csk_ca(sk);

	ca->window = 0;
	ca->increase = 1 << INCREASE_SHIFT;
	ca->decrease = 1 << (DECREASE_SHIFT - 1);
}

/* w += a(w) / w. What is not yet a segment waits in snd_cwnd_cnt, in 1/256. */
SEC("struct_ops")
void BPF_PROG(fw_highspeed_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct highspeed *ca = inet_csk_ca(sk);
	u64 credit, step;
	u32 window;

	if (!fairwind_reaches_avoidance(sk, &acked))
		return;
	window = tp->snd_cwnd;
	look_up(ca, window);
	step = (u64)max(window, 1U) << INCREASE_SHIFT;
	credit = tp->snd_cwnd_cnt + (u64)ca->increase * acked;
	if (credit >= step) {
		tp->snd_cwnd = min(window + (u32)(credit / step), tp->snd_cwnd_clamp);
		credit %= step;
	}
	tp->snd_cwnd_cnt = credit;
}

SEC("struct_ops")
u32 BPF_PROG(fw_highspeed_ssthresh, struct sock *sk)
{
	struct highspeed *ca = inet_csk_ca(sk);
	u32 window = tcp_sk(sk)->snd_cwnd;

	look_up(ca, window);
	return max(window - (u32)(((u64)window * ca->decrease) >> DECREASE_SHIFT), 2U);
}

SEC("struct_ops")
u32 BPF_PROG(fw_highspeed_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_highspeed = {
	.init = (void *)fw_highspeed_init,
	.ssthresh = (void *)fw_highspeed_ssthresh,
	.cong_avoid = (void *)fw_highspeed_cong_avoid,
	.undo_cwnd = (void *)fw_highspeed_undo_cwnd,
	.name = "fw_highspeed",
};
