//! Captures as Wireshark's programs read them; skipped, with a printed reason, where they are
//! not installed (Debian: package `tshark`).

use crate::conversation::{v4, v6, write};
use fairwind_capture::{CaptureWriter, Interface, Section};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes both conversations into a file of this name.
pub(crate) fn capture_file(name: &str, snap_length: Option<NonZeroU32>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let section = Section {
        hardware: Some("virtual".to_owned()),
        operating_system: Some("none".to_owned()),
        application: Some("fairwind".to_owned()),
        comment: Some("made by hand".to_owned()),
    };
    let point = |name| Interface {
        description: Some(format!("the {name}'s side")),
        comment: Some("a comment".to_owned()),
        snap_length,
        ..Interface::new(name)
    };
    let file = std::fs::File::create(&path).unwrap();
    let interfaces = vec![point("client"), point("server")];
    let mut capture = CaptureWriter::new(file, &section, interfaces).unwrap();
    write(&mut capture, [v4(), v6()]);
    capture.finish().unwrap();
    path
}

/// What `program` prints, or `None` where it is not installed.
pub(crate) fn output_of(program: &str, arguments: &[&str], file: &Path) -> Option<String> {
    let output = match Command::new(program).args(arguments).arg(file).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: {program} is not installed (Debian: apt-get install tshark)");
            return None;
        }
        other => other.unwrap(),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// One line per packet with these fields, separated by one space; empty ones are `-`, and truth
/// values, which later versions spell out, are numbers.
pub(crate) fn fields(file: &Path, names: &[&str]) -> Option<Vec<String>> {
    let mut arguments = vec!["-n", "-T", "fields", "-E", "separator=|", "-E", "occurrence=a"];
    for preference in
        ["tcp.check_checksum:TRUE", "ip.check_checksum:TRUE", "tcp.relative_sequence_numbers:FALSE"]
    {
        arguments.extend(["-o", preference]);
    }
    for name in names {
        arguments.extend(["-e", name]);
    }
    arguments.push("-r");
    let text = output_of("tshark", &arguments, file)?;
    let row = |line: &str| line.split('|').map(cell).collect::<Vec<_>>().join(" ");
    Some(text.lines().map(row).collect())
}

fn cell(text: &str) -> &str {
    match text {
        "" => "-",
        "False" => "0",
        "True" => "1",
        other => other,
    }
}

#[test]
fn tshark_accepts_conversations_and_checksums() {
    let file = capture_file("checksums.pcapng", None);
    let names = ["_ws.malformed", "tcp.checksum.status", "ip.checksum.status", "tcp.stream"];
    let Some(rows) = fields(&file, &names) else { return };
    assert_eq!(rows.len(), 24);
    assert_eq!(rows[..12], vec!["- 1 1 0"; 12]);
    assert_eq!(rows[12..], vec!["- 1 - 1"; 12]);
}

#[test]
fn tshark_reads_the_tcp_fields_that_were_written() {
    let file = capture_file("tcp.pcapng", None);
    let names = [
        "frame.interface_name",
        "frame.time_epoch",
        "tcp.flags",
        "tcp.seq",
        "tcp.ack",
        "tcp.len",
        "tcp.window_size_value",
    ];
    let expected = [
        "client 0.000000001 0x0002 4294967280 0 0 502",
        "server 0.010000001 0x0012 1000000 4294967281 0 65535",
        "client 0.020000001 0x0010 4294967281 1000001 0 502",
        "client 0.021000001 0x0018 4294967281 1000001 1447 502",
        "client 0.022000001 0x0018 1444 1000001 10 502",
        "client 0.023000001 0x0018 1458 1000001 1 502",
        "server 0.031000001 0x0050 1000001 1432 0 65535",
        "server 0.033000001 0x0010 1000001 1432 0 65535",
        "client 0.040000001 0x0098 1432 1000001 26 502",
        "client 0.041000001 0x0011 1459 1000001 0 502",
        "server 0.050000001 0x0011 1000001 1460 0 65535",
        "client 0.060000001 0x0110 1460 1000002 0 502",
    ];
    let Some(rows) = fields(&file, &names) else { return };
    assert_eq!(rows[..12], expected);
    assert_eq!(rows[12..], expected);
}

