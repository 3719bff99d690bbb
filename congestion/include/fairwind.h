/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Interface between a congestion control and a TCP sender.
 *
 * The same file runs in the simulator, compiled natively, and in a running kernel, compiled for eBPF
 * (clang -target bpf) as a set of struct_ops. Names and meanings are those of Linux 6.18
 * (include/net/tcp.h, include/linux/tcp.h). Structures have only the fields that congestion controls
 * use; the loader finds their offsets in the running kernel (CO-RE).
 *
 * A congestion control is a file that ends with
 *
 *     SEC(".struct_ops")
 *     struct tcp_congestion_ops mine = { .init = (void *)mine_init, ..., .name = "mine" };
 *
 * Its functions are written as SEC("struct_ops") void BPF_PROG(mine_init, struct sock *sk) { ... }.
 * It may use integers, bounded loops and the functions below, but neither allocate memory nor use floating point.
 * Writable fields: snd_cwnd, snd_cwnd_cnt, snd_cwnd_stamp, snd_ssthresh, ecn_flags, app_limited, icsk_ack.pending,
 * sk_pacing_rate, sk_pacing_status and its own state in icsk_ca_priv. The kernel's verifier refuses other writes; in the
 * simulator such a write ends the hook of a user's file.
 *
 * If a file defines a name that is here as well (div64_u64, clamp, HZ, ...), its own definition holds: `fairwind
 * congestion build` renames this header's.
 */
#ifndef FAIRWIND_H
#define FAIRWIND_H

#ifndef __VMLINUX_H__
#define __VMLINUX_H__ /* these declarations stand in the place of a kernel's */
#endif

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
typedef unsigned long size_t;
enum { false = 0, true = 1 };

#ifndef NULL
#define NULL ((void *)0)
#endif

/* ---- where a thing belongs ---- */

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif
#define __maybe_unused __attribute__((unused))
#ifndef likely
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#endif

/* Before a loop over an array of the state: a kernel's structures are reached by constant places only. */
#ifdef __clang__
#define FAIRWIND_UNROLL _Pragma("unroll")
#else
#define FAIRWIND_UNROLL
#endif

#ifdef __bpf__

#define SEC(section_name) __attribute__((section(section_name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __weak __attribute__((weak))
#define FAIRWIND_LAYOUT __attribute__((preserve_access_index))

/* The kernel hands over the arguments of a hook as an array of 64-bit numbers: BPF_PROG takes them apart. */
#define FAIRWIND_COUNT(args...) FAIRWIND_COUNT_(0, ##args, 5, 4, 3, 2, 1, 0)
#define FAIRWIND_COUNT_(zero, a, b, c, d, e, count, ...) count
#define FAIRWIND_JOIN(a, b) FAIRWIND_JOIN_(a, b)
#define FAIRWIND_JOIN_(a, b) a##b
#define FAIRWIND_TAKE_0
#define FAIRWIND_TAKE_1 , (void *)fairwind_arguments[0]
#define FAIRWIND_TAKE_2 FAIRWIND_TAKE_1, (void *)fairwind_arguments[1]
#define FAIRWIND_TAKE_3 FAIRWIND_TAKE_2, (void *)fairwind_arguments[2]
#define FAIRWIND_TAKE_4 FAIRWIND_TAKE_3, (void *)fairwind_arguments[3]
#define FAIRWIND_TAKE_5 FAIRWIND_TAKE_4, (void *)fairwind_arguments[4]
#define BPF_PROG(name, args...)                                                                              \
	name(u64 *fairwind_arguments);                                                                       \
	static __always_inline __typeof__(name(0)) fairwind_##name(u64 *ctx, ##args);                        \
	__typeof__(name(0)) name(u64 *fairwind_arguments)                                                    \
	{                                                                                                    \
		_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wint-conversion\"")        \
			return fairwind_##name(                                                              \
				fairwind_arguments FAIRWIND_JOIN(FAIRWIND_TAKE_, FAIRWIND_COUNT(args)));     \
		_Pragma("GCC diagnostic pop")                                                                \
	}                                                                                                    \
	static __always_inline __typeof__(name(0)) fairwind_##name(u64 *ctx __maybe_unused, ##args)

#else /* native */

#define SEC(section_name)
#define __ksym
#define __kconfig
#define __weak __attribute__((weak))
#define FAIRWIND_LAYOUT
#define BPF_PROG(name, args...) name(args)
#ifdef FAIRWIND_WATCHED
/* The compiler's own would go unnoticed. */
void *memset(void *place, int value, size_t bytes);
void *memcpy(void *place, const void *source, size_t bytes);
void *memmove(void *place, const void *source, size_t bytes);
#define __builtin_memset memset
#define __builtin_memcpy memcpy
#define __builtin_memmove memmove
#endif

