/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * The functions of a kernel's CUBIC that programs may call (kfuncs of Linux tcp_cubic.c), for those that are compiled natively and call
 * them: the hooks of `congestion/cubic.c`, which equals the endpoint's CUBIC acknowledgment by acknowledgment.
 */
#define _license fairwind_license_cubictcp
#include "cubic.c"

void cubictcp_init(struct sock *sk);
u32 cubictcp_recalc_ssthresh(struct sock *sk);
void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked);
void cubictcp_state(struct sock *sk, u8 new_state);
void cubictcp_cwnd_event_tx_start(struct sock *sk);
void cubictcp_acked(struct sock *sk, const struct ack_sample *sample);

void cubictcp_init(struct sock *sk)
{
	fw_cubic_init(sk);
}

u32 cubictcp_recalc_ssthresh(struct sock *sk)
{
	return fw_cubic_ssthresh(sk);
}

void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	fw_cubic_cong_avoid(sk, ack, acked);
}

void cubictcp_state(struct sock *sk, u8 new_state)
{
	fw_cubic_set_state(sk, new_state);
}

void cubictcp_cwnd_event_tx_start(struct sock *sk)
{
	fw_cubic_cwnd_event(sk, CA_EVENT_TX_START);
}

void cubictcp_acked(struct sock *sk, const struct ack_sample *sample)
{
	fw_cubic_pkts_acked(sk, sample);
}
