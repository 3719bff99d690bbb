//! Tests of host processes: their connections, and their ends.

mod ending;
pub(crate) mod stage;

use super::is_available;
use fairwind_hosts::{EventKind, HostProcess, ReplyPlan, Sampling, SocketOption, Sysctl};
use fairwind_linux::KernelError;
use fairwind_units::{Instant, Span};
use fairwind_workload::{Application, Client, Exchanges, Greedy, Sampler, Server, Thin};
use stage::{HostReport, SET_UP, Stage, pair, plan};

fn everything(_: &[u8]) -> bool {
    true
}

fn greedy(bytes: u64) -> Application {
    Application::Greedy(Greedy::new(Some(bytes)))
}

fn thin(bytes: u64, interval: Span) -> Application {
    let interval = Sampler::Constant(interval.as_nanos());
    Application::Thin(Thin::new(Sampler::Constant(bytes), interval, 1))
}

fn finished(account: &HostReport) -> usize {
    account.count(|kind| kind == EventKind::Finished)
}

fn failure(account: &HostReport, flow: u32) -> Option<i32> {
    account.last(flow, |kind| if let EventKind::Failed(errno) = kind { Some(errno) } else { None })
}

#[test]
fn every_stream_arrives_complete_and_correct() {
    if !is_available("every_stream_arrives_complete_and_correct") {
        return;
    }
    let volumes = [1, 70_000, 5_000_000];
    let (mut sender, receiver) = pair(volumes.map(greedy).into());
    sender.outgoing[2].start = Instant::from_millis(100);
    let mut stage = Stage::begin(&(sender, receiver), everything).expect("two hosts");
    assert!(stage.listen(60, |[_, receiver]| finished(receiver) == 3).expect("both live"));
    let [sender, receiver] = stage.end().expect("an end");
    for (flow, volume) in (0..).zip(volumes) {
        assert_eq!(sender.written(flow), Some(volume));
        assert_eq!(receiver.read(flow), Some(volume));
    }
    let counts = receiver.statistics.expect("statistics");
    assert_eq!((counts.checked_bytes, counts.wrong_bytes), (volumes.iter().sum(), 0));
    assert_eq!(sender.count(|kind| kind == EventKind::Established), 3);
    let late = sender.events.iter().filter(|event| event.flow == 2);
    assert!(late.map(|event| event.at).min() >= Some(Instant::from_millis(100)));
}

/// Requests of 1 to 9999 B, responses of about 100 kB, three of them.
#[test]
fn requests_are_answered_completely() {
    if !is_available("requests_are_answered_completely") {
        return;
    }
    let request = Sampler::Uniform { least: 1.0, greatest: 9_999.0 };
    let response = Sampler::Exponential { mean: 100_000.0 };
    let times = (Sampler::Constant(2_000_000), Sampler::Constant(0));
    let exchanges = Exchanges::new(request, response, 3).with_times(times.0, times.1).limited_to(3);
    let client = Application::Client(Box::new(Client::new(exchanges.clone())));
    let (mut sender, mut receiver) = pair(vec![client]);
    sender.outgoing[0].reads = Some(1);
    let application = Application::Server(Box::new(Server::new(exchanges)));
    receiver.incoming[0].answer = Some(ReplyPlan { flow: 1, application });
    let mut stage = Stage::begin(&(sender, receiver), everything).expect("two hosts");
    let is_over = |[client, server]: &[HostReport; 2]| finished(client) + finished(server) == 2;
    assert!(stage.listen(60, |accounts| is_over(accounts)).expect("both live"));
    let [client, server] = stage.end().expect("an end");
    assert_eq!(client.written(0), server.read(0), "all requests were read");
    assert_eq!(server.written(1), client.read(1), "all responses were read");
    assert!(server.written(1) > Some(1000));
    assert_eq!(client.count(|kind| matches!(kind, EventKind::Answered(_))), 3);
    for (account, flow) in [(&client, 1), (&server, 0)] {
        let counts = account.statistics.clone().expect("statistics");
        assert_eq!(Some(counts.checked_bytes), account.read(flow));
        assert_eq!(counts.wrong_bytes, 0);
    }
    // A response comes after its request was written, and the time to think.
    let answered = client.events.iter().filter_map(|event| match event.kind {
        EventKind::Answered(asked) => Some(event.at.saturating_since(asked)),
        _ => None,
    });
    assert!(answered.min() >= Some(Span::from_millis(2)));
}