#endif

/* Bits of a structure lie elsewhere in each kernel: the loader fills in where. */
#ifdef __bpf__
enum { FAIRWIND_BYTE_OFFSET = 0, FAIRWIND_BYTE_SIZE = 1, FAIRWIND_LEFT_SHIFT = 4, FAIRWIND_RIGHT_SHIFT = 5 };
#define FAIRWIND_INFO(structure, field, what) __builtin_preserve_field_info((structure)->field, FAIRWIND_##what)
#define BPF_CORE_READ_BITFIELD(structure, field)                                                             \
	({                                                                                                   \
		const void *fairwind_place =                                                                 \
			(const void *)(structure) + FAIRWIND_INFO(structure, field, BYTE_OFFSET);            \
		u64 fairwind_bits = 0;                                                                       \
		switch (FAIRWIND_INFO(structure, field, BYTE_SIZE)) {                                        \
		case 1: fairwind_bits = *(const u8 *)fairwind_place; break;                                  \
		case 2: fairwind_bits = *(const u16 *)fairwind_place; break;                                 \
		case 4: fairwind_bits = *(const u32 *)fairwind_place; break;                                 \
		case 8: fairwind_bits = *(const u64 *)fairwind_place; break;                                 \
		}                                                                                            \
		fairwind_bits <<= FAIRWIND_INFO(structure, field, LEFT_SHIFT);                               \
		fairwind_bits >> FAIRWIND_INFO(structure, field, RIGHT_SHIFT);                               \
	})
#else
#define BPF_CORE_READ_BITFIELD(structure, field) ((structure)->field)
#endif

/* ---- what is known of a sender ---- */

enum tcp_ca_state {
	TCP_CA_Open = 0,
	TCP_CA_Disorder = 1,
	TCP_CA_CWR = 2,
	TCP_CA_Recovery = 3,
	TCP_CA_Loss = 4,
};

enum tcp_ca_event {
	CA_EVENT_TX_START = 0,
	CA_EVENT_CWND_RESTART = 1,
	CA_EVENT_COMPLETE_CWR = 2,
	CA_EVENT_LOSS = 3,
	CA_EVENT_ECN_NO_CE = 4,
	CA_EVENT_ECN_IS_CE = 5,
};

enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,
	CA_ACK_WIN_UPDATE = 2,
	CA_ACK_ECE = 4,
};

/* Flags of a congestion control. */
#define TCP_CONG_NON_RESTRICTED 0x1
#define TCP_CONG_NEEDS_ECN 0x2

/* Bits of ecn_flags. */
#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8

/* Bits of icsk_ack.pending: one is owed, a timer runs for it, it does not wait. In the simulator for TCP_CONG_NEEDS_ECN. */
#define ICSK_ACK_SCHED 1
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

/* Values of sk_pacing_status. */
#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define SK_PACING_FQ 2

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_CA_NAME_MAX 16
/* Bytes of icsk_ca_priv. */
#define ICSK_CA_PRIV_SIZE 104
/* Bits of cong_control's flags that say what an acknowledgment did. */
#define FLAG_DATA_ACKED 0x04
#define FLAG_SYN_ACKED 0x10
#define FLAG_DATA_SACKED 0x20
#define FLAG_ECE 0x40
#define FLAG_SND_UNA_ADVANCED 0x400
#define FLAG_ACKED (FLAG_DATA_ACKED | FLAG_SYN_ACKED)
#define FLAG_FORWARD_PROGRESS (FLAG_ACKED | FLAG_DATA_SACKED)

/* Numbers of errors. */
#define ENOENT 2
#define EBUSY 16
#define EINVAL 22
#define EOPNOTSUPP 95

struct minmax_sample {
	u32 t;
	u32 v;
} FAIRWIND_LAYOUT;

struct minmax {
	struct minmax_sample s[3];
} FAIRWIND_LAYOUT;

struct sock {
	/* Bytes per second. */
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	u32 sk_gso_max_size;
	u16 sk_gso_max_segs;
	u8 sk_pacing_shift;
} FAIRWIND_LAYOUT;

struct inet_sock {
	struct sock sk;
} FAIRWIND_LAYOUT;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5, icsk_ca_initialized : 1, icsk_ca_setsockopt : 1, icsk_ca_dst_locked : 1;
	u8 icsk_retransmits;
	/* The acknowledgment that is owed, as ICSK_ACK_...; ICSK_ACK_NOW may be set. */
	struct {
		u8 pending;
	} FAIRWIND_LAYOUT icsk_ack;
	/* The algorithm's own state. */
	u64 icsk_ca_priv[13];
