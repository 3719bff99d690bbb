/* State changes of the kernel's TCP endpoints that no packet shows: entries into recovery and loss,
 * retransmitted SYNs, and the congestion window at each acknowledgment.
 *
 * The programs report only connections in the namespaces of a run; any other costs one look-up.
 */
#include "ring.h"

char licence[] SECTION("license") = "Dual MIT/GPL";

enum { AF_INET = 2 };
enum kind { STATE_CHANGES = 1, RETRANSMITS = 2, ACKNOWLEDGED = 3 };

/* Read by `src/endpoints.rs`, field by field. */
struct endpoint_event {
	u64 at;
	u32 namespace;
	u8 kind;
	u8 tcp_state;
	u8 congestion_state;
	u8 next_congestion_state;
	u16 family;
	u16 local_port;
	u16 remote_port;
	u16 reserved;
	u8 local[16];
	u8 remote[16];
	u32 sequence;
	u32 window;
	u32 threshold;
	u32 smoothed_rtt_eighths;
	u32 flight;
	u32 also_reserved;
};

/* The network namespaces that are watched, by inode. */
struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 4096);
	TYPE(key, u32);
	TYPE(value, u32);
} namespaces SECTION(".maps");

static ALWAYS_INLINE void take_addresses(struct endpoint_event *event, const struct sock *sk)
{
	event->family = sk->__sk_common.skc_family;
	event->local_port = sk->__sk_common.skc_num;
	event->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (event->family == AF_INET) {
		*(u32 *)event->local = sk->__sk_common.skc_rcv_saddr;
		*(u32 *)event->remote = sk->__sk_common.skc_daddr;
	} else {
		read_kernel(event->local, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		read_kernel(event->remote, 16, &sk->__sk_common.skc_v6_daddr);
	}
}

static ALWAYS_INLINE void take_window(struct endpoint_event *event, const struct tcp_sock *tcp)
{
	event->window = tcp->snd_cwnd;
	event->threshold = tcp->snd_ssthresh;
	event->smoothed_rtt_eighths = tcp->srtt_us;
	event->flight =
		tcp->packets_out - tcp->sacked_out - tcp->lost_out + tcp->retrans_out;
	event->congestion_state = BITS(tcp, inet_conn.icsk_ca_state);
}

static ALWAYS_INLINE void report(struct sock *sk, enum kind kind, u8 next, u32 sequence)
{
	u32 namespace = sk->__sk_common.skc_net.net->ns.inum;
	struct endpoint_event *event;
	struct tcp_sock *tcp;

	if (!map_lookup(&namespaces, &namespace))
		return;
	tcp = as_tcp(sk);
	if (!tcp)
		return;
	event = begin_event(sizeof(*event));
	if (!event)
		return;
	__builtin_memset(event, 0, sizeof(*event));
	event->at = monotonic_nanoseconds();
	event->namespace = namespace;
	event->kind = kind;
	event->tcp_state = sk->__sk_common.skc_state;
	event->next_congestion_state = next;
	event->sequence = sequence;
	take_addresses(event, sk);
	take_window(event, tcp);
	end_event(event);
}

/* (struct sock *sk, const u8 ca_state), before the state is set. */
SECTION("tp_btf/tcp_cong_state_set")
int state_changes(u64 *arguments)
{
	report((struct sock *)arguments[0], STATE_CHANGES, arguments[1], 0);
	return 0;
}

/* (const struct sock *sk, const struct sk_buff *skb, ...) */
SECTION("tp_btf/tcp_retransmit_skb")
int retransmits(u64 *arguments)
{
	struct sk_buff *packet = (struct sk_buff *)arguments[1];
	struct tcp_skb_cb *control = (struct tcp_skb_cb *)packet->cb;
	u32 sequence = 0;

	read_kernel(&sequence, sizeof(sequence), &control->seq);
	report((struct sock *)arguments[0], RETRANSMITS, 0, sequence);
	return 0;
}

/* (struct sock *sk, struct sk_buff *skb), when a segment has come and before it is looked into. */
SECTION("tp_btf/tcp_probe")
int acknowledged(u64 *arguments)
{
	report((struct sock *)arguments[0], ACKNOWLEDGED, 0, 0);
	return 0;
}
