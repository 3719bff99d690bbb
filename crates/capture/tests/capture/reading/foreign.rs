//! Files that other programs wrote, and their reading of them; skipped, with a printed reason, where they
//! are not installed (Debian: packages `tshark`, `tcpdump`).

use super::files::{Read, frames};
use crate::foreign_reader::{capture_file, fields, output_of};
use fairwind_capture::{CaptureReader, EndOfFile, Input, LinkType};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Frames and notes of a file.
fn read(file: &Path) -> (Vec<Read>, Vec<String>) {
    let mut reader =
        CaptureReader::open(vec![Input::Path(file.to_owned())], EndOfFile::Final).unwrap();
    let frames = frames(&mut reader);
    (frames, reader.notes().iter().map(ToString::to_string).collect())
}

/// What is read in a file, in the words of tshark's fields.
fn ours(file: &Path) -> Vec<String> {
    let (frames, notes) = read(file);
    // The second conversation begins when the first one began.
    let ran_back = "timestamps are earlier than the previous packet: 1 packet, at byte ";
    assert!(notes.len() == 1 && notes[0].starts_with(ran_back), "{notes:?}");
    assert!(notes[0].contains("(packet 13): by 60 ms"), "{notes:?}");
    let row = |frame: &Read| {
        let (seconds, nanos) = (frame.nanos / 1_000_000_000, frame.nanos % 1_000_000_000);
        let Read { number, original, bytes, .. } = frame;
        format!("{number} {seconds}.{nanos:09} {original} {}", bytes.len())
    };
    frames.iter().map(row).collect()
}

const FIELDS: [&str; 4] = ["frame.number", "frame.time_epoch", "frame.len", "frame.cap_len"];

/// Says which file differs, and where first.
fn assert_agrees(file: &Path) -> Option<usize> {
    let theirs = fields(file, &FIELDS)?;
    let ours = ours(file);
    for (one, other) in ours.iter().zip(&theirs) {
        assert_eq!(one, other, "{}", file.display());
    }
    assert_eq!(ours.len(), theirs.len(), "{}", file.display());
    Some(ours.len())
}

#[test]
fn tshark_agrees_on_own_captures() {
    for (name, snap) in [("own-whole.pcapng", None), ("own-cut.pcapng", NonZeroU32::new(96))] {
        let file = capture_file(name, snap);
        assert_eq!(ours(&file).len(), 24);
        let (frames, _) = read(&file);
        assert!(frames.iter().all(|frame| frame.link == LinkType::Raw));
        assert_eq!(frames[1].interface, 1);
        let Some(count) = assert_agrees(&file) else { return };
        assert_eq!(count, 24);
    }
}

#[test]
fn tshark_agrees_on_every_editcap_format() {
    let original = capture_file("for-editcap.pcapng", None);
    let variants =
        ["pcap", "nsecpcap", "pcapng", "modpcap", "nokiapcap", "rh6_1pcap", "suse6_3pcap"];
    for variant in variants {
        let file = path_of(&format!("editcap.{variant}"));
        let arguments = ["-F", variant, "-s", "90", original.to_str().unwrap()];
        if output_of("editcap", &arguments, &file).is_none() {
            return;
        }
        assert_eq!(assert_agrees(&file), Some(24), "{variant}");
    }
}

#[test]
fn a_merged_capture_has_the_packets_of_both() {
    let one = capture_file("for-mergecap.pcapng", None);
    let merged = path_of("merged.pcapng");
    let arguments = ["-I", "none", one.to_str().unwrap(), one.to_str().unwrap(), "-w"];
    if output_of("mergecap", &arguments, &merged).is_none() {
        return;
    }
    let theirs = fields(&merged, &["frame.interface_id", "frame.len"]).unwrap();
    let (frames, _) = read(&merged);
    let ours = frames.iter().map(|frame| format!("{} {}", frame.interface, frame.original));
    assert_eq!(ours.collect::<Vec<_>>(), theirs);
    assert_eq!(frames.len(), 48);
    assert_eq!(frames.iter().map(|frame| frame.interface).max(), Some(3));
}

#[test]
fn tshark_agrees_on_tcpdump_captures() {
    let original = path_of("for-tcpdump.pcap");
    let pcapng = capture_file("for-tcpdump.pcapng", None);
    let arguments = ["-F", "nsecpcap", pcapng.to_str().unwrap()];
    if output_of("editcap", &arguments, &original).is_none() {
        return;
    }
    for (precision, snap) in [("micro", "0"), ("nano", "64")] {
        let file = path_of(&format!("tcpdump-{precision}.pcap"));
        let mut arguments = vec!["-r", original.to_str().unwrap(), "-s", snap];
        let option = format!("--time-stamp-precision={precision}");
        arguments.extend([option.as_str(), "-w"]);
        if output_of("tcpdump", &arguments, &file).is_none() {
            return;
        }
        assert_eq!(assert_agrees(&file), Some(24), "{precision}");
    }
}