#ifdef FAIRWIND_WATCHED
	/* Nobody's: what goes beyond the state is noticed here. */
	u64 fairwind_beyond[64];
#endif
} FAIRWIND_LAYOUT;

struct tcp_options_received {
	u32 rcv_tsval;
	u32 rcv_tsecr;
	u16 saw_tstamp : 1, tstamp_ok : 1;
} FAIRWIND_LAYOUT;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	/* Congestion window, in segments, and what counts towards its next growth. */
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_clamp;
	u32 snd_cwnd_stamp;
	u32 snd_ssthresh;
	u32 prior_cwnd;
	u32 prior_ssthresh;
	/* Segments delivered and sent since the reduction began; with cong_control nobody counts the delivered ones. */
	u32 prr_delivered;
	u32 prr_out;
	/* Most packets that were out in the last round trip. */
	u32 max_packets_out;
	u8 is_cwnd_limited : 1;
	u8 ecn_flags;
	/* Segments outstanding, and of these sent again, lost, reported to have arrived. */
	u32 packets_out;
	u32 retrans_out;
	u32 lost_out;
	u32 sacked_out;
	u32 reordering;
	/* Segments delivered since the beginning, and of these with a mark of congestion; segments lost. */
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 app_limited;
	u32 total_retrans;
	/* Smoothed round trip, in eighths of microseconds, and its deviation in quarters. */
	u32 srtt_us;
	u32 mdev_us;
	u32 rttvar_us;
	/* Least round trip of the last minutes, in microseconds. */
	struct minmax rtt_min;
	/* Now, in microseconds. */
	u64 tcp_mstamp;
	/* Instant and delivery of the latest sample of the delivery rate: in the simulator for those with cong_control. */
	u64 delivered_mstamp;
	u64 first_tx_mstamp;
	/* When the last packet leaves by pacing, in nanoseconds. */
	u64 tcp_wstamp_ns;
	u64 tcp_clock_cache;
	/* Sequence numbers: oldest one outstanding, next one to send, next one expected, end of what was written. */
	u32 snd_una;
	u32 snd_nxt;
	u32 rcv_nxt;
	u32 write_seq;
	u32 high_seq;
	/* Bytes of a full segment. */
	u32 mss_cache;
	u32 snd_wnd;
	/* When data was sent last, in jiffies. */
	u32 lsndtime;
	u64 bytes_acked;
	u32 segs_out;
	u32 data_segs_out;
#ifndef __bpf__
	/* How the stack of the connection's profile counts, for what grows below. */
	u32 fairwind_counting;
#endif
	struct tcp_options_received rx_opt;
} FAIRWIND_LAYOUT;

/* Sample of an acknowledgment: segments, round trip (-1 if none), in flight when the segment was sent. */
struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
} FAIRWIND_LAYOUT;

/* A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation). */
struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	bool is_app_limited;
	bool is_retrans;
	bool is_ack_delayed;
} FAIRWIND_LAYOUT;

union tcp_cc_info;
struct module;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	/* Takes the place of cwnd_event for CA_EVENT_TX_START, as in Linux 7.3, which calls no other for it. */
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[16];
	u32 key;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
#ifndef __bpf__
	/* Of a kernel's module; nobody looks at it. */
	struct module *owner;
#endif
};

/* ---- what a kernel offers to call ---- */

/*
 * In the simulator `acked` is what the kernel of the connection's profile would have counted: an acknowledgment is one segment in linux-2.6,
 * and to tcp_cong_avoid_ai in linux-3.16.
 */

/* Grows exponentially up to the threshold; gives the segments that are left for congestion avoidance. */
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
/* Grows by a segment for every `w` that are acknowledged. */
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;
extern u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

/*
 * Options and storage of sockets, and how maps are declared. The simulator has none of them: TCP_NODELAY is refused with EOPNOTSUPP, as kernels
 * refuse it to a congestion control, storage is empty, and anything else ends the hook.
 */
#define SOL_TCP 6
#define TCP_NODELAY 1
#define TCP_CONGESTION 13
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name

