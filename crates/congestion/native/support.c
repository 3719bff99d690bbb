/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What a kernel offers to congestion controls, for those that are compiled natively; and the calls of their hooks,
 * which come back also where a hook divides by zero, or (where the source was compiled so, FAIRWIND_WATCHED) does
 * anything else that a kernel's verifier would not have taken.
 *
 * Source of meanings: RFC 5681 §3.1; Linux 6.18 tcp_cong.c, filter.c (BPF_FUNC_ktime_get_ns). What grows counts as the kernel
 * of the connection's profile did: before Linux 4.0 tcp_cong_avoid_ai took an acknowledgment for one segment, before 3.13
 * tcp_slow_start too.
 */
#include <fairwind.h>

#define VISIBLE __attribute__((visibility("default")))

/* Why a hook was ended; `native.rs` has words for them. */
enum fault {
	FAULT_NONE,
	FAULT_DIVISION_BY_ZERO,
	FAULT_QUOTIENT,
	FAULT_ENDLESS,
	FAULT_TOO_DEEP,
	FAULT_NULL_POINTER,
	FAULT_BEYOND_STATE,
	FAULT_FIELD,
	FAULT_MEMORY,
	FAULT_SOCKET_OPTION,
	FAULT_SOCKET_STORAGE,
};

/* Where a fault goes on: five words, as the compiler wants them. */
static _Thread_local void *escape[5];
static _Thread_local enum fault fault;
static _Thread_local u32 fault_line;

/* Ends the hook under way. */
static __attribute__((noreturn)) void end_hook(enum fault why, u32 line);

#ifdef FAIRWIND_WATCHED
#include "watched.h"
#else
/* What the repository's own files do was looked at when they were written. */
#define ENTER(sk) (sk)
#define BEGIN_HOOK() ((void)0)
#define END_HOOK() ((void)0)
#define IS_IN_HOOK true
#define LEAVE(sk) ((void)0)
#define SHOW(sample) ((void)0)
#define CHECK_SENDER(tp) ((void)0)
#endif

static __attribute__((noreturn)) void end_hook(enum fault why, u32 line)
{
	fault = why;
	fault_line = line;
	if (IS_IN_HOOK)
		__builtin_longjmp(escape, 1);
	__builtin_trap();
}

unsigned long CONFIG_HZ = HZ;

/* ---- the clock, and acknowledgments that are asked for ---- */

static _Thread_local u64 now_nanos;
/* Random numbers that the hook has drawn. */
static _Thread_local u32 draws;
static _Thread_local u32 asked_number;
static _Thread_local u8 asked_flags;
static _Thread_local bool is_asked;

u64 bpf_ktime_get_ns(void)
{
	return now_nanos;
}

/* The instant and the draw, mixed by the finaliser of SplitMix64 (Steele, Lea and Flood, 2014). */
u32 bpf_get_prandom_u32(void)
{
	u64 bits = now_nanos + 0x9e3779b97f4a7c15ULL * ++draws;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ULL;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebULL;
	return (u32)((bits ^ bits >> 31) >> 32);
}

long bpf_tcp_send_ack(void *tp, u32 rcv_nxt)
{
	CHECK_SENDER(tp);
	asked_number = rcv_nxt;
	asked_flags = ((const struct tcp_sock *)tp)->ecn_flags;
	is_asked = true;
	return 0;
}

/* ---- options and storage of sockets: there are none ---- */

long bpf_setsockopt(void *sk, int level, int option, void *value __maybe_unused, int bytes __maybe_unused)
{
	CHECK_SENDER(sk);
	if (level != SOL_TCP || option != TCP_NODELAY)
		end_hook(FAULT_SOCKET_OPTION, 0);
	return -EOPNOTSUPP;
}

long bpf_getsockopt(void *sk, int level __maybe_unused, int option __maybe_unused, void *value __maybe_unused,
		    int bytes __maybe_unused)
{
	CHECK_SENDER(sk);
	end_hook(FAULT_SOCKET_OPTION, 0);
}