#[test]
fn thin_stream_writes_periodically_until_stopped() {
    if !is_available("thin_stream_writes_periodically_until_stopped") {
        return;
    }
    let (mut sender, receiver) = pair(vec![thin(100, Span::from_millis(20))]);
    sender.outgoing[0].stop = Instant::from_millis(500);
    let mut stage = Stage::begin(&(sender, receiver), everything).expect("two hosts");
    assert!(stage.listen(60, |[_, receiver]| finished(receiver) == 1).expect("both live"));
    let [sender, receiver] = stage.end().expect("an end");
    let written = |event: &&fairwind_hosts::HostEvent| matches!(event.kind, EventKind::Written(_));
    let instants: Vec<_> = sender.events.iter().filter(written).map(|event| event.at).collect();
    // However late the machine let each be: the rhythm is kept, and no write comes before it is due.
    let established = sender.events.iter().find(|event| event.kind == EventKind::Established);
    let begin = established.expect("a connection").at;
    for (number, &at) in (0..).zip(&instants) {
        assert!(at >= begin + Span::from_millis(20) * number, "write {number} at {at}");
    }
    let count = u64::try_from(instants.len()).expect("few");
    assert_eq!(sender.written(0), Some(count * 100));
    assert_eq!(receiver.read(0), Some(count * 100));
    assert_eq!(sender.statistics.expect("statistics").timed_writes, count);
}

#[test]
fn unanswered_connections_fail_or_time_out() {
    if !is_available("unanswered_connections_fail_or_time_out") {
        return;
    }
    let (mut sender, mut receiver) = pair(vec![greedy(1000), greedy(1000)]);
    receiver.incoming.remove(0);
    receiver.incoming.remove(0);
    sender.outgoing[1].remote.set_ip([10, 9, 9, 9].into());
    sender.outgoing[1].socket.options.push(SocketOption {
        name: "TCP_USER_TIMEOUT".to_owned(),
        level: libc::IPPROTO_TCP,
        number: libc::TCP_USER_TIMEOUT,
        value: 100,
    });
    // What goes to 10.9.9.9 is lost.
    let keep = |packet: &[u8]| packet[16..20] != [10, 9, 9, 9];
    let mut stage = Stage::begin(&(sender, receiver), keep).expect("two hosts");
    let failed = |[sender, _]: &[HostReport; 2]| {
        failure(sender, 0).is_some() && failure(sender, 1).is_some()
    };
    assert!(stage.listen(60, failed).expect("both live"));
    let [sender, _] = stage.end().expect("an end");
    assert_eq!(failure(&sender, 0), Some(libc::ECONNREFUSED));
    assert_eq!(failure(&sender, 1), Some(libc::ETIMEDOUT));
    assert_eq!(sender.count(|kind| kind == EventKind::Established), 0);
}

/// The first two numbers of the kernel's release.
fn release() -> (u32, u32) {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok).expect("a number");
    (next(), next())
}

#[test]
fn open_connections_report_samples_and_losses() {
    if !is_available("open_connections_report_samples_and_losses") {
        return;
    }
    let (mut sender, receiver) = pair(vec![thin(100, Span::from_millis(10))]);
    sender.sampling = Sampling {
        endpoint_interval: Some(Span::from_millis(20)),
        loss_interval: Some(Span::from_millis(20)),
    };
    // Every third packet is lost, and nothing but time brings it back.
    sender.sysctls = vec![
        Sysctl { name: "net.ipv4.tcp_sack".to_owned(), value: "0".to_owned() },
        Sysctl { name: "net.ipv4.tcp_early_retrans".to_owned(), value: "0".to_owned() },
        Sysctl { name: "net.ipv4.tcp_reordering".to_owned(), value: "100".to_owned() },
    ];
    let keep = |packet: &[u8]| {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        packet.len() < 100 || COUNT.fetch_add(1, Ordering::Relaxed) % 3 != 2
    };
    let mut stage = Stage::begin(&(sender, receiver), keep).expect("two hosts");
    // Kernels before 6.7 do not count time-outs, and those that are answered at once do not all show.
    let timeouts = if release() >= (6, 7) { 2 } else { 1 };
    let enough = |[sender, _]: &[HostReport; 2]| {
        let samples = sender.count(|kind| matches!(kind, EventKind::Endpoint(_)));
        samples >= 5 && sender.count(|kind| kind == EventKind::Timeout) >= timeouts
    };
    assert!(stage.listen(60, enough).expect("both live"));
    let [sender, _] = stage.end().expect("an end");
    let sampled = |kind| if let EventKind::Endpoint(state) = kind { Some(state) } else { None };
    let seen = sender.last(0, sampled).expect("a sample");
    assert!(seen.cwnd_packets >= 1 && seen.smoothed_rtt.is_some(), "{seen:?}");
}

