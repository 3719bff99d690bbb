//! Faults that a kernel's verifier would refuse: the hook ends there, its writes hold, and the fault is reported.

use super::{Place, sender, source};
use fairwind_tcp::TcpSock;

/// The complaint of one call of `cong_avoid` that does `what` with the sender `tp` of 10 segments, and the window then.
fn complaint_of(before: &str, what: &str) -> (String, TcpSock) {
    let text = source("1").replace("tp->snd_cwnd += acked / 1;", what);
    let text = text.replace("char _license", &format!("{before}\nchar _license"));
    let place = Place::new(&text);
    place.compiled();
    let mut control = place.control();
    let mut sender = sender(10);
    control.cong_avoid(&mut sender, 1, 3);
    let complaint = control.take_fault().unwrap_or_else(|| panic!("{what}: no complaint"));
    assert_eq!(control.ssthresh(&mut sender), 5, "other hooks go on");
    assert_eq!(control.take_fault(), None);
    (complaint, sender)
}

#[test]
fn a_null_pointer_is_not_followed() {
    let pointer = "static struct tcp_sock *nobody(u32 ack) { return ack ? 0 : (void *)8; }";
    let (complaint, _) = complaint_of(
        &format!("struct tcp_sock;\n{pointer}"),
        "tp->snd_cwnd_cnt = 1; nobody(ack)->snd_cwnd = 3;",
    );
    assert!(complaint.contains("followed a null pointer in cong_avoid, at line "), "{complaint}");
    let (complaint, sender) =
        complaint_of("", "tp->snd_cwnd_cnt = 1; *(volatile u32 *)(u64)(ack + 63) = 3;");
    assert!(complaint.contains("followed a null pointer in cong_avoid"), "{complaint}");
    assert_eq!((sender.window, sender.credit), (10, 1), "what it had written holds");
    let (complaint, _) = complaint_of("", "tcp_slow_start((void *)(u64)(ack - 1), acked);");
    assert!(complaint.contains("followed a null pointer in cong_avoid"), "{complaint}");
}

/// On most processors that ends a process as a division by zero does.
#[test]
fn dividing_minimum_by_minus_one_faults() {
    let (complaint, _) = complaint_of(
        "",
        "s32 least = (s32)(ack << 31), one = -(s32)ack; tp->snd_cwnd = least / one;",
    );
    assert!(
        complaint.contains("divided the least number by -1 in cong_avoid, at line 20"),
        "{complaint}"
    );
}

#[test]
fn overflowing_sum_wraps() {
    let text = source("1").replace(
        "tp->snd_cwnd += acked / 1;",
        "s32 most = 0x7ffffffe + (s32)acked; tp->snd_cwnd = most < 0 ? 1 : 2;",
    );
    let place = Place::new(&text);
    place.compiled();
    let mut control = place.control();
    let mut sender = sender(10);
    control.cong_avoid(&mut sender, 1, 3);
    assert_eq!((control.take_fault(), sender.window), (None, 1));
}

#[test]
fn state_ends_behind_its_104_bytes() {
    let large = "struct large { volatile unsigned words[28]; };";
    let (complaint, sender) = complaint_of(
        large,
        "struct large *ca = inet_csk_ca(sk); ca->words[25] = 4; ca->words[26] = 5; tp->snd_cwnd = 1;",
    );
    assert!(complaint.contains("went beyond its state in cong_avoid"), "{complaint}");
    assert!(complaint.contains("104 bytes"), "{complaint}");
    assert_eq!(sender.window, 10);
    assert_eq!(sender.control.private[12], 4 << 32);
    let (complaint, _) = complaint_of(
        large,
        "__builtin_memset((void *)inet_csk_ca(sk), acked, sizeof(struct large));",
    );
    assert!(complaint.contains("went beyond its state in cong_avoid"), "{complaint}");
    let whole = "struct large { unsigned words[28]; };\nstatic struct large kept;";
    let (complaint, _) = complaint_of(whole, "struct large *ca = inet_csk_ca(sk); *ca = kept;");
    assert!(complaint.contains("went beyond its state in cong_avoid"), "{complaint}");
}

