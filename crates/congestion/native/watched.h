/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Run-time checks of users' files, in place of a kernel's verifier. The compiler instruments each memory access
 * (-fsanitize=thread) and each basic block (-fsanitize-coverage=trace-pc) with calls of the functions here. A hook works
 * on a copy of the sender, with nothing behind its state.
 *
 * Source of what may be written: Linux 6.18 bpf_tcp_ca.c, bpf_tcp_ca_btf_struct_access.
 */

/* A hook that a kernel takes has far fewer stretches to go through: its verifier follows each. */
enum { MOST_STEPS = 100000 };
/* A kernel gives 512 bytes. */
enum { MOST_STACK = 1 << 16 };

static _Thread_local struct tcp_sock copy;
static _Thread_local bool is_in_hook;
#define BEGIN_HOOK() (is_in_hook = true)
#define END_HOOK() (is_in_hook = false)
#define IS_IN_HOOK is_in_hook
static _Thread_local u32 steps_left;
/* Where the hook's part of the stack ends, and the sample that it was given. */
static _Thread_local const char *stack_end;
static _Thread_local const char *shown;
static _Thread_local const char *shown_end;

/* The library from its beginning to its end, by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

#define OFFSET(field) __builtin_offsetof(struct tcp_sock, field)
/* A sender is the same up to here and behind the guard. */
#define STATE_END OFFSET(inet_conn.fairwind_beyond)
#define GUARD_END OFFSET(snd_cwnd)
_Static_assert(STATE_END % sizeof(u64) == 0 && sizeof(copy) % sizeof(u64) == 0, "both are whole words");
_Static_assert(GUARD_END == STATE_END + sizeof(copy.inet_conn.fairwind_beyond), "nothing lies between");

typedef u64 __attribute__((may_alias)) word;

static void bring_words(void *place, const void *source, size_t bytes)
{
	word *to = place;
	const word *from = source;

	for (; bytes; bytes -= sizeof(word))
		*to++ = *from++;
}

static void bring(char *to, const char *from, size_t bytes)
{
	while (bytes--)
		*to++ = *from++;
}

static struct sock *enter(struct sock *sk, const char *frame)
{
	const char *given = (const char *)sk;

	bring_words(&copy, given, STATE_END);
	bring_words((char *)&copy + GUARD_END, given + STATE_END, sizeof(copy) - GUARD_END);
	steps_left = MOST_STEPS;
	stack_end = frame;
	return (struct sock *)&copy;
}

static void leave(struct sock *sk)
{
	char *given = (char *)sk;

	bring_words(given, &copy, STATE_END);
	bring_words(given + STATE_END, (const char *)&copy + GUARD_END, sizeof(copy) - GUARD_END);
	shown = shown_end = NULL;
}

#define ENTER(sk) enter(sk, (const char *)__builtin_frame_address(0))
#define LEAVE(sk) leave(sk)
#define SHOW(sample) (shown = (const char *)(sample), shown_end = (const char *)((sample) + 1))
#define CHECK_SENDER(tp)                                                                                     \
	do {                                                                                                 \
		if (is_in_hook && (const void *)(tp) != (const void *)&copy)                                 \
			end_hook((tp) ? FAULT_MEMORY : FAULT_NULL_POINTER, 0);                               \
	} while (0)

static bool lies_in(const char *place, size_t bytes, const char *from, const char *end)
{
	return place >= from && place + bytes <= end;
}

#define IS_FIELD(name) (from == OFFSET(name) && bytes <= sizeof(((struct tcp_sock *)NULL)->name))

/* No verifier looks at a module; of what it writes besides, the maximum window counts here. */
#ifdef FAIRWIND_MODULE
#define MODULE_MAY_WRITE IS_FIELD(snd_cwnd_clamp)
#else
#define MODULE_MAY_WRITE false
#endif

