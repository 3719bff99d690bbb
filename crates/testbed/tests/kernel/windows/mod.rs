//! Windows that the running kernel remembers in a control group.

mod endings;
mod stage;

use super::is_available;
use super::processes::wait_for;
use fairwind_kernel_testing::can_run;
use fairwind_linux::CleanupPaths;
use fairwind_units::{Instant, Span};
use fairwind_windows::{
    Collection, RememberedWindow, SharedOpenings, Trust, WindowOptions, WindowsError, WindowsOfRun,
    clear, obstacle, orphaned, show, start, stop,
};
use stage::{Group, Sender};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

/// The kernel's initial window.
const INITIAL: u64 = 10;
/// A transfer over which the window grows to some forty: flights of 10, 20 and 10.
const SHORT: u64 = 40;

const EXACT: WindowOptions = WindowOptions {
    lifetime: Span::from_secs(600),
    entries: 1000,
    trust: Trust::Exact,
    beginning: SharedOpenings::Incoming,
    collection: Collection::End,
    largest_window: None,
};

/// Whether windows can be remembered; says why, where they cannot.
fn is_rememberable(test: &str) -> bool {
    if !is_available(test) {
        return false;
    }
    let reason = obstacle().map(|reason| reason.to_string()).or_else(|| {
        let root = CleanupPaths::usual().control_groups;
        root.is_none().then(|| "no control groups of version 2 are mounted".to_owned())
    });
    can_run(test, reason)
}

/// The only window that is remembered.
fn only(windows: &[RememberedWindow]) -> RememberedWindow {
    assert_eq!(windows.len(), 1, "{windows:?}");
    windows[0]
}

fn of_peer(peer: IpAddr, packets: u32) -> RememberedWindow {
    RememberedWindow { peer, packets, age: Span::ZERO, least_rtt: None }
}

#[test]
fn window_is_remembered_within_lifetime() {
    if !is_rememberable("window_is_remembered_within_lifetime") {
        return;
    }
    let group = Group::new("lifetime");
    let lifetime = Span::from_secs(4);
    start(&group.path, &WindowOptions { lifetime, ..EXACT }).unwrap();
    let (mut sender, mut outside) = (Sender::begin(Some(&group)), Sender::begin(None));
    assert_eq!(sender.send(SHORT), INITIAL);
    let window = only(&show(&group.path).unwrap().windows);
    assert!((20..=44).contains(&window.packets), "{window:?}");
    assert_eq!(sender.send(SHORT), u64::from(window.packets).min(SHORT));
    assert_eq!(outside.send(SHORT), INITIAL, "a program outside is not touched");
    assert_eq!(show(&group.path).unwrap().windows.len(), 1, "nor is it remembered");
    let age = || only(&show(&group.path).unwrap().windows).age;
    wait_for("the window is too old", age, |&age| age > lifetime);
    assert_eq!(sender.send(SHORT), INITIAL);
    let counts = show(&group.path).unwrap().counts;
    assert_eq!((counts.unknown, counts.used, counts.outdated), (1, 1, 1));
    stop(&group.path).unwrap();
    assert_eq!(sender.send(SHORT), INITIAL, "it has ended");
}

/// The application closes once the buffer has taken the last of what it writes, while the window still grows.
#[test]
fn exact_window_is_taken_at_close() {
    if !is_rememberable("exact_window_is_taken_at_close") {
        return;
    }
    let group = Group::new("close");
    let [at_close, at_end] = [Collection::Close, Collection::End].map(|collection| {
        start(&group.path, &WindowOptions { collection, ..EXACT }).unwrap();
        Sender::begin(Some(&group)).send(3 * SHORT);
        let window = only(&show(&group.path).unwrap().windows);
        stop(&group.path).unwrap();
        window.packets
    });
    assert!(at_close >= 10 && 3 * at_close <= 2 * at_end, "{at_close} and {at_end}");
}

/// Ten packets of 1428 bytes are nine of 1448 and some.
#[test]
fn ipv6_peer_is_remembered() {
    if !is_rememberable("ipv6_peer_is_remembered") {
        return;
    }
    let group = Group::new("six");
    start(&group.path, &EXACT).unwrap();
    let mut sender = Sender::begin(Some(&group));
    assert_eq!(sender.send_over_ipv6(SHORT), INITIAL - 1);
    let window = only(&show(&group.path).unwrap().windows);
    assert!(window.peer.is_ipv6() && (20..=44).contains(&window.packets), "{window:?}");
    assert!(sender.send_over_ipv6(SHORT) >= 19);
    assert_eq!(sender.send(SHORT), INITIAL, "another peer by IPv4");
    assert_eq!(show(&group.path).unwrap().windows.len(), 2);
    stop(&group.path).unwrap();
}

