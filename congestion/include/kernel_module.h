/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What the source of a kernel's module (net/ipv4/tcp_NAME.c) finds in the place of linux/, net/ and asm/: such a file runs in the simulator
 * without a change. Names and meanings are those of Linux 7.3. Counters of the kernel, tables of functions for eBPF and
 * what says who wrote the module come to nothing; module_param declares a parameter, as FAIRWIND_PARAM does; the
 * function of module_init runs once the parameters are set. Random numbers follow from the instant.
 */
#ifndef FAIRWIND_KERNEL_MODULE_H
#define FAIRWIND_KERNEL_MODULE_H

#include "fairwind.h"

#define FAIRWIND_VISIBLE __attribute__((visibility("default"), used))

/* ---- the module ---- */

#define __init
#define __exit
#define __read_mostly
#define __bpf_kfunc
#define THIS_MODULE NULL
#define MODULE_AUTHOR(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
#define MODULE_VERSION(text)
#define MODULE_ALIAS(text)
#define MODULE_PARM_DESC(name, text)
#define EXPORT_SYMBOL_GPL(name)
#define module_exit(function)
#define module_init(function)                                                                                \
	FAIRWIND_VISIBLE int fairwind_start_module(void)                                                     \
	{                                                                                                    \
		return function();                                                                           \
	}
#define module_param(name, type, mode)                                                                       \
	static const struct fairwind_param fairwind_param_##name __attribute__((                             \
		used, section("fairwind_params"), aligned(__alignof__(struct fairwind_param)))) = {          \
		#name, #type, (void *)&name, sizeof(name), (__typeof__(name))-1 < (__typeof__(name))1        \
	}

static inline int tcp_register_congestion_control(struct tcp_congestion_ops *table __maybe_unused)
{
	return 0;
}

static inline void tcp_unregister_congestion_control(struct tcp_congestion_ops *table __maybe_unused)
{
}

struct btf_kfunc_id_set {
	struct module *owner;
	const int *set;
};
#define BPF_PROG_TYPE_STRUCT_OPS 27
#define BTF_KFUNCS_START(name) static const int name __maybe_unused = 0;
#define BTF_ID_FLAGS(...)
#define BTF_KFUNCS_END(name)
#define register_btf_kfunc_id_set(kind, set) ((void)(set), 0)

#define BUILD_BUG_ON(condition) _Static_assert(!(condition), "BUILD_BUG_ON: " #condition)
#define WARN_ON_ONCE(condition) ({ bool fairwind_is_so = !!(condition); unlikely(fairwind_is_so); })
#define WARN_ONCE(condition, ...) WARN_ON_ONCE(condition)
#define pr_debug(...) ((void)0)
#define pr_info(...) ((void)0)
#define NET_INC_STATS(net, counter) ((void)0)
#define NET_ADD_STATS(net, counter, number) ((void)0)

/* ---- what a module reports to `ss` ---- */

enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_DCTCPINFO = 9, INET_DIAG_BBRINFO = 16 };

struct tcpvegas_info {
	u32 tcpv_enabled;
	u32 tcpv_rttcnt;
	u32 tcpv_rtt;
	u32 tcpv_minrtt;
};

struct tcp_bbr_info {
	u32 bbr_bw_lo;
	u32 bbr_bw_hi;
	u32 bbr_min_rtt;
	u32 bbr_pacing_gain;
	u32 bbr_cwnd_gain;
};

union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct tcp_bbr_info bbr;
};

/* ---- time ---- */

#define HZ_USEC (USEC_PER_SEC / HZ)
#define HZ_MSEC (MSEC_PER_SEC / HZ)
#define jiffies ((unsigned long)bpf_jiffies64())
#define usecs_to_jiffies(us) DIV_ROUND_UP((unsigned long)(us), HZ_USEC)
#define msecs_to_jiffies(ms) DIV_ROUND_UP((unsigned long)(ms), HZ_MSEC)
#define jiffies_to_usecs(count) ((u32)((count) * HZ_USEC))
#define jiffies_to_msecs(count) ((u32)((count) * HZ_MSEC))
#define time_after(first, second) ((long)((second) - (first)) < 0)
#define time_before(first, second) time_after(second, first)
#define time_after_eq(first, second) (!time_before(first, second))

static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier)
{
	return (u32)max((s64)(later - earlier), (s64)0);
}