#ifdef __bpf__
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static u64 (*bpf_jiffies64)(void) = (void *)118;
static long (*bpf_tcp_send_ack)(void *tp, u32 rcv_nxt) = (void *)116;
static long (*bpf_setsockopt)(void *sk, int level, int option, void *value, int bytes) = (void *)49;
static long (*bpf_getsockopt)(void *sk, int level, int option, void *value, int bytes) = (void *)57;
static void *(*bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
extern unsigned long CONFIG_HZ __kconfig;
#define HZ CONFIG_HZ
#else
u64 bpf_ktime_get_ns(void);
/* In the simulator it follows from the instant, so that a scenario and a seed give the same numbers. */
u32 bpf_get_prandom_u32(void);
long bpf_tcp_send_ack(void *tp, u32 rcv_nxt);
long bpf_setsockopt(void *sk, int level, int option, void *value, int bytes);
long bpf_getsockopt(void *sk, int level, int option, void *value, int bytes);
void *bpf_sk_storage_get(void *map, void *sk, void *value, u64 flags);
long bpf_sk_storage_delete(void *map, void *sk);
/* The number that a kernel's build has; here HZ is a constant, and this the same. */
extern unsigned long CONFIG_HZ;
#define HZ 1000UL
#define bpf_jiffies64() (bpf_ktime_get_ns() / 1000000)
#endif
#define tcp_jiffies32 ((u32)bpf_jiffies64())

/* Lines for /sys/kernel/tracing/trace_pipe; nothing in the simulator. */
#ifdef __bpf__
static long (*bpf_trace_printk)(const char *format, u32 bytes, ...) = (void *)6;
#define bpf_printk(format, args...)                                                                          \
	({                                                                                                   \
		static const char fairwind_format[] = format;                                                \
		bpf_trace_printk(fairwind_format, sizeof(fairwind_format), ##args);                          \
	})
#else
#define bpf_printk(format, args...) ((void)sizeof((long[]){0, ##args}))
#endif

/* ---- parameters ---- */

/*
 * FAIRWIND_PARAM(u32, beta, 717); declares an integer or a bool that scenarios may set for the simulator:
 * congestion = { name = "mine", beta = 600 }. It is read like a constant, and has this default where nobody sets it. In a
 * kernel it always has the default.
 */
#ifdef __bpf__
#define FAIRWIND_PARAM(type, name, value) static const type name __maybe_unused = (value)
#else
struct fairwind_param {
	const char *name;
	const char *type;
	void *place;
	u32 bytes;
	u32 is_signed;
};
#define FAIRWIND_PARAM(type, name, value)                                                                    \
	static type fairwind_value_##name __attribute__((used)) = (value);                                   \
	extern const volatile type name                                                                      \
		__attribute__((alias("fairwind_value_" #name), visibility("hidden")));                       \
	static const struct fairwind_param fairwind_param_##name __attribute__((                             \
		used, section("fairwind_params"), aligned(__alignof__(struct fairwind_param)))) = {          \
		#name, #type, &fairwind_value_##name, sizeof(type), (type)-1 < (type)1                       \
	}
#endif

/* ---- small things that the kernel's headers have inline ---- */

#define USEC_PER_MSEC 1000UL
#define USEC_PER_SEC 1000000UL
#define NSEC_PER_USEC 1000UL
#define MSEC_PER_SEC 1000UL
#define U32_MAX 0xffffffffU
#define BITS_PER_U64 64

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define clamp(value, low, high) min(max(value, low), high)
#define clamp_t(type, value, low, high) clamp((type)(value), (type)(low), (type)(high))
#define READ_ONCE(value) (*(volatile __typeof__(value) *)&(value))
#define WRITE_ONCE(place, value) (*(volatile __typeof__(place) *)&(place) = (value))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define DIV_ROUND_UP(value, by) (((value) + (by) - 1) / (by))

static __always_inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static __always_inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

static __always_inline u8 fairwind_ca_state(const struct sock *sk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);

	return BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
}

static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline bool before(u32 first, u32 second)
{
	return (s32)(first - second) < 0;
}
#define after(second, first) before(first, second)

static __always_inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

static __always_inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}

/* Whether the window was what kept the sender from sending: in slow start also where half of it was used. */
static __always_inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return true;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Whether what was acknowledged counts for congestion avoidance: the window was what limited, and slow start has left
 * some of it, which is in `acked` then. */
static __always_inline bool fairwind_reaches_avoidance(struct sock *sk, u32 *acked)
{
	if (!tcp_is_cwnd_limited(sk))
		return false;
	if (!tcp_in_slow_start(tcp_sk(sk)))
		return true;
	*acked = tcp_slow_start(tcp_sk(sk), *acked);
	return *acked != 0;
}

static __always_inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static __always_inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->rtt_min.s[0].v;
}

static __always_inline u32 minmax_get(const struct minmax *least)
{
	return least->s[0].v;
}

static __always_inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

static __always_inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 segments)
{
	tp->snd_cwnd = segments;
}

static __always_inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return divisor ? dividend / divisor : 0;
}
#define div64_ul div64_u64

static __always_inline u64 div_u64(u64 dividend, u32 divisor)
{
	return divisor ? dividend / divisor : 0;
}

#endif
