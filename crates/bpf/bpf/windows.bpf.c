/* Congestion windows of ended connections, remembered by the peer's address, and new connections that begin with them:
 * Hartmann and Bestavros, Aggregating Congestion Information Over Sequences of TCP Connections (BU-CS 1998-001), by a
 * program at a control group in the place of a changed kernel.
 *
 * A connection's window is taken when it ends: the largest stays. In the report that is in tcp_close() and tcp_shutdown()
 * (AT_CLOSE). Today's send buffers hold megabytes, and a window at that moment may be that of a connection which has hardly
 * begun; so it is otherwise taken when the last byte was acknowledged. Unless EXACT says that the report is to be followed,
 * connections begin with half of what is remembered, paced, and losses halve it.
 */
#include "kernel.h"

char licence[] SECTION("license") = "Dual MIT/GPL";

/* The kernel's view of a connection for such programs; its layout is promised (linux/bpf.h). Addresses are volatile
 * and read whether they are wanted or not: of two reads in two branches a compiler would make one by a pointer that the
 * branches set, which the verifier refuses.
 */
struct bpf_sock_ops {
	u32 op;
	u32 arguments[4];
	u32 family;
	volatile u32 remote_v4;
	u32 local_v4;
	volatile u32 remote_v6[4];
	u32 local_v6[4];
	u32 remote_port;
	u32 local_port;
	u32 is_full_socket;
	u32 window;
	u32 smoothed_rtt_eighths;
	u32 callbacks;
	u32 state;
	u32 least_rtt;
	u32 threshold;
	u32 next_expected;
	u32 next_sent;
	u32 unacknowledged;
	u32 mss;
	u32 ecn;
	u32 delivered;
	u32 delivered_in;
	u32 packets_out;
	u32 retransmitted_out;
	u32 retransmitted;
	u32 segments_in;
	u32 data_segments_in;
	u32 segments_out;
	u32 data_segments_out;
};

enum { ACTIVE_ESTABLISHED = 4, PASSIVE_ESTABLISHED = 5, STATE_CHANGES = 10 };
enum { TELL_OF_STATE_CHANGES = 1 << 2 };
enum { ESTABLISHED = 1, FIN_WAIT_1 = 4, FIN_WAIT_2 = 5 };
enum { CLOSED = 7, CLOSE_WAIT = 8, LAST_ACK = 9 };
enum { AF_INET = 2, LEVEL_SOCKET = 1, LEVEL_TCP = 6, INITIAL_WINDOW = 1001, GREATEST_PACE = 47 };
/* Bytes per second: a bound on the pace that bounds nothing, and that there is none. */
enum { AMPLE = 0x7fffffff, UNBOUNDED = -1 };
enum { UNKNOWN_RTT = 0xffffffff };

/* Of whom: IPv4 as it is written in IPv6, so that a peer is one, whichever kind of socket it meets. */
struct peer {
	u32 words[4];
};

/* What follows is read and written by `src/windows/`, field by field. */
struct remembered {
	u64 at;
	u32 window;
	u32 least_rtt;
};

enum { EXACT = 1, OUTGOING_TOO = 2, AT_CLOSE = 4 };

struct settings {
	u64 lifetime;
	u32 most;
	u32 flags;
};

struct counts {
	u64 used;
	u64 unknown;
	u64 outdated;
	u64 unfit;
	u64 kept;
	u64 halved;
};

struct {
	NUMBER(type, MAP_LEAST_RECENTLY_USED);
	NUMBER(max_entries, 1);
	TYPE(key, struct peer);
	TYPE(value, struct remembered);
} windows SECTION(".maps");

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct settings);
} settings SECTION(".maps");

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct counts);
} counts SECTION(".maps");

#define COUNT(counts, what)                                                                       \
	do {                                                                                      \
		if (counts)                                                                       \
			__sync_fetch_and_add(&(counts)->what, 1);                                 \
	} while (0)

static ALWAYS_INLINE void take_peer(struct peer *peer, const struct bpf_sock_ops *connection)
{
	u32 v4 = connection->remote_v4;
	u32 v6[] = { connection->remote_v6[0], connection->remote_v6[1], connection->remote_v6[2],
		     connection->remote_v6[3] };
	int is_v4 = connection->family == AF_INET;

	peer->words[0] = is_v4 ? 0 : v6[0];
	peer->words[1] = is_v4 ? 0 : v6[1];
	peer->words[2] = is_v4 ? __builtin_bswap32(0xffff) : v6[2];
	peer->words[3] = is_v4 ? v4 : v6[3];
}

static ALWAYS_INLINE int is_outdated(const struct remembered *found, const struct settings *chosen)
{
	return monotonic_nanoseconds() - found->at > chosen->lifetime;
}

/* Whether the path may be the one that the window is of, by its round-trip time: one of no more than half of the least one,
 * or of more than ten times that, is another's (Careful Resume, RFC 9959).
 */
