//! Tests of sources of a kernel's modules, and of what programs for a kernel call.

use super::{Place, sender, source};
use fairwind_congestion::{CompileError, LoadError, compile_object, load_with, parameters};
use fairwind_tcp::{TcpSock, WindowEvent};

fn place() -> Place {
    let place = Place::new(include_str!("module.c"));
    assert_eq!(place.compiled().warnings, "");
    place
}

#[test]
fn kernel_module_runs_unchanged() {
    let mut control = place().control();
    let mut sender = sender(10);
    control.cong_avoid(&mut sender, 1, 1);
    assert_eq!((sender.window, control.take_fault()), (12, None), "2 segments, by its init");
}

#[test]
fn module_parameters_are_set_before_init() {
    let place = place();
    let found = parameters(&place.library()).expect("it is ours");
    assert_eq!((found[0].name.as_str(), found[0].default), ("segments", 2));
    let load = |segments| load_with(&place.library(), "mine", &[("segments".into(), segments)]);
    let mut sender = sender(10);
    load(5).expect("it starts").0.create().cong_avoid(&mut sender, 1, 1);
    assert_eq!(sender.window, 15);
    assert!(matches!(load(-1), Err(LoadError::NoStart { answer: -22, .. })));
}

/// As `tcp_hybla.c` does; no program may.
#[test]
fn module_limits_the_window() {
    let mut control = place().control();
    let mut sender = sender(10);
    control.init(&mut sender);
    assert_eq!((sender.max_window, control.take_fault()), (1000, None));
}

#[test]
fn start_of_sending_has_its_own_hook() {
    let mut control = place().control();
    let window_after = |control: &mut Box<dyn fairwind_tcp::CongestionControl>, event| {
        let mut sender: TcpSock = sender(10);
        control.cwnd_event(&mut sender, event);
        sender.window
    };
    assert_eq!(window_after(&mut control, WindowEvent::SendingBegins), 3);
    assert_eq!(window_after(&mut control, WindowEvent::TimedOut), 3, "3 ms are 2.5 ms in jiffies");
}

#[test]
fn kernel_module_is_no_ebpf_program() {
    let place = place();
    let error = compile_object(&place.source(), &place.library()).expect_err("it is a module");
    assert!(matches!(error, CompileError::Module(_)) && error.to_string().contains("--no-object"));
}

/// A table that a kernel is to refuse comes first, as in its own tests.
#[test]
fn first_complete_table_is_used() {
    let text = source("1").replace(
        "SEC(\".struct_ops\")",
        "SEC(\".struct_ops\")\nstruct tcp_congestion_ops none = { .name = \"none\" };\n\nSEC(\".struct_ops\")",
    );
    let place = Place::new(&text);
    place.compiled();
    let mut sender = sender(10);
    place.control().cong_avoid(&mut sender, 1, 4);
    assert_eq!(sender.window, 14);
}

/// What a kernel refuses too is refused; what changes the flow ends the hook.
#[test]
fn socket_options_are_refused_or_end_the_hook() {
    let with = |option: &str| {
        let call = format!(
            "int one = 1;\n\tif (bpf_setsockopt(sk, SOL_TCP, {option}, &one, 4) == -EOPNOTSUPP)\n\t\ttp->snd_cwnd += 7;\n\ttp->snd_cwnd +="
        );
        let text = source("1").replace("tp->snd_cwnd +=", &call);
        let place = Place::new(&text);
        assert_eq!(place.compiled().warnings, "");
        let mut control = place.control();
        let mut sender = sender(10);
        control.cong_avoid(&mut sender, 1, 1);
        (sender.window, control.take_fault().unwrap_or_default())
    };
    assert_eq!(with("TCP_NODELAY"), (18, String::new()));
    let (window, fault) = with("TCP_CONGESTION");
    assert_eq!(window, 10);
    assert!(fault.contains("asked for a socket option"), "{fault}");
}

#[test]
fn storage_of_sockets_is_empty() {
    let map = "struct {\n\t__uint(type, BPF_MAP_TYPE_SK_STORAGE);\n\t__type(value, int);\n} kept SEC(\".maps\");\n\n";
    let with = |flags: &str| {
        let call = format!(
            "if (!bpf_sk_storage_get(&kept, tp, NULL, {flags}))\n\t\ttp->snd_cwnd += 7;\n\ttp->snd_cwnd +="
        );
        let text = source("1").replace("tp->snd_cwnd +=", &call);
        let place = Place::new(&text.replacen(
            "SEC(\"struct_ops\")",
            &format!("{map}SEC(\"struct_ops\")"),
            1,
        ));
        place.compiled();
        let mut control = place.control();
        let mut sender = sender(10);
        control.cong_avoid(&mut sender, 1, 1);
        (sender.window, control.take_fault().is_some())
    };
    assert_eq!(with("0"), (18, false));
    assert_eq!(with("BPF_SK_STORAGE_GET_F_CREATE"), (10, true));
}

/// The kernel's CUBIC, which programs may call, grows as the repository's.
#[test]
fn functions_of_cubic_can_be_called() {
    let text = source("1")
        .replacen("SEC(\"struct_ops\")", "extern void cubictcp_init(struct sock *sk) __ksym;\nextern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;\n\nSEC(\"struct_ops\")", 1)
        .replace("tp->snd_cwnd += acked / 1;", "(void)tp;\n\tcubictcp_cong_avoid(sk, ack, acked);");
    let place = Place::new(&text);
    assert_eq!(place.compiled().warnings, "");
    let at = || TcpSock { threshold: 5, window_limited: 1, now_nanos: 1_000_000_000, ..sender(10) };
    let (mut ours, mut theirs) = (at(), at());
    let mut cubic = fairwind_congestion::built_in("cubic-c").expect("it is there").0.create();
    let mut control = place.control();
    for acknowledgment in 0..40 {
        cubic.cong_avoid(&mut ours, acknowledgment, 1);
        control.cong_avoid(&mut theirs, acknowledgment, 1);
        assert_eq!((theirs.window, theirs.credit), (ours.window, ours.credit));
    }
    assert!(ours.window > 10 && control.take_fault().is_none());
}
