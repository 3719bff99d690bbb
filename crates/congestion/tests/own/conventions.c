/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Written as for the kernel's own headers, with the small things that such programs bring along: the test is that nothing
 * here has to be changed for ours. Grows by a segment each 100 ms, whatever the round trip.
 */
#include "bpf_tracing_net.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define clamp(value, low, high) min((typeof(value))max(value, low), high)

extern unsigned long CONFIG_HZ __kconfig;
#define HZ CONFIG_HZ
#define USEC_PER_SEC 1000000UL
#define USEC_PER_JIFFY (USEC_PER_SEC / HZ)
#define PERIOD_USEC 100000

extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

static int most_segments = 1000;

struct steady {
	__u32 last_jiffies;
	__u32 last_us;
	__u64 periods;
};

static bool before(__u32 first, __u32 second)
{
	return (__s32)(first - second) < 0;
}
#define after(second, first) before(first, second)

/* Half as much again as it is asked for: were the header's called, the periods would be others. */
static __u64 div64_u64(__u64 dividend, __u64 divisor)
{
	return dividend * 3 / (divisor * 2);
}

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

SEC("struct_ops")
void BPF_PROG(steady_init, struct sock *sk)
{
	struct steady *ca = inet_csk_ca(sk);

	ca->last_jiffies = tcp_jiffies32;
	ca->last_us = tcp_sk(sk)->tcp_mstamp;
	ca->periods = 0;
}

SEC("struct_ops")
void BPF_PROG(steady_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct steady *ca = inet_csk_ca(sk);
	__u64 passed_us = (__u64)(tcp_jiffies32 - ca->last_jiffies) * USEC_PER_JIFFY;

	if (!tcp_is_cwnd_limited(sk) || !after(ack, tp->snd_una - 1))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (passed_us < PERIOD_USEC)
		return;
	bpf_printk("%u segments after %u jiffies", tp->snd_cwnd, tcp_jiffies32);
	ca->last_jiffies = tcp_jiffies32;
	ca->periods += div64_u64(passed_us, PERIOD_USEC);
	tp->snd_cwnd = clamp(tp->snd_cwnd + 1U, 2U, most_segments);
}

SEC("struct_ops")
__u32 BPF_PROG(steady_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

SEC("struct_ops")
__u32 BPF_PROG(steady_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops steady = {
	.init = (void *)steady_init,
	.ssthresh = (void *)steady_ssthresh,
	.cong_avoid = (void *)steady_cong_avoid,
	.undo_cwnd = (void *)steady_undo_cwnd,
	.name = "fwt_steady",
};