#[test]
fn read_only_field_is_not_written() {
    let (complaint, sender) = complaint_of("", "tp->snd_cwnd_clamp = 7;");
    assert!(
        complaint.contains("wrote a field that no kernel lets it write in cong_avoid"),
        "{complaint}"
    );
    assert_eq!(sender.max_window, TcpSock::default().max_window);
}

#[test]
fn foreign_memory_access_faults() {
    for what in ["tp[9].snd_cwnd = 1;", "tp->snd_cwnd = tp[-(s32)ack].snd_ssthresh;"] {
        let (complaint, sender) = complaint_of("", what);
        assert!(
            complaint.contains("touched memory that is not its own in cong_avoid"),
            "{complaint}"
        );
        assert_eq!(sender.window, 10);
    }
    let sample =
        "struct ack_sample *sample = (void *)(u64)(ack + 0x7000); tp->snd_cwnd = sample->rtt_us;";
    let (complaint, _) = complaint_of("", sample);
    assert!(complaint.contains("touched memory that is not its own"), "{complaint}");
}

#[test]
fn endless_recursion_is_ended() {
    let deeper = "static __attribute__((noinline)) unsigned deeper(unsigned *last)\n\
                  {\n\tunsigned here[200];\n\there[0] = *last + 1;\n\treturn deeper(here) + here[0];\n}";
    let (complaint, _) = complaint_of(deeper, "tp->snd_cwnd = deeper(&acked);");
    assert!(complaint.contains("called itself too deeply in cong_avoid"), "{complaint}");
}

/// Local variables and arrays, constants, variables of the file, structures that are copied, samples: all its own.
#[test]
fn own_memory_is_accessible() {
    let own = "static unsigned calls;\nstatic const unsigned table[4] = {1, 2, 3, 4};\n\
               struct pair { unsigned long long words[8]; };\n\
               static struct pair kept;\n\
               static __attribute__((noinline)) void fill(struct pair *pair, unsigned by)\n\
               {\n\tfor (int place = 0; place < 8; place++)\n\t\tpair->words[place] = by;\n}";
    let text = source("1").replace("char _license", &format!("{own}\nchar _license")).replace(
        "tp->snd_cwnd += acked / 1;",
        "struct pair local, *ca = inet_csk_ca(sk);\n\
         calls++; fill(&local, acked); kept = local; *ca = kept;\n\
         tp->snd_cwnd += table[acked & 3] + ca->words[7] + calls; tp->app_limited = 4; tp->ecn_flags |= 8;\n\
         sk->sk_pacing_rate = 5; sk->sk_pacing_status = 1; inet_csk(sk)->icsk_ack.pending |= 16;\n\
         tp->snd_ssthresh = 6; tp->snd_cwnd_stamp = 7; tp->snd_cwnd_cnt = 8;",
    );
    let place = Place::new(&text);
    place.compiled();
    let mut control = place.control();
    let mut sender = sender(10);
    control.cong_avoid(&mut sender, 1, 3);
    assert_eq!(control.take_fault(), None);
    // table[3] = 4, the word is 3, and this is the first call.
    assert_eq!(sender.window, 10 + 4 + 3 + 1);
    let SenderFields { state, fields } = fields(&sender);
    assert_eq!(state, [[3; 8].as_slice(), &[0; 5]].concat());
    assert_eq!(fields, [4, 8, 5, 1, 16, 6, 7, 8]);
}

struct SenderFields {
    state: Vec<u64>,
    fields: [u64; 8],
}

fn fields(sender: &TcpSock) -> SenderFields {
    let fields = [
        sender.application_limited.into(),
        sender.ecn_flags.into(),
        sender.control.pacing.rate,
        sender.control.pacing.status.into(),
        sender.control.pending.into(),
        sender.threshold.into(),
        sender.window_stamp.into(),
        sender.credit.into(),
    ];
    SenderFields { state: sender.control.private.to_vec(), fields }
}