/* Whether a kernel lets a hook write there. */
static bool may_be_written(size_t from, size_t bytes)
{
	return (from >= OFFSET(inet_conn.icsk_ca_priv) && from + bytes <= STATE_END) ||
	       IS_FIELD(snd_cwnd) || IS_FIELD(snd_cwnd_cnt) || IS_FIELD(snd_cwnd_stamp) ||
	       IS_FIELD(snd_ssthresh) || IS_FIELD(ecn_flags) || IS_FIELD(app_limited) ||
	       IS_FIELD(inet_conn.icsk_ack.pending) || IS_FIELD(inet_conn.icsk_inet.sk.sk_pacing_rate) ||
	       IS_FIELD(inet_conn.icsk_inet.sk.sk_pacing_status) || MODULE_MAY_WRITE;
}

/* Ends the hook where it may not do this. */
static void look(const char *place, size_t bytes, bool writes)
{
	const char *sender = (const char *)&copy;
	const char *frame = __builtin_frame_address(0);

	if (!is_in_hook)
		return;
	if (lies_in(place, bytes, sender, sender + sizeof(copy))) {
		size_t from = (size_t)(place - sender);

		if (from + bytes > STATE_END && from < GUARD_END)
			end_hook(FAULT_BEYOND_STATE, 0);
		if (writes && !may_be_written(from, bytes))
			end_hook(FAULT_FIELD, 0);
		return;
	}
	if (lies_in(place, bytes, frame, stack_end) || lies_in(place, bytes, __ehdr_start, _end) ||
	    (!writes && lies_in(place, bytes, shown, shown_end)))
		return;
	end_hook((size_t)place < 4096 ? FAULT_NULL_POINTER : FAULT_MEMORY, 0);
}

#define ANNOUNCED(bytes)                                                                                     \
	VISIBLE void __tsan_read##bytes(void *place) { look(place, bytes, false); }                          \
	VISIBLE void __tsan_write##bytes(void *place) { look(place, bytes, true); }                          \
	VISIBLE void __tsan_unaligned_read##bytes(void *place) { look(place, bytes, false); }                \
	VISIBLE void __tsan_unaligned_write##bytes(void *place) { look(place, bytes, true); }
ANNOUNCED(1)
ANNOUNCED(2)
ANNOUNCED(4)
ANNOUNCED(8)
ANNOUNCED(16)

VISIBLE void __tsan_read_range(void *place, size_t bytes)
{
	look(place, bytes, false);
}

VISIBLE void __tsan_write_range(void *place, size_t bytes)
{
	look(place, bytes, true);
}

/* Others of the compiler's announcements: nothing is to be done. */
VISIBLE void __tsan_init(void)
{
}

VISIBLE void __tsan_func_entry(void *caller __maybe_unused)
{
}

VISIBLE void __tsan_func_exit(void)
{
}

/* Every straight stretch of instructions begins here. */
VISIBLE void __sanitizer_cov_trace_pc(void)
{
	if (!is_in_hook)
		return;
	if (steps_left-- == 0)
		end_hook(FAULT_ENDLESS, 0);
	if ((size_t)(stack_end - (const char *)__builtin_frame_address(0)) > MOST_STACK)
		end_hook(FAULT_TOO_DEEP, 0);
}

/* The compiler makes calls of these of loops and of assignments, and announces nothing. */
void *memset(void *place, int value, size_t bytes)
{
	char *to = place;

	look(place, bytes, true);
	while (bytes--)
		*to++ = (char)value;
	return place;
}

void *memcpy(void *place, const void *source, size_t bytes)
{
	look(source, bytes, false);
	look(place, bytes, true);
	bring(place, source, bytes);
	return place;
}

void *memmove(void *place, const void *source, size_t bytes)
{
	char *to = place;
	const char *from = source;

	look(source, bytes, false);
	look(place, bytes, true);
	if (to <= from)
		bring(to, from, bytes);
	else
		while (bytes--)
			to[bytes] = from[bytes];
	return place;
}

/* ---- parameters ---- */

/* By the linker; none if the source declares no parameter. */
extern const struct fairwind_param __start_fairwind_params[] __attribute__((weak, visibility("hidden")));
extern const struct fairwind_param __stop_fairwind_params[] __attribute__((weak, visibility("hidden")));

/* What the source declares by FAIRWIND_PARAM. */
VISIBLE const struct fairwind_param *fairwind_parameters(u32 *count)
{
	*count = (u32)(__stop_fairwind_params - __start_fairwind_params);
	return __start_fairwind_params;
}
