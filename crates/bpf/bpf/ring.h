/* The way of events to the reader: one ring, and a count of those that found it full. */
#ifndef FAIRWIND_RING_H
#define FAIRWIND_RING_H

#include "kernel.h"

/* The reader may set another size before it loads the program. */
enum { RING_BYTES = 1 << 22 };

/* The reader comes by itself every few milliseconds; it is called when so much waits. */
enum { URGENT_BYTES = RING_BYTES / 4 };

struct {
	NUMBER(type, MAP_RING_BUFFER);
	NUMBER(max_entries, RING_BYTES);
} events SECTION(".maps");

struct {
	NUMBER(type, MAP_ARRAY);
	NUMBER(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, u64);
} missed SECTION(".maps");

/* Room for an event; null, and counted, where there is none. */
static ALWAYS_INLINE void *begin_event(u64 bytes)
{
	void *room = ring_reserve(&events, bytes, 0);
	u32 only = 0;
	u64 *count;

	if (room)
		return room;
	count = map_lookup(&missed, &only);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

static ALWAYS_INLINE void end_event(void *event)
{
	u64 waiting = ring_query(&events, AVAILABLE_DATA);

	ring_submit(event, waiting >= URGENT_BYTES ? WITH_WAKE_UP : WITHOUT_WAKE_UP);
}

#endif