void *bpf_sk_storage_get(void *map __maybe_unused, void *sk, void *value __maybe_unused, u64 flags)
{
	CHECK_SENDER(sk);
	if (flags & BPF_SK_STORAGE_GET_F_CREATE)
		end_hook(FAULT_SOCKET_STORAGE, 0);
	return NULL;
}

long bpf_sk_storage_delete(void *map __maybe_unused, void *sk)
{
	CHECK_SENDER(sk);
	return -ENOENT;
}

/* ---- growth, as the kernel has it ---- */

/* `AckCounting` of Rust. */
enum { COUNTS_SEGMENTS, COUNTS_SEGMENTS_IN_SLOW_START, COUNTS_ACKNOWLEDGMENTS };

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 grown;

	CHECK_SENDER(tp);
	if (tp->fairwind_counting == COUNTS_ACKNOWLEDGMENTS)
		acked = min(acked, 1U);
	grown = min(tp->snd_cwnd + acked, tp->snd_ssthresh);
	acked -= grown - tp->snd_cwnd;
	tp->snd_cwnd = min(grown, tp->snd_cwnd_clamp);
	return tp->fairwind_counting == COUNTS_SEGMENTS ? acked : 0;
}

void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	u32 steps = 0;

	CHECK_SENDER(tp);
	if (tp->fairwind_counting != COUNTS_SEGMENTS)
		acked = min(acked, 1U);
	/* Credit gathered at a greater divisor is worth one segment at most. */
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	if (w && tp->snd_cwnd_cnt >= w)
		steps = tp->snd_cwnd_cnt / w;
	tp->snd_cwnd_cnt -= steps * w;
	tp->snd_cwnd = min(tp->snd_cwnd + steps, tp->snd_cwnd_clamp);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	CHECK_SENDER(sk);
	return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack __maybe_unused, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	CHECK_SENDER(sk);
	if (fairwind_reaches_avoidance(sk, &acked))
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	CHECK_SENDER(sk);
	return max(tp->snd_cwnd, tp->prior_cwnd);
}

/* ---- calls that come back ---- */

/* What the compiler knows of a place in a source. */
struct place {
	const char *file;
	u32 line;
	u32 column;
};

/* The compiler has a division by zero end here (-fsanitize=integer-divide-by-zero), and the least number divided by -1. */
VISIBLE __attribute__((noreturn)) void __ubsan_handle_divrem_overflow_abort(void *where, void *dividend __maybe_unused,
									       void *divisor)
{
	end_hook(divisor ? FAULT_QUOTIENT : FAULT_DIVISION_BY_ZERO, ((const struct place *)where)->line);
}

#ifdef FAIRWIND_WATCHED
/* The compiler has the use of a null pointer end here (-fsanitize=null). */
VISIBLE __attribute__((noreturn)) void __ubsan_handle_type_mismatch_v1_abort(void *where, void *pointer __maybe_unused)
{
	end_hook(FAULT_NULL_POINTER, ((const struct place *)where)->line);
}
#endif

/* Why the last call was ended, and the line of the source, or 0 where that is not known. */
VISIBLE u32 fairwind_fault(u32 *line)
{
	*line = fault_line;
	return fault;
}

/* Whether an acknowledgment with a number was asked for since this was asked last, and the bits of ecn_flags then. */
VISIBLE bool fairwind_take_asked(u32 *number, u8 *ecn_flags)
{
	bool was_asked = is_asked;

	*number = asked_number;
	*ecn_flags = asked_flags;
	is_asked = false;
	return was_asked;
}

/* Calls a hook at an instant, which has the sender as `theirs`; gives false where it was ended. */
#define GUARDED(now, call)                                                                                   \
	bool is_whole = true;                                                                                \
	struct sock *theirs;                                                                                 \
	now_nanos = now;                                                                                     \
	draws = 0;                                                                                           \
	theirs = ENTER(sk);                                                                                  \
	if (__builtin_setjmp(escape) == 0) {                                                                 \
		BEGIN_HOOK();                                                                                \
		call;                                                                                        \
	} else {                                                                                             \
		is_whole = false;                                                                            \
	}                                                                                                    \
	END_HOOK();                                                                                          \
	LEAVE(sk);                                                                                           \
	return is_whole

