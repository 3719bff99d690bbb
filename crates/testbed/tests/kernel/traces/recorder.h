/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Recorder of the calls of a congestion control's hooks: include it before the unchanged source. It records the state
 * before and after each hook. STEM is the prefix of the source's functions; `tape.rs` reads the records, word by word.
 */
#include <fairwind.h>

#define NUMBER(name, value) int (*name)[value]

enum { FIELDS = 63, ARGUMENTS = 18, MAP_RING_BUFFER = 27, WITHOUT_WAKE_UP = 1 };

static void *(*ring_reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*ring_submit)(void *record, u64 flags) = (void *)132;

struct {
	NUMBER(type, MAP_RING_BUFFER);
	NUMBER(max_entries, 1 << 23);
} calls SEC(".maps");

/* A recorder with a full ring stops: the record has no gaps. */
bool is_full = false;

u32 asked = 0;
u32 asked_number = 0;
u64 asked_by = 0;

/* Only data is answered so, and of the two ends that have an algorithm here one receives data. */
static __always_inline long recorded_send_ack(void *tp, u32 number)
{
	asked++;
	asked_by = (u64)tp;
	asked_number = number;
	return bpf_tcp_send_ack(tp, number);
}
#define bpf_tcp_send_ack recorded_send_ack

struct call {
	/* The beginning of the hook's name. */
	char hook[8];
	u64 is_over;
	u64 connection;
	u64 jiffies;
	u64 ticks_per_second;
	u64 answer;
	/* How often an acknowledgment was asked for so far, and with which number last. */
	u64 asked;
	u64 asked_number;
	u64 arguments[ARGUMENTS];
	u64 fields[FIELDS];
};

/* Each in its place of the list, which `tape.rs` has in the same order. */
static __always_inline void take_fields(u64 *to, const struct tcp_sock *tp)
{
	const struct inet_connection_sock *icsk = &tp->inet_conn;
	const struct sock *sk = &icsk->icsk_inet.sk;

	*to++ = sk->sk_pacing_rate;
	*to++ = sk->sk_max_pacing_rate;
	*to++ = sk->sk_pacing_status;
	*to++ = BPF_CORE_READ_BITFIELD(icsk, icsk_ca_state);
	*to++ = icsk->icsk_retransmits;
	*to++ = icsk->icsk_ack.pending;
	FAIRWIND_UNROLL
	for (int word = 0; word < 13; word++)
		*to++ = icsk->icsk_ca_priv[word];
	*to++ = tp->snd_cwnd;
	*to++ = tp->snd_cwnd_cnt;
	*to++ = tp->snd_cwnd_clamp;
	*to++ = tp->snd_ssthresh;
	*to++ = tp->prior_cwnd;
	*to++ = tp->prior_ssthresh;
	*to++ = tp->max_packets_out;
	*to++ = BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited);
	*to++ = tp->ecn_flags;
	*to++ = tp->packets_out;
	*to++ = tp->retrans_out;
	*to++ = tp->lost_out;
	*to++ = tp->sacked_out;
	*to++ = tp->reordering;
	*to++ = tp->delivered;
	*to++ = tp->delivered_ce;
	*to++ = tp->lost;
	*to++ = tp->app_limited;
	*to++ = tp->total_retrans;
	*to++ = tp->srtt_us;
	*to++ = tp->mdev_us;
	*to++ = tp->rttvar_us;
	FAIRWIND_UNROLL
	for (int sample = 0; sample < 3; sample++) {
		*to++ = tp->rtt_min.s[sample].t;
		*to++ = tp->rtt_min.s[sample].v;
	}
	*to++ = tp->tcp_mstamp;
	*to++ = tp->snd_una;
	*to++ = tp->snd_nxt;
	*to++ = tp->rcv_nxt;
	*to++ = tp->write_seq;
	*to++ = tp->high_seq;
	*to++ = tp->mss_cache;
	*to++ = tp->snd_wnd;
	*to++ = tp->lsndtime;
	*to++ = tp->bytes_acked;
	*to++ = tp->segs_out;
	*to++ = tp->data_segs_out;
	*to++ = tp->rx_opt.rcv_tsval;
	*to++ = tp->rx_opt.rcv_tsecr;
	*to++ = BPF_CORE_READ_BITFIELD(tp, rx_opt.saw_tstamp);
	*to++ = BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok);
}

