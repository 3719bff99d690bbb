// SPDX-License-Identifier: Dual MIT/GPL
/* Written as a module of a kernel: the test is that nothing here has to be changed. Grows by a step that init derives. */
#include <linux/module.h>
#include <linux/mm.h>
#include <net/tcp.h>

static int segments __read_mostly = 2;
module_param(segments, int, 0644);
MODULE_PARM_DESC(segments, "segments for each acknowledgment");

static u64 step __read_mostly;

static void stepped_init(struct sock *sk)
{
	tcp_sk(sk)->snd_cwnd_clamp = 1000;
}

static void stepped_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + step);
	NET_INC_STATS(sock_net(sk), LINUX_MIB_TCPHYSTARTDELAYDETECT);
}

static void stepped_start(struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), 3);
}

static void stepped_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		tcp_snd_cwnd_set(tcp_sk(sk), 1);
	else
		tcp_snd_cwnd_set(tcp_sk(sk), usecs_to_jiffies(2500));
}

static struct tcp_congestion_ops fallback = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.name		= "fallback",
};

static struct tcp_congestion_ops stepped __read_mostly = {
	.init		= stepped_init,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= stepped_cong_avoid,
	.cwnd_event	= stepped_event,
	.cwnd_event_tx_start = stepped_start,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "stepped",
};

static int __init stepped_register(void)
{
	if (segments < 0)
		return -EINVAL;
	step = 1ull << 40;
	step *= segments;
	do_div(step, 1u << 31);
	step >>= 9;
	return tcp_register_congestion_control(&stepped);
}

static void __exit stepped_unregister(void)
{
	tcp_unregister_congestion_control(&stepped);
}

module_init(stepped_register);
module_exit(stepped_unregister);

MODULE_LICENSE("Dual MIT/GPL");
