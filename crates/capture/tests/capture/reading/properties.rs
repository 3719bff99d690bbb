//! Prefixes and damaged bytes: all before the damage is intact, and nearly all after it is read.

use super::files::{Order, Pcap, PcapNg, Read, frames, source, try_read};
use fairwind_capture::{CaptureReader, EndOfFile};
use proptest::prelude::*;

const PACKETS: u32 = 12;

fn payload(packet: u32) -> Vec<u8> {
    let length = 20 + (packet * 7) % 41;
    (0..length).map(|byte| (byte * packet % 251).to_le_bytes()[0]).collect()
}

fn files() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for order in Order::BOTH {
        for magic in [Pcap::MICROSECONDS, Pcap::NANOSECONDS] {
            let mut file = Pcap::new(order, magic, 65_535);
            for packet in 0..PACKETS {
                file.packet(1_700_000_000 + packet, 7, &payload(packet));
            }
            files.push(file.bytes);
        }
        let mut file = PcapNg::new(order);
        file.interface(1, 0, &[(2, b"first"), (9, &[6])]).interface(101, 0, &[(9, &[9])]);
        for packet in 0..PACKETS {
            let bytes = payload(packet);
            let original = 20 + u32::try_from(bytes.len()).unwrap();
            let options: &[(u16, &[u8])] = &[(1, b"a comment")];
            let options = if packet % 3 == 0 { options } else { &[] };
            let micros = 1_700_000_000_000_000 + u64::from(packet);
            let timestamp = if packet % 2 == 0 { micros } else { micros * 1_000 };
            file.packet(packet % 2, timestamp, &bytes, original, options);
        }
        files.push(file.bytes);
    }
    files
}

fn whole(bytes: &[u8]) -> Vec<Read> {
    try_read(bytes).unwrap().0
}

#[test]
fn any_prefix_gives_its_complete_packets() {
    for file in files() {
        let all = whole(&file);
        let begins = |frame: &Read| usize::try_from(frame.offset).unwrap();
        let mut ends: Vec<_> = all.iter().skip(1).map(begins).collect();
        ends.push(file.len());
        for length in 0..file.len() {
            let Ok((frames, notes)) = try_read(&file[..length]) else {
                assert!(length < 24, "{length} bytes are refused");
                continue;
            };
            let are_whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(frames, all[..are_whole], "{length} bytes");
            let is_between = length == begins(&all[0]) || ends.contains(&length);
            assert!(is_between || notes.len() == 1 || length < begins(&all[0]), "{notes:?}");
        }
    }
}

#[test]
fn damaged_byte_loses_two_pcap_packets_at_most() {
    for file in files().iter().filter(|file| file[0] != 0x0a) {
        let all = whole(file);
        for at in 0..file.len() {
            for damage in [0x01, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= damage;
                let (frames, notes) = try_read(&damaged).unwrap();
                let kept = frames.iter().filter(|it| all.iter().any(|one| is_same(one, it)));
                let kept = kept.count();
                // The header holds for all packets: a snap length or link type that cannot be written.
                let least = if at < 24 { 0 } else { all.len() - 2 };
                assert!(
                    kept >= least,
                    "byte {at} by {damage:#x}: {kept} of {} {notes:?} {}",
                    all.len(),
                    file[0]
                );
                let before = all.iter().filter(|one| at >= 24 && ends(one) <= at).count();
                assert_eq!(frames[..before], all[..before], "byte {at} by {damage:#x}");
            }
        }
    }
}

/// Whether two frames are of the same record; numbers may differ.
fn is_same(one: &Read, other: &Read) -> bool {
    Read { number: 0, ..one.clone() } == Read { number: 0, ..other.clone() }
}

fn ends(frame: &Read) -> usize {
    usize::try_from(frame.offset).unwrap() + 16 + frame.bytes.len()
}

#[test]
fn damaged_byte_loses_one_pcapng_packet_at_most() {
    for file in files().iter().filter(|file| file[0] == 0x0a) {
        let all = whole(file);
        let first = usize::try_from(all[0].offset).unwrap();
        for at in 0..file.len() {
            for damage in [0x01, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= damage;
                let Ok((frames, _)) = try_read(&damaged) else {
                    assert!(at < first, "byte {at} by {damage:#x}: refused");
                    continue;
                };
                let kept = frames.iter().filter(|it| all.iter().any(|one| is_same(one, it)));
                let least = if at < first { 0 } else { all.len() - 1 };
                assert!(kept.count() >= least, "byte {at} by {damage:#x}");
            }
        }
    }
}

proptest! {
    /// Bytes behind either beginning do no harm, and cost work in proportion to their number: each
    /// frame needs its own bytes.
    #[test]
    fn random_bytes_are_read_once(
        bytes in prop::collection::vec(any::<u8>(), 0..3_000),
        zeros in 0_usize..200,
    ) {
        for file in files() {
            let head = if file[0] == 0x0a { 28 } else { 24 };
            let mut all = file[..head].to_vec();
            all.resize(head + zeros, 0);
            all.extend(&bytes);
            let mut reader = CaptureReader::open(vec![source(&all)], EndOfFile::Final).unwrap();
            let read = frames(&mut reader);
            let offsets: Vec<_> = read.iter().map(|frame| frame.offset).collect();
            prop_assert!(offsets.is_sorted_by(|one, next| one < next));
            let kept: usize = read.iter().map(|frame| frame.bytes.len()).sum();
            prop_assert!(kept <= all.len());
            prop_assert!(reader.notes().iter().count() < 20);
        }
    }
}
