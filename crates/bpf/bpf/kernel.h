/* What the programs need to know of the kernel: helpers by their numbers, and of each structure the
 * fields that are read. Where a field really lies is found out when a program is loaded, from the
 * running kernel's own description of its types (BTF): hence `preserve_access_index`.
 */
#ifndef FAIRWIND_KERNEL_H
#define FAIRWIND_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SECTION(name) __attribute__((section(name), used))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define LIKE_THE_KERNEL __attribute__((preserve_access_index))

/* Maps are described by the types of the members of a structure. */
#define NUMBER(member, value) int (*member)[value]
#define TYPE(member, value) value *member

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_LEAST_RECENTLY_USED = 9, MAP_RING_BUFFER = 27 };
enum { WITHOUT_WAKE_UP = 1, WITH_WAKE_UP = 2 };
enum { AVAILABLE_DATA = 0 };

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const monotonic_nanoseconds)(void) = (void *)5;
static long (*const set_option)(void *of, int level, int option, void *value, int bytes) = (void *)49;
static long (*const get_option)(void *of, int level, int option, void *value, int bytes) = (void *)57;
static long (*const set_callbacks)(void *connection, int flags) = (void *)59;
static long (*const read_kernel)(void *into, u32 bytes, const void *from) = (void *)113;
static void *(*const ring_reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*const ring_submit)(void *record, u64 flags) = (void *)132;
static u64 (*const ring_query)(void *ring, u64 what) = (void *)134;
static struct tcp_sock *(*const as_tcp)(void *socket) = (void *)137;

/* For fields of a few bits, which have no address. */
enum { FIELD_BYTE_OFFSET = 0, FIELD_BYTES = 1, FIELD_LEFT_SHIFT = 4, FIELD_RIGHT_SHIFT = 5 };

#define FIELD_FACT(place, fact) __builtin_preserve_field_info(place, fact)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_BYTES(value, bytes) ((void *)&(value))
#else
#define LOW_BYTES(value, bytes) ((void *)&(value) + sizeof(value) - (bytes))
#endif

/* The value of the unsigned bit field `object->field`. */
#define BITS(object, field)                                                                       \
	({                                                                                        \
		u64 bits = 0;                                                                     \
		u32 width = FIELD_FACT((object)->field, FIELD_BYTES);                             \
		read_kernel(LOW_BYTES(bits, width), width,                                        \
			    (void *)(object) + FIELD_FACT((object)->field, FIELD_BYTE_OFFSET));   \
		bits <<= FIELD_FACT((object)->field, FIELD_LEFT_SHIFT);                           \
		bits >> FIELD_FACT((object)->field, FIELD_RIGHT_SHIFT);                           \
	})

struct ns_common {
	u32 inum;
} LIKE_THE_KERNEL;

struct net {
	struct ns_common ns;
} LIKE_THE_KERNEL;

typedef struct {
	struct net *net;
} LIKE_THE_KERNEL possible_net_t;

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
} LIKE_THE_KERNEL;

struct sock_common {
	u32 skc_daddr;
	u32 skc_rcv_saddr;
	u16 skc_dport;
	u16 skc_num;
	u16 skc_family;
	volatile u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} LIKE_THE_KERNEL;

struct sock {
	struct sock_common __sk_common;
} LIKE_THE_KERNEL;

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
} LIKE_THE_KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 packets_out;
	u32 retrans_out;
	u32 lost_out;
	u32 sacked_out;
} LIKE_THE_KERNEL;

struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
} LIKE_THE_KERNEL;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} LIKE_THE_KERNEL;

struct netdev_queue {
	struct net_device *dev;
} LIKE_THE_KERNEL;

struct sk_buff {
	struct sk_buff *next;
	struct net_device *dev;
	char cb[48];
	u32 len;
	u16 queue_mapping;
	u16 network_header;
	u32 end;
	u8 *head;
} LIKE_THE_KERNEL;

/* What a queue discipline keeps in `cb` of a packet. */
struct qdisc_skb_cb {
	u32 pkt_len;
} LIKE_THE_KERNEL;

/* It lies at `end`. */
struct skb_shared_info {
	u16 gso_segs;
} LIKE_THE_KERNEL;

struct qdisc_skb_head {
	u32 qlen;
} LIKE_THE_KERNEL;

struct gnet_stats_queue {
	u32 backlog;
} LIKE_THE_KERNEL;

struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} LIKE_THE_KERNEL;

enum skb_drop_reason {
	SKB_DROP_REASON_QDISC_DROP = 64,
	SKB_DROP_REASON_QDISC_OVERLIMIT = 65,
	SKB_DROP_REASON_QDISC_CONGESTED = 66,
	SKB_DROP_REASON_CAKE_FLOOD = 67,
	SKB_DROP_REASON_FQ_BAND_LIMIT = 68,
	SKB_DROP_REASON_FQ_HORIZON_LIMIT = 69,
	SKB_DROP_REASON_FQ_FLOW_LIMIT = 70,
};

/* The running kernel's number of a drop reason; no packet has the number that a missing one gets. */
#define REASON(name)                                                                              \
	(__builtin_preserve_enum_value(*(enum skb_drop_reason *)name, 0)                           \
		 ? (u32)__builtin_preserve_enum_value(*(enum skb_drop_reason *)name, 1)            \
		 : ~0u)

#endif