typedef void (*plain_hook)(struct sock *sk);
typedef void (*number_hook)(struct sock *sk, u32 number);
typedef u32 (*answer_hook)(struct sock *sk);
typedef void (*growth_hook)(struct sock *sk, u32 ack, u32 acked);
typedef void (*report_hook)(struct sock *sk, const struct ack_sample *sample);
typedef void (*control_hook)(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample);

VISIBLE __noinline bool fairwind_call_plain(plain_hook hook, u64 now, struct sock *sk)
{
	GUARDED(now, hook(theirs));
}

VISIBLE __noinline bool fairwind_call_number(number_hook hook, u64 now, struct sock *sk, u32 number)
{
	GUARDED(now, hook(theirs, number));
}

VISIBLE __noinline bool fairwind_call_answer(answer_hook hook, u64 now, struct sock *sk, u32 *answer)
{
	GUARDED(now, *answer = hook(theirs));
}

VISIBLE __noinline bool fairwind_call_growth(growth_hook hook, u64 now, struct sock *sk, u32 ack, u32 acked)
{
	GUARDED(now, hook(theirs, ack, acked));
}

VISIBLE __noinline bool fairwind_call_report(report_hook hook, u64 now, struct sock *sk,
					     const struct ack_sample *sample)
{
	SHOW(sample);
	GUARDED(now, hook(theirs, sample));
}

/* The report of an acknowledgment, and the growth on it. */
VISIBLE __noinline bool fairwind_call_both(report_hook reports, growth_hook grows, u64 now, struct sock *sk,
					   const struct ack_sample *sample, u32 ack, u32 acked)
{
	SHOW(sample);
	GUARDED(now, reports(theirs, sample); grows(theirs, ack, acked));
}

VISIBLE __noinline bool fairwind_call_control(control_hook hook, u64 now, struct sock *sk, u32 ack, int flag,
					      const struct rate_sample *sample)
{
	SHOW(sample);
	GUARDED(now, hook(theirs, ack, flag, sample));
}

/* ---- how things lie in memory ---- */

#define PLACE(field) __builtin_offsetof(struct tcp_sock, field)
#define OF_RATE(field) __builtin_offsetof(struct rate_sample, field)

/* Offsets of fields of a sender, to be compared with those of Rust. */
VISIBLE const u32 fairwind_layout[] = {
	sizeof(struct tcp_sock),
	PLACE(inet_conn.icsk_inet.sk.sk_pacing_rate),
	PLACE(inet_conn.icsk_inet.sk.sk_pacing_shift),
	PLACE(inet_conn.icsk_retransmits),
	PLACE(inet_conn.icsk_ack.pending),
	PLACE(inet_conn.icsk_ca_priv),
	PLACE(snd_cwnd),
	PLACE(snd_ssthresh),
	PLACE(prr_delivered),
	PLACE(max_packets_out),
	PLACE(ecn_flags),
	PLACE(packets_out),
	PLACE(app_limited),
	PLACE(srtt_us),
	PLACE(rtt_min),
	PLACE(tcp_mstamp),
	PLACE(tcp_clock_cache),
	PLACE(snd_una),
	PLACE(mss_cache),
	PLACE(bytes_acked),
	PLACE(fairwind_counting),
	PLACE(rx_opt),
	sizeof(struct rate_sample),
	OF_RATE(prior_mstamp),
	OF_RATE(prior_delivered),
	OF_RATE(prior_delivered_ce),
	OF_RATE(delivered),
	OF_RATE(delivered_ce),
	OF_RATE(interval_us),
	OF_RATE(snd_interval_us),
	OF_RATE(rcv_interval_us),
	OF_RATE(rtt_us),
	OF_RATE(losses),
	OF_RATE(acked_sacked),
	OF_RATE(prior_in_flight),
	OF_RATE(last_end_seq),
	OF_RATE(is_app_limited),
	OF_RATE(is_retrans),
	OF_RATE(is_ack_delayed),
	sizeof(struct ack_sample),
	__builtin_offsetof(struct ack_sample, rtt_us),
	__builtin_offsetof(struct ack_sample, in_flight),
	sizeof(struct tcp_congestion_ops),
};