static __always_inline void take_rates(u64 *to, const struct rate_sample *sample)
{
	*to++ = sample->prior_mstamp;
	*to++ = sample->prior_delivered;
	*to++ = sample->prior_delivered_ce;
	*to++ = (u32)sample->delivered;
	*to++ = (u32)sample->delivered_ce;
	*to++ = (u64)sample->interval_us;
	*to++ = sample->snd_interval_us;
	*to++ = sample->rcv_interval_us;
	*to++ = (u64)sample->rtt_us;
	*to++ = (u32)sample->losses;
	*to++ = sample->acked_sacked;
	*to++ = sample->prior_in_flight;
	*to++ = sample->last_end_seq;
	*to++ = sample->is_app_limited;
	*to++ = sample->is_retrans;
	*to++ = sample->is_ack_delayed;
}

static __always_inline void record_call(const char *hook, u64 *given, u32 count, bool is_over, u32 answer)
{
	const struct sock *sk = (const struct sock *)given[0];
	struct call *call;

	if (is_full)
		return;
	call = ring_reserve(&calls, sizeof(*call), 0);
	if (!call) {
		is_full = true;
		return;
	}
	__builtin_memset(call, 0, sizeof(*call));
	__builtin_memcpy(call->hook, hook, sizeof(call->hook));
	call->connection = (u64)sk;
	call->is_over = is_over;
	call->jiffies = bpf_jiffies64();
	call->ticks_per_second = HZ;
	call->answer = answer;
	call->asked = asked_by == (u64)sk ? asked : 0;
	call->asked_number = asked_number;
	if (hook[0] == 'p') {
		const struct ack_sample *sample = (const struct ack_sample *)given[1];

		call->arguments[0] = sample->pkts_acked;
		call->arguments[1] = (u32)sample->rtt_us;
		call->arguments[2] = sample->in_flight;
	} else {
		call->arguments[0] = count > 1 ? (u32)given[1] : 0;
		call->arguments[1] = count > 2 ? (u32)given[2] : 0;
		if (count > 3)
			take_rates(call->arguments + 2, (const struct rate_sample *)given[3]);
	}
	take_fields(call->fields, tcp_sk(sk));
	ring_submit(call, WITHOUT_WAKE_UP);
}

/* Eight letters behind STEM, filled up with zeros. */
#define HOOK(name) ((const char *)#name "\0\0\0\0\0\0\0" + sizeof(STEM) - 1)
#define IS_VOID(name) __builtin_types_compatible_p(__typeof__(name(0)), void)

#undef BPF_PROG
#define BPF_PROG(name, args...)                                                                              \
	name(u64 *given);                                                                                    \
	static __always_inline __typeof__(name(0)) recorded_##name(u64 *ctx, ##args);                        \
	__typeof__(name(0)) name(u64 *given)                                                                 \
	{                                                                                                    \
		enum { COUNT = FAIRWIND_COUNT(args) };                                                       \
		u32 answer;                                                                                  \
                                                                                                             \
		record_call(HOOK(name), given, COUNT, false, 0);                                             \
		answer = __builtin_choose_expr(IS_VOID(name), ({ RECORDED(name, args); 0; }), RECORDED(name, args)); \
		record_call(HOOK(name), given, COUNT, true, answer);                                         \
		return (__typeof__(name(0)))answer;                                                          \
	}                                                                                                    \
	static __always_inline __typeof__(name(0)) recorded_##name(u64 *ctx __maybe_unused, ##args)
#define fairwind_arguments given
#define RECORDED(name, args...) recorded_##name(given FAIRWIND_JOIN(FAIRWIND_TAKE_, FAIRWIND_COUNT(args)))
