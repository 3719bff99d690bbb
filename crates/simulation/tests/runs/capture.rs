//! A simulated capture opens in tshark, without a malformed packet and with right checksums.

use crate::run::experiment;
use fairwind_simulation::{CaptureFiles, Control, Simulation};
use std::fs::File;
use std::process::Command;

const SCENARIO: &str = r#"
    name = "captured"
    duration = "20 s"
    [path]
    rate = "1 Mbit/s"
    rtt = "100 ms"
    queue = { discipline = "pfifo", limit = "9 packets" }
    loss = "1 %"
    [[flows]]
    name = "greedy"
    workload = { kind = "greedy", volume = "500 kB" }
    [[flows]]
    name = "thin"
    count = 2
    workload = { kind = "thin", payload = "120 B", interval = "150 ms" }
    [capture]
    points = ["sender", "receiver"]
"#;

pub fn tshark(file: &std::path::Path, arguments: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("tshark").arg("-r").arg(file).args(arguments).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn a_simulated_capture_is_well_formed() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed (Debian package tshark)");
        return;
    }
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = |name: &str| folder.join(format!("{name}.pcapng"));
    let create =
        |name| Some(Box::new(File::create(path(name)).unwrap()) as Box<dyn std::io::Write + Send>);
    let files = CaptureFiles { sender: create("sender"), receiver: create("receiver") };
    let simulation = Simulation::with_captures(&experiment(SCENARIO), 1, files).unwrap();
    let outcome = simulation.run(&Control::default()).unwrap();

    let strict = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
    let select = |name: &str, filter: &str| {
        let mut arguments = strict.to_vec();
        arguments.extend(["-Y", filter, "-T", "fields", "-e", "frame.number"]);
        tshark(&path(name), &arguments).unwrap().len()
    };
    for name in ["sender", "receiver"] {
        let wrong = "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 || !tcp";
        assert_eq!(select(name, wrong), 0, "wrong packets at the {name}");
        assert!(select(name, "tcp.len > 0") > 500);
    }
    // What the simulation counted is what the captures show.
    let flows = outcome.tables.get("flows").unwrap();
    let sent = crate::run::sum(flows, "packets_sent");
    let received = crate::run::sum(flows, "packets_received");
    #[expect(clippy::cast_precision_loss, reason = "a count of packets")]
    let counted = |name: &str, filter: &str| select(name, filter) as f64;
    let forward = "tcp.dstport >= 60000";
    assert!((counted("sender", forward) - sent).abs() < 0.5);
    assert!((counted("receiver", forward) - received).abs() < 0.5);
    // The payload is the stream's pattern: a retransmission carries the same bytes.
    let conflicting = select("sender", "tcp.segment.overlap.conflict == 1");
    assert_eq!(conflicting, 0);
}

const BUNDLED: &str = r#"
    name = "bundled"
    duration = "60 s"
    [path]
    rate = "1 Mbit/s"
    rtt = "100 ms"
    loss = "2 %"
    [[flows]]
    name = "thin"
    stop = "50 s"
    workload = { kind = "thin", payload = "120 B", interval = "30 ms" }
    tcp = { redundant_bundling = true }
    [capture]
    points = ["sender", "receiver"]
"#;

/// First sequence number and number after the last one of each data packet.
fn places(file: &std::path::Path) -> Vec<(u64, u64)> {
    let fields = ["-Y", "tcp.len > 0 && tcp.dstport >= 60000", "-T", "fields"];
    let arguments = [&fields[..], &["-e", "tcp.seq", "-e", "tcp.len"]].concat();
    let number = |text: &str| text.parse::<u64>().unwrap();
    let place = |line: &String| {
        let (start, bytes) = line.split_once('\t').unwrap();
        (number(start), number(start) + number(bytes))
    };
    tshark(file, &arguments).unwrap().iter().map(place).collect()
}

/// Segments of old and new data overlap, with the same bytes, and what follows the stream finds it whole.
#[test]
fn overlapping_bundles_are_accepted() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed (Debian package tshark)");
        return;
    }
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = |name: &str| folder.join(format!("bundled-{name}.pcapng"));
    let create =
        |name| Some(Box::new(File::create(path(name)).unwrap()) as Box<dyn std::io::Write + Send>);
    let files = CaptureFiles { sender: create("sender"), receiver: create("receiver") };
    let simulation = Simulation::with_captures(&experiment(BUNDLED), 4, files).unwrap();
    let outcome = simulation.run(&Control::default()).unwrap();
    let read = crate::run::group(&outcome.tables, "thin", "payload_bytes_read");
    for name in ["sender", "receiver"] {
        let places = places(&path(name));
        let mut highest = 0;
        let mut overlapping = 0;
        for (start, end) in places {
            overlapping += usize::from(start < highest && highest < end);
            highest = highest.max(end);
        }
        assert!(overlapping > 500, "{overlapping} overlapping segments at the {name}");
        let strict = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
        let wrong = "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 || \
                     tcp.segment.overlap.conflict";
        let wrong = tshark(&path(name), &[&strict[..], &["-Y", wrong]].concat()).unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
        // Sequence numbers of tshark begin with the SYN.
        #[expect(clippy::cast_precision_loss, reason = "a count of bytes")]
        let stream = (highest - 1) as f64;
        assert!((stream - read).abs() < 0.5, "{stream} B at the {name}, {read} B were read");
    }
    let followed = tshark(&path("receiver"), &["-q", "-z", "follow,tcp,raw,0"]).unwrap();
    let is_hex = |line: &&String| !line.is_empty() && line.bytes().all(|c| c.is_ascii_hexdigit());
    let digits: usize = followed.iter().filter(is_hex).map(String::len).sum();
    #[expect(clippy::cast_precision_loss, reason = "a count of bytes")]
    let bytes = digits as f64 / 2.0;
    assert!((bytes - read).abs() < 0.5, "{bytes} B are followed, {read} B were read");
}