static ALWAYS_INLINE int is_same_path(const struct bpf_sock_ops *connection,
				      const struct remembered *found)
{
	u32 rtt = connection->smoothed_rtt_eighths / 8;

	return !rtt || !found->least_rtt ||
	       (rtt > found->least_rtt / 2 && rtt / 10 <= found->least_rtt);
}

/* What a connection is to begin with; nothing for what it has by itself. A handshake that lost packets keeps the window
 * that follows from that (RFC 5681, section 3.1).
 */
static ALWAYS_INLINE u32 first_window(const struct bpf_sock_ops *connection,
				      const struct remembered *found, const struct settings *chosen)
{
	int is_exact = chosen->flags & EXACT;
	u32 window = is_exact ? found->window : found->window / 2;

	if (window > chosen->most)
		window = chosen->most;
	if (is_exact)
		return connection->retransmitted > 1 ? 0 : window;
	if (connection->retransmitted || window <= connection->window)
		return 0;
	return is_same_path(connection, found) ? window : 0;
}

/* Has packets behind the tenth leave at the kernel's pace, twice the window per round trip, and not in one burst: a bound
 * switches the socket's pacing on, and it stays on when the bound is lifted. Where a bound was set already, there is a pace
 * already. Before Linux 6.1 programs cannot ask for it, and nothing is changed.
 */
static ALWAYS_INLINE void pace(struct bpf_sock_ops *connection)
{
	int ample = AMPLE, unbounded = UNBOUNDED, bound = 0;

	if (get_option(connection, LEVEL_SOCKET, GREATEST_PACE, &bound, sizeof(bound)) ||
	    bound != UNBOUNDED)
		return;
	set_option(connection, LEVEL_SOCKET, GREATEST_PACE, &ample, sizeof(ample));
	set_option(connection, LEVEL_SOCKET, GREATEST_PACE, &unbounded, sizeof(unbounded));
}

static ALWAYS_INLINE void begin(struct bpf_sock_ops *connection, const struct settings *chosen,
				struct counts *counted)
{
	struct remembered *found;
	struct peer peer;
	u32 window;

	take_peer(&peer, connection);
	found = map_lookup(&windows, &peer);
	if (!found) {
		COUNT(counted, unknown);
		return;
	}
	if (is_outdated(found, chosen)) {
		map_delete(&windows, &peer);
		COUNT(counted, outdated);
		return;
	}
	window = first_window(connection, found, chosen);
	if (!window || set_option(connection, LEVEL_TCP, INITIAL_WINDOW, &window, sizeof(window))) {
		COUNT(counted, unfit);
		return;
	}
	if (!(chosen->flags & EXACT))
		pace(connection);
	COUNT(counted, used);
}

static ALWAYS_INLINE void end(const struct bpf_sock_ops *connection, const struct settings *chosen,
			      struct counts *counted)
{
	struct remembered entry = { monotonic_nanoseconds(), connection->window,
				    connection->least_rtt };
	struct remembered *found;
	struct peer peer;

	take_peer(&peer, connection);
	found = map_lookup(&windows, &peer);
	if (found && is_outdated(found, chosen))
		found = 0;
	if (!(chosen->flags & EXACT) && connection->retransmitted) {
		if (found && found->window > entry.window)
			entry.window = found->window;
		entry.window /= 2;
		COUNT(counted, halved);
	} else if (found && found->window > entry.window) {
		/* The largest stays, and becomes no younger. */
		return;
	}
	if (entry.least_rtt == UNKNOWN_RTT)
		entry.least_rtt = 0;
	map_update(&windows, &peer, &entry, 0);
	COUNT(counted, kept);
}

/* Whether the application has just closed the connection, or it ended before that; once for each connection. */
static ALWAYS_INLINE int is_closed(u32 before, u32 now)
{
	return now == FIN_WAIT_1 || now == LAST_ACK ||
	       (now == CLOSED && (before == ESTABLISHED || before == CLOSE_WAIT));
}

/* Whether all that was sent was acknowledged just now, or will never be; once for each connection. */
static ALWAYS_INLINE int is_over(u32 before, u32 now)
{
	return now == FIN_WAIT_2 || (now == CLOSED && before != FIN_WAIT_2);
}

SECTION("sockops")
int fw_windows(struct bpf_sock_ops *connection)
{
	u32 only = 0;
	struct settings *chosen = map_lookup(&settings, &only);
	struct counts *counted = map_lookup(&counts, &only);
	u32 before = connection->arguments[0];
	u32 now = connection->arguments[1];

	if (!chosen)
		return 1;
	switch (connection->op) {
	case ACTIVE_ESTABLISHED:
		set_callbacks(connection, connection->callbacks | TELL_OF_STATE_CHANGES);
		if (chosen->flags & OUTGOING_TOO)
			begin(connection, chosen, counted);
		break;
	case PASSIVE_ESTABLISHED:
		set_callbacks(connection, connection->callbacks | TELL_OF_STATE_CHANGES);
		begin(connection, chosen, counted);
		break;
	case STATE_CHANGES:
		if (chosen->flags & AT_CLOSE ? is_closed(before, now) : is_over(before, now))
			end(connection, chosen, counted);
		break;
	}
	return 1;
}