#[test]
fn unsupported_kernel_features_fail_early() {
    if !is_available("unsupported_kernel_features_fail_early") {
        return;
    }
    let refusal = |change: &dyn Fn(&mut fairwind_hosts::HostPlan)| -> String {
        let (mut sender, _) = pair(vec![greedy(1000)]);
        change(&mut sender);
        let mut host = HostProcess::start(&stage::command(), &sender).expect("a process");
        host.wait_ready(SET_UP).expect_err("a refusal").to_string()
    };
    let congestion = refusal(&|plan| {
        plan.outgoing[0].socket.congestion = Some("vegas-2000".to_owned());
    });
    assert!(congestion.starts_with("host host1: choose the congestion control vegas-2000"));
    let sysctl = refusal(&|plan| {
        plan.sysctls.push(Sysctl { name: "net.ipv4.tcp_magic".to_owned(), value: "1".to_owned() });
    });
    assert_eq!(sysctl, "host host1: set net.ipv4.tcp_magic = 1: this kernel has no such parameter");
    let route = refusal(&|plan| plan.route_attributes = vec!["initcwnd".to_owned()]);
    assert!(route.starts_with("host host1: ip -batch"), "{route}");
    let version = refusal(&|plan| plan.version += 1);
    assert!(version.contains("install both from one build"), "{version}");
}

#[test]
fn thousand_simultaneous_connections_all_finish() {
    if !is_available("thousand_simultaneous_connections_all_finish") {
        return;
    }
    let mut applications = vec![greedy(20_000); 512];
    applications.extend(vec![thin(50, Span::from_millis(50)); 512]);
    let (mut sender, receiver) = pair(applications);
    for plan in &mut sender.outgoing {
        plan.stop = Instant::from_secs(2);
    }
    let mut stage = Stage::begin(&(sender, receiver), everything).expect("two hosts");
    assert!(stage.listen(120, |[_, receiver]| finished(receiver) == 1024).expect("both live"));
    let [sender, receiver] = stage.end().expect("an end");
    assert_eq!(sender.count(|kind| kind == EventKind::Established), 1024);
    assert_eq!(sender.count(|kind| matches!(kind, EventKind::Failed(_))), 0);
    for flow in 0..1024 {
        assert_eq!(receiver.read(flow), sender.written(flow), "flow {flow}");
    }
    assert_eq!(receiver.statistics.expect("statistics").wrong_bytes, 0);
}

#[test]
fn hosts_use_ipv6_without_unsolicited_packets() -> Result<(), KernelError> {
    if !is_available("hosts_use_ipv6_without_unsolicited_packets") {
        return Ok(());
    }
    let (mut one, mut other) = (plan(1), plan(2));
    one.addresses = vec!["fd00::1".parse().expect("an address")];
    other.addresses = vec!["fd00::2".parse().expect("an address")];
    let plans = stage::pair_of(one, other, vec![greedy(100_000)]);
    // What is not TCP is not carried; what is not TCP is also nothing that anybody asked for.
    let keep = |packet: &[u8]| {
        assert_eq!((packet[0] >> 4, packet[6]), (6, 6), "{packet:?}");
        true
    };
    let mut stage = Stage::begin(&plans, keep)?;
    assert!(stage.listen(60, |[_, receiver]| finished(receiver) == 1)?);
    let [_, receiver] = stage.end()?;
    assert_eq!(receiver.read(0), Some(100_000));
    Ok(())
}

#[test]
fn connections_sharing_a_local_port_are_distinguished() {
    if !is_available("connections_sharing_a_local_port_are_distinguished") {
        return;
    }
    let (mut sender, mut receiver) = pair(vec![greedy(10_000), greedy(20_000)]);
    let (from, to) = (sender.outgoing[0].local, sender.outgoing[1].remote.port() + 1);
    sender.outgoing[1].local = from;
    sender.outgoing[1].remote.set_port(to);
    receiver.incoming[1].remote = from;
    receiver.incoming[1].local.set_port(to);
    let mut stage = Stage::begin(&(sender, receiver), everything).expect("two hosts");
    assert!(stage.listen(60, |[_, receiver]| finished(receiver) == 2).expect("both live"));
    let [_, receiver] = stage.end().expect("an end");
    assert_eq!((receiver.read(0), receiver.read(1)), (Some(10_000), Some(20_000)));
}