#[test]
fn forgotten_window_is_not_used() {
    if !is_rememberable("forgotten_window_is_not_used") {
        return;
    }
    let group = Group::new("forgotten");
    start(&group.path, &EXACT).unwrap();
    let mut sender = Sender::begin(Some(&group));
    sender.send(SHORT);
    assert_eq!(clear(&group.path), Ok(1));
    assert_eq!(show(&group.path).unwrap().windows, []);
    assert_eq!(sender.send(SHORT), INITIAL);
    stop(&group.path).unwrap();
}

#[test]
fn safe_mode_starts_with_half_window() {
    if !is_rememberable("safe_mode_starts_with_half_window") {
        return;
    }
    let group = Group::new("care");
    let options = WindowOptions { largest_window: Some(25), ..WindowOptions::default() };
    let run = WindowsOfRun::begin(&group.path, &options).unwrap();
    let mut sender = Sender::begin(Some(&group));
    sender.send(SHORT);
    let learned = only(&run.remembered().unwrap().windows);
    let remember = |packets, least_rtt| {
        run.remember(RememberedWindow { packets, least_rtt, ..learned }).unwrap();
    };
    remember(30, learned.least_rtt);
    assert_eq!(sender.send(SHORT), 15);
    remember(80, learned.least_rtt);
    assert_eq!(sender.send(SHORT), 25, "no more than the limit");
    remember(18, learned.least_rtt);
    assert_eq!(sender.send(SHORT), INITIAL, "never less than the kernel's own");
    remember(40, Some(Span::from_millis(200)));
    assert_eq!(sender.send(SHORT), INITIAL, "80 ms is less than half of 200 ms: another path");
    remember(40, Some(Span::from_millis(7)));
    assert_eq!(sender.send(SHORT), INITIAL, "80 ms is more than ten times 7 ms: another path");
    remember(400, None);
    sender.send_with_loss(200, 5);
    let remembered = run.remembered().unwrap();
    assert_eq!(only(&remembered.windows).packets, 200);
    assert_eq!((remembered.counts.halved, remembered.counts.unfit), (1, 3));
}

/// Ten packets leave at once, the other 30 at twice the window in 80 ms: one in a millisecond. A machine that is late with
/// some of these has them in the next flight.
#[test]
fn safe_mode_paces_first_flight() {
    if !is_rememberable("safe_mode_paces_first_flight") {
        return;
    }
    let group = Group::new("paced");
    let mut sender = Sender::begin(Some(&group));
    for (trust, remembered) in [(Trust::Safe, 80), (Trust::Exact, 40)] {
        let options = WindowOptions { trust, ..WindowOptions::default() };
        let run = WindowsOfRun::begin(&group.path, &options).unwrap();
        sender.send(SHORT);
        let learned = only(&run.remembered().unwrap().windows);
        run.remember(RememberedWindow { packets: remembered, ..learned }).unwrap();
        let (flight, lasted) = sender.send_and_watch(2 * SHORT, 0);
        let least = if trust == Trust::Safe { 30 } else { 40 };
        assert!((least..=40).contains(&flight), "{trust:?}: {flight}");
        let is_paced = lasted > Span::from_millis(20);
        assert_eq!(is_paced, trust == Trust::Safe, "{trust:?}: {lasted}");
    }
}

#[test]
fn largest_window_keeps_its_age() {
    if !is_rememberable("largest_window_keeps_its_age") {
        return;
    }
    let group = Group::new("largest");
    let run = WindowsOfRun::begin(&group.path, &EXACT).unwrap();
    let mut sender = Sender::begin(Some(&group));
    sender.send(SHORT);
    let age = Span::from_secs(100);
    let learned = only(&run.remembered().unwrap().windows);
    run.remember(RememberedWindow { packets: 12, age, ..learned }).unwrap();
    // Few packets do not make a window of 12 grow.
    assert_eq!(sender.send(3), 3);
    let window = only(&run.remembered().unwrap().windows);
    assert_eq!(window.packets, 12);
    assert!(window.age < Span::from_secs(10), "an equal one is of now: {window:?}");
    // Nothing is older than the system.
    let oldest = age.min(fairwind_linux::monotonic().saturating_since(Instant::ZERO));
    run.remember(RememberedWindow { packets: 300, age, ..learned }).unwrap();
    sender.send_with_loss(300, 5);
    let window = only(&run.remembered().unwrap().windows);
    assert_eq!(window.packets, 300);
    assert!(window.age >= oldest, "{window:?}");
}

