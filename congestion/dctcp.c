/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * DCTCP: the window shrinks in proportion to the share of marked segments.
 *
 * Source: RFC 8257; hooks are called as in Linux (tcp_dctcp.c).
 * Sender (§3.3): once per window, alpha = (1 - g) alpha + g (marked / delivered); a mark takes alpha/2 of the window, at
 * most once per window. Receiver (§3.2): each acknowledgment echoes one mark or none, for where marks begin or end, what
 * had come before is acknowledged at once.
 * Parameters: g 1/16; alpha 1 to begin with (§4.2).
 * Deviations: shares are counted in segments, not bytes (as Linux); an alpha below 16/1024 falls to nothing, so that
 * it gets there (the same). Losses halve the window. Where ECN could not be agreed on, this is Reno; Linux changes the
 * algorithm then, which a program cannot.
 * Fractions: alpha times 1024.
 */
#include <fairwind.h>

char _license[] SEC("license") = "Dual MIT/GPL";

enum { SCALE_BITS = 10, ALPHA_GREATEST = 1 << SCALE_BITS, GAIN_BITS = 4, LEAST_WINDOW = 2 };

struct dctcp {
	/* What was delivered, and marked of it, when the present window began; and what had been sent then. */
	u32 delivered_before;
	u32 marked_before;
	u32 round_end;
	/* Share of marks, times 1024. */
	u32 alpha;
	/* Window at the last loss. */
	u32 window_at_loss;
	/* Receiver: next number before the packet at hand, and whether the one before it was marked. */
	u32 expected_before;
	bool was_marked;
};

static __always_inline void begin_window(struct dctcp *dctcp, const struct tcp_sock *tp)
{
	dctcp->delivered_before = tp->delivered;
	dctcp->marked_before = tp->delivered_ce;
	dctcp->round_end = tp->snd_nxt;
}

SEC("struct_ops")
void BPF_PROG(fw_dctcp_init, struct sock *sk)
{
	struct dctcp *dctcp = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	dctcp->alpha = ALPHA_GREATEST;
	dctcp->window_at_loss = 0;
	dctcp->expected_before = tp->rcv_nxt;
	dctcp->was_marked = false;
	begin_window(dctcp, tp);
}

/* A window is through: its share of marks goes into alpha. */
SEC("struct_ops")
void BPF_PROG(fw_dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	struct dctcp *dctcp = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 alpha = dctcp->alpha;
	u32 forgotten = alpha >> GAIN_BITS;
	u32 delivered, marked;

	if (before(tp->snd_una, dctcp->round_end))
		return;
	delivered = tp->delivered - dctcp->delivered_before;
	marked = tp->delivered_ce - dctcp->marked_before;
	alpha -= forgotten ? forgotten : alpha;
	if (marked)
		alpha += (u32)div_u64((u64)marked << (SCALE_BITS - GAIN_BITS), max(delivered, 1U));
	dctcp->alpha = min(alpha, (u32)ALPHA_GREATEST);
	begin_window(dctcp, tp);
}

/* After an echo of marks. A loss is answered by the hooks below, which come later. */
SEC("struct_ops")
u32 BPF_PROG(fw_dctcp_ssthresh, struct sock *sk)
{
	struct dctcp *dctcp = inet_csk_ca(sk);
	u32 window = tcp_sk(sk)->snd_cwnd;
	u32 fall = (u32)((u64)window * dctcp->alpha >> (SCALE_BITS + 1));

	dctcp->window_at_loss = window;
	return max(window - fall, (u32)LEAST_WINDOW);
}

static __always_inline void answer_loss(struct sock *sk, struct dctcp *dctcp)
{
	struct tcp_sock *tp = tcp_sk(sk);

	dctcp->window_at_loss = tp->snd_cwnd;
	tp->snd_ssthresh = max(tp->snd_cwnd / 2, (u32)LEAST_WINDOW);
}

SEC("struct_ops")
void BPF_PROG(fw_dctcp_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Recovery && fairwind_ca_state(sk) != TCP_CA_Recovery)
		answer_loss(sk, inet_csk_ca(sk));
}

static __always_inline void echo(struct tcp_sock *tp, bool is_marked)
{
	if (is_marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= (u8)~TCP_ECN_DEMAND_CWR;
}

/* Data has come: acknowledgments echo its mark from here on. */
static __always_inline void follow_mark(struct sock *sk, struct dctcp *dctcp, bool is_marked)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (dctcp->was_marked != is_marked) {
		/* An acknowledgment that waits is about packets of the other kind. */
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, dctcp->was_marked);
			bpf_tcp_send_ack(tp, dctcp->expected_before);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	dctcp->expected_before = tp->rcv_nxt;
	dctcp->was_marked = is_marked;
	echo(tp, is_marked);
}

SEC("struct_ops")
void BPF_PROG(fw_dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct dctcp *dctcp = inet_csk_ca(sk);

	switch (event) {
	case CA_EVENT_ECN_IS_CE:
	case CA_EVENT_ECN_NO_CE:
		follow_mark(sk, dctcp, event == CA_EVENT_ECN_IS_CE);
		break;
	case CA_EVENT_LOSS:
		answer_loss(sk, dctcp);
		break;
	default:
		break;
	}
}

SEC("struct_ops")
void BPF_PROG(fw_dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
u32 BPF_PROG(fw_dctcp_undo_cwnd, struct sock *sk)
{
	const struct dctcp *dctcp = inet_csk_ca(sk);

	return max(tcp_sk(sk)->snd_cwnd, dctcp->window_at_loss);
}

SEC(".struct_ops")
struct tcp_congestion_ops fw_dctcp = {
	.init = (void *)fw_dctcp_init,
	.in_ack_event = (void *)fw_dctcp_in_ack_event,
	.ssthresh = (void *)fw_dctcp_ssthresh,
	.cong_avoid = (void *)fw_dctcp_cong_avoid,
	.set_state = (void *)fw_dctcp_set_state,
	.cwnd_event = (void *)fw_dctcp_cwnd_event,
	.undo_cwnd = (void *)fw_dctcp_undo_cwnd,
	.flags = TCP_CONG_NEEDS_ECN,
	.name = "fw_dctcp",
};