/* ---- numbers ---- */

#define S32_MAX 0x7fffffff
#define U16_MAX 0xffffU
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define offsetof(type, field) __builtin_offsetof(type, field)
#define abs(number) __builtin_llabs(number)

/* Divides in place, and gives the remainder. */
#define do_div(dividend, divisor)                                                                            \
	({                                                                                                   \
		u32 fairwind_by = (divisor);                                                                 \
		u32 fairwind_rest = (u32)((dividend) % fairwind_by);                                         \
		(dividend) /= fairwind_by;                                                                   \
		fairwind_rest;                                                                               \
	})

/* The place of the highest bit from 1, 0 if there is none. */
static inline int fls64(u64 number)
{
	return number ? BITS_PER_U64 - __builtin_clzll(number) : 0;
}

static inline int fls(u32 number)
{
	return fls64(number);
}
#define ilog2(number) (fls64(number) - 1)

static inline s64 div64_long(s64 dividend, long divisor)
{
	return dividend / divisor;
}

/* One thread has the place to itself. */
#define cmpxchg(place, old, new)                                                                             \
	({                                                                                                   \
		__typeof__(*(place)) fairwind_was = *(place);                                                \
		if (fairwind_was == (old))                                                                   \
			*(place) = (new);                                                                    \
		fairwind_was;                                                                                \
	})

#define get_random_u32_below(limit) ((u32)(((u64)bpf_get_prandom_u32() * (limit)) >> 32))

static inline void get_random_bytes(void *bytes, size_t count)
{
	for (size_t place = 0; place < count; place++)
		((u8 *)bytes)[place] = (u8)bpf_get_prandom_u32();
}

static inline bool between(u32 number, u32 first, u32 last)
{
	return last - first >= number - first;
}

/* ---- what the kernel's headers say of a sender ---- */

/* Bits of states of recovery. */
#define TCPF_CA_Open (1 << TCP_CA_Open)
#define TCPF_CA_Disorder (1 << TCP_CA_Disorder)
#define TCPF_CA_CWR (1 << TCP_CA_CWR)
#define TCPF_CA_Recovery (1 << TCP_CA_Recovery)
#define TCPF_CA_Loss (1 << TCP_CA_Loss)

static inline bool tcp_in_cwnd_reduction(const struct sock *sk)
{
	return (1 << inet_csk(sk)->icsk_ca_state) & (TCPF_CA_CWR | TCPF_CA_Recovery);
}

/* The threshold that holds: outside of a reduction at least three quarters of the window. */
static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_cwnd_reduction(sk))
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

/* ---- the largest of a window (lib/win_minmax.c, after K. Nichols) ---- */

static inline u32 minmax_reset(struct minmax *filter, u32 at, u32 value)
{
	filter->s[0] = filter->s[1] = filter->s[2] = (struct minmax_sample){ .t = at, .v = value };
	return value;
}

/* Keeps the largest, and the largest since each of two later samples, so that one is there when the first has grown too old. */
static inline u32 minmax_running_max(struct minmax *filter, u32 window, u32 at, u32 value)
{
	const struct minmax_sample sample = { .t = at, .v = value };
	struct minmax_sample *best = filter->s;

	if (value >= best[0].v || at - best[2].t > window)
		return minmax_reset(filter, at, value);
	if (value >= best[1].v)
		best[1] = best[2] = sample;
	else if (value >= best[2].v)
		best[2] = sample;
	if (at - best[0].t > window) {
		for (int turn = 0; turn < 2 && at - best[0].t > window; turn++) {
			best[0] = best[1];
			best[1] = best[2];
			best[2] = sample;
		}
	} else if (best[1].t == best[0].t && at - best[0].t > window / 4) {
		best[1] = best[2] = sample;
	} else if (best[2].t == best[1].t && at - best[0].t > window / 2) {
		best[2] = sample;
	}
	return best[0].v;
}

/* ---- what a program of the kernel's owner may say: nothing ---- */

#define BPF_SOCK_OPS_BASE_RTT 7
#define tcp_call_bpf(sk, what, count, arguments) (-1)

/* ---- what the kernel knows of packets ---- */

/* Largest bundle that older devices take, and room for headers in front of it (of a kernel with tunnels). */
#define GSO_LEGACY_MAX_SIZE 65536U
#define MAX_TCP_HEADER 320U

#endif
