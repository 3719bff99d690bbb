/* Packet events of a path made of kernel qdiscs: a packet leaves its host, reaches the other host,
 * or is enqueued, dequeued or dropped.
 *
 * The programs report only interfaces that the run has named.
 */
#include "ring.h"

char licence[] SECTION("license") = "Dual MIT/GPL";

enum kind { LEAVES = 1, ARRIVES = 2, ENQUEUED = 3, DEQUEUED = 4, DROPPED = 5 };

/* IPv6 and TCP headers with all the options there can be; IPv4 needs no more without IP options. */
enum { HEAD_BYTES = 100 };

/* The reason of a drop; 0 for all other events. */
enum drop_reason { UNKNOWN = 1, FULL = 2, EARLY = 3 };

/* Read by `src/packets.rs`, field by field. */
struct packet_event {
	u64 at;
	u64 packet;
	u32 place;
	u32 kind;
	u32 backlog_packets;
	u32 backlog_bytes;
	u8 head[HEAD_BYTES];
	u32 bytes;
	u32 segments;
	u32 transmit_queue;
	u32 drop_reason;
	u32 reserved;
};

struct interface {
	u32 namespace;
	u32 index;
};

/* Which interfaces are watched: their number in the reader's list, and of what. */
struct place {
	u32 number;
	u32 kinds;
};

struct {
	NUMBER(type, MAP_HASH);
	NUMBER(max_entries, 4096);
	TYPE(key, struct interface);
	TYPE(value, struct place);
} places SECTION(".maps");

/* Bytes that the queue counts for a packet, with headers of all segments that it will become. */
static ALWAYS_INLINE u32 bytes_of(const struct sk_buff *packet)
{
	const struct qdisc_skb_cb *queue_state = (const struct qdisc_skb_cb *)packet->cb;
	u32 bytes = 0;

	read_kernel(&bytes, sizeof(bytes), &queue_state->pkt_len);
	return bytes;
}

/* Segments that a packet will become. */
static ALWAYS_INLINE u32 segments_of(const struct sk_buff *packet)
{
	const struct skb_shared_info *shared = (const void *)(packet->head + packet->end);
	u16 segments = 0;

	read_kernel(&segments, sizeof(segments), &shared->gso_segs);
	return segments ? segments : 1;
}

static ALWAYS_INLINE void report(const struct sk_buff *packet, const struct net_device *device,
				 enum kind kind, const struct Qdisc *queue, enum drop_reason reason)
{
	struct interface key = {};
	struct packet_event *event;
	struct place *place;

	key.namespace = device->nd_net.net->ns.inum;
	key.index = device->ifindex;
	place = map_lookup(&places, &key);
	if (!place || !(place->kinds & (1u << kind)))
		return;
	event = begin_event(sizeof(*event));
	if (!event)
		return;
	event->at = monotonic_nanoseconds();
	event->packet = (u64)packet;
	event->place = place->number;
	event->kind = kind;
	event->backlog_packets = queue ? queue->q.qlen : 0;
	event->backlog_bytes = queue ? queue->qstats.backlog : 0;
	read_kernel(event->head, HEAD_BYTES, packet->head + packet->network_header);
	event->bytes = bytes_of(packet);
	event->segments = segments_of(packet);
	event->transmit_queue = packet->queue_mapping;
	event->drop_reason = reason;
	event->reserved = 0;
	end_event(event);
}

/* (const struct sk_buff *skb, const struct net_device *dev) */
SECTION("tp_btf/net_dev_start_xmit")
int leaves(u64 *arguments)
{
	report((struct sk_buff *)arguments[0], (struct net_device *)arguments[1], LEAVES, 0, 0);
	return 0;
}

/* (struct sk_buff *skb) */
SECTION("tp_btf/netif_receive_skb")
int arrives(u64 *arguments)
{
	struct sk_buff *packet = (struct sk_buff *)arguments[0];

	report(packet, packet->dev, ARRIVES, 0, 0);
	return 0;
}

/* (struct Qdisc *qdisc, const struct netdev_queue *txq, struct sk_buff *skb), when it is in. */
SECTION("tp_btf/qdisc_enqueue")
int enqueued(u64 *arguments)
{
	struct netdev_queue *queue = (struct netdev_queue *)arguments[1];

	report((struct sk_buff *)arguments[2], queue->dev, ENQUEUED, (struct Qdisc *)arguments[0],
	       0);
	return 0;
}

/* Packets that leave at once are a list, of which the kernel takes about as many at most. */
enum { MOST_AT_ONCE = 64 };

/* (struct Qdisc *qdisc, const struct netdev_queue *txq, int packets, struct sk_buff *skb); the last is
 * null where nothing may leave yet. */
SECTION("tp_btf/qdisc_dequeue")
int dequeued(u64 *arguments)
{
	struct netdev_queue *queue = (struct netdev_queue *)arguments[1];
	struct sk_buff *packet = (struct sk_buff *)arguments[3];

	for (int count = 0; packet && count < MOST_AT_ONCE; count++) {
		report(packet, queue->dev, DEQUEUED, (struct Qdisc *)arguments[0], 0);
		packet = packet->next;
	}
	return 0;
}

/* The reason of a queue discipline, by the kernel's `reason`; 0 if it is another's. */
static ALWAYS_INLINE enum drop_reason drop_reason_of(u32 reason)
{
	if (reason == REASON(SKB_DROP_REASON_QDISC_DROP))
		return UNKNOWN;
	if (reason == REASON(SKB_DROP_REASON_QDISC_CONGESTED))
		return EARLY;
	if (reason == REASON(SKB_DROP_REASON_QDISC_OVERLIMIT) ||
	    reason == REASON(SKB_DROP_REASON_CAKE_FLOOD) ||
	    reason == REASON(SKB_DROP_REASON_FQ_BAND_LIMIT) ||
	    reason == REASON(SKB_DROP_REASON_FQ_HORIZON_LIMIT) ||
	    reason == REASON(SKB_DROP_REASON_FQ_FLOW_LIMIT))
		return FULL;
	return 0;
}

/* (struct sk_buff *skb, void *location, enum skb_drop_reason reason, struct sock *rx_sk) */
SECTION("tp_btf/kfree_skb")
int dropped(u64 *arguments)
{
	struct sk_buff *packet = (struct sk_buff *)arguments[0];
	enum drop_reason reason = drop_reason_of(arguments[2]);

	if (reason && packet->dev)
		report(packet, packet->dev, DROPPED, 0, reason);
	return 0;
}