#[test]
fn remembered_peers_are_bounded() {
    if !is_rememberable("remembered_peers_are_bounded") {
        return;
    }
    let group = Group::new("room");
    for (entries, least) in [(1, 1), (1_000, 500), (100_000, 50_000)] {
        let options = WindowOptions { entries, ..EXACT };
        let run = WindowsOfRun::begin(&group.path, &options).unwrap();
        let peers = (0..100_000_u32).map(|number| Ipv4Addr::from(0x0a00_0000 + number));
        peers.for_each(|peer| run.remember(of_peer(peer.into(), 32)).unwrap());
        let count = run.remembered().unwrap().windows.len();
        assert!((least..=usize::try_from(entries).unwrap()).contains(&count), "{entries}: {count}");
    }
}

#[test]
fn invalid_options_are_refused_with_advice() {
    if !is_rememberable("invalid_options_are_refused_with_advice") {
        return;
    }
    let group = Group::new("refused");
    let root = CleanupPaths::usual().control_groups.unwrap().display().to_string();
    let start_in = |path: &str| start(Path::new(path), &EXACT).unwrap_err().to_string();
    let error = start_in("/nonexistent/group");
    assert!(error.starts_with("/nonexistent/group: No such file"), "{error}");
    assert!(error.contains(&root), "{error}");
    let error = start_in("/tmp");
    assert!(
        error.starts_with("/tmp is not a control group of version 2") && error.ends_with(&root)
    );
    let error = start_in("/proc/self/status");
    assert!(error.contains("not a directory"), "{error}");
    let none = WindowOptions { entries: 0, ..EXACT };
    let error = start(&group.path, &none).unwrap_err().to_string();
    assert!(error.starts_with("--entries 0 remembers nothing"), "{error}");
    let path = group.path.clone();
    assert_eq!(stop(&path), Err(WindowsError::NotStarted { path: path.clone() }));
    assert!(show(&path).is_err() && clear(&path).is_err());
    start(&path, &EXACT).unwrap();
    assert_eq!(start(&path, &EXACT), Err(WindowsError::AlreadyStarted { path: path.clone() }));
    assert_eq!(show(&path).unwrap().options, EXACT);
    stop(&path).unwrap();
    assert!(matches!(stop(&path), Err(WindowsError::NotStarted { .. })));
}

#[test]
fn removed_group_leftover_is_reported() {
    if !is_rememberable("removed_group_leftover_is_reported") {
        return;
    }
    let group = Group::new("gone");
    let path = group.path.clone();
    let name = start(&path, &EXACT).unwrap();
    std::fs::remove_dir(&path).unwrap();
    // The kernel lets go of a removed group a little later.
    wait_for("the program has lost its group", orphaned, |left| left.contains(&name));
    for error in [stop(&path).unwrap_err(), show(&path).unwrap_err()] {
        let words = error.to_string();
        assert!(words.starts_with(&format!("{}: No such file", path.display())), "{words}");
        assert!(words.contains("fairwind doctor --clean"), "{words}");
        assert!(words.contains(&name.display().to_string()), "{words}");
    }
    std::fs::remove_file(&name).unwrap();
}

#[test]
fn concurrent_starts_leave_one_program() {
    if !is_rememberable("concurrent_starts_leave_one_program") {
        return;
    }
    let group = Group::new("at-once");
    let begun: Vec<_> = std::thread::scope(|scope| {
        let starts = [(); 4].map(|()| scope.spawn(|| start(&group.path, &EXACT)));
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let refused = begun.iter().filter(|begun| begun.is_err()).count();
    assert_eq!(refused, 3, "{begun:?}");
    assert_eq!(show(&group.path).unwrap().options, EXACT);
    stop(&group.path).unwrap();
}