#[test]
fn tshark_reads_the_options_that_were_written() {
    let file = capture_file("options.pcapng", None);
    let names = [
        "tcp.option_kind",
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.timestamp.tsval",
        "tcp.options.timestamp.tsecr",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
    ];
    let mut expected = vec![
        "2,4,8,1,3 1460 7 100 0 - -",
        "2,4,8,1,3 1460 7 900 100 - -",
        "1,1,8 - - 101 900 - -",
        "1,1,8 - - 102 900 - -",
        "1,1,8 - - 102 900 - -",
        "1,1,8 - - 102 900 - -",
        "1,1,8 - - 902 102 - -",
        "1,1,8,1,1,5 - - 903 102 1458,1444 1459,1454",
    ];
    expected.extend(["- - - - - - -"; 4]);
    let Some(rows) = fields(&file, &names) else { return };
    assert_eq!(rows[..12], expected);
    assert_eq!(rows[12..], expected);
}

#[test]
fn tshark_reads_the_ip_fields_that_were_written() {
    let file = capture_file("ip.pcapng", None);
    let four =
        ["frame.len", "ip.src", "ip.dst", "ip.id", "ip.flags.df", "ip.ttl", "ip.dsfield.ecn"];
    let Some(rows) = fields(&file, &four) else { return };
    assert_eq!(rows[0], "60 10.0.0.1 10.0.1.2 0x0007 1 64 0");
    assert_eq!(rows[1], "60 10.0.1.2 10.0.0.1 0x0000 0 64 0");
    assert_eq!(rows[3], "1499 10.0.0.1 10.0.1.2 0x0007 1 64 3");
    assert_eq!(rows[4], "62 10.0.0.1 10.0.1.2 0x0007 1 64 2");
    assert_eq!(rows[5], "53 10.0.0.1 10.0.1.2 0x0007 1 64 1");
    let six = ["frame.len", "ipv6.src", "ipv6.dst", "ipv6.plen", "ipv6.hlim", "ipv6.tclass.ecn"];
    let rows = fields(&file, &six).unwrap();
    assert_eq!(rows[12], "80 fd00::1 fd00:0:0:1::2 40 64 0");
    assert_eq!(rows[13], "80 fd00:0:0:1::2 fd00::1 40 64 0");
    assert_eq!(rows[15], "1519 fd00::1 fd00:0:0:1::2 1479 64 3");
}

#[test]
fn tshark_sees_cut_packets() {
    let file = capture_file("snapped.pcapng", NonZeroU32::new(96));
    let names = ["_ws.malformed", "frame.len", "frame.cap_len", "tcp.len"];
    let Some(rows) = fields(&file, &names) else { return };
    assert_eq!((&*rows[3], &*rows[15]), ("- 1499 96 1447", "- 1519 96 1447"));
    assert_eq!((&*rows[4], &*rows[16]), ("- 62 62 10", "- 82 82 10"));
    assert!(rows.iter().all(|row| row.starts_with("- ")));
}

#[test]
fn capinfos_shows_origin_of_capture() {
    let file = capture_file("origin.pcapng", NonZeroU32::new(96));
    let Some(text) = output_of("capinfos", &[], &file) else { return };
    let lines: Vec<_> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for expected in [
        "File encapsulation: Raw IP",
        "File timestamp precision: nanoseconds (9)",
        "Number of packets: 24",
        "Capture hardware: virtual",
        "Capture oper-sys: none",
        "Capture application: fairwind",
        "Capture comment: made by hand",
        "Number of interfaces in file: 2",
        "Name = client",
        "Description = the server's side",
        "Comment = a comment",
        "Capture length = 96",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} is not in\n{text}");
    }
}
