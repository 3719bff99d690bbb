//! Captures of real packets.

use super::stage::{number, path, run_with, table};
use crate::is_available;
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_linux::monotonic;
use fairwind_units::Span;
use fairwind_wire::bytes::{Checksum, parse};
use pcap_file::pcapng::{Block, PcapNgReader};
use std::io::{Error, ErrorKind, Write};
use std::sync::{Arc, Mutex};

const CAPTURED: &str = r#"
    [[flows]]
    name = "greedy"
    workload = { kind = "greedy", volume = "300 kB" }
    [[flows]]
    name = "other"
    workload = { kind = "greedy", volume = "30 kB" }
    [capture]
    groups = ["greedy"]
"#;

/// A file in memory that others can look at.
#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A disk with room for so many bytes.
struct SmallDisk(usize);

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(Error::from(ErrorKind::StorageFull))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Instants and bytes of the packets in a file.
pub(super) fn packets(file: &Shared) -> Vec<(u128, Vec<u8>)> {
    let bytes = file.0.lock().unwrap().clone();
    let mut reader = PcapNgReader::new(bytes.as_slice()).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap().into_owned() {
            packets.push((packet.timestamp.as_nanos(), packet.data.into_owned()));
        }
    }
    packets
}

#[test]
fn both_ends_are_captured_whole_and_in_order() {
    if !is_available("both_ends_are_captured_whole_and_in_order") {
        return;
    }
    let (sender, receiver) = (Shared::default(), Shared::default());
    let files = CaptureFiles {
        sender: Some(Box::new(sender.clone())),
        receiver: Some(Box::new(receiver.clone())),
    };
    let experiment = path("3 s", CAPTURED);
    let outcome =
        run_with(&experiment, "fairwind-test-captures", files, &Control::default()).unwrap();
    let flows = table(&outcome.tables, "flows");
    for (file, column) in [(&sender, "packets_sent"), (&receiver, "packets_received")] {
        let packets = packets(file);
        assert!(packets.is_sorted_by_key(|(at, _)| *at));
        let parsed: Vec<_> = packets.iter().map(|(_, bytes)| parse(bytes).unwrap()).collect();
        assert!(parsed.iter().all(|packet| packet.tcp_checksum() == Checksum::Correct));
        let forward = parsed.iter().filter(|packet| packet.segment.destination_port == 60_000);
        let count = u32::try_from(forward.count()).unwrap();
        assert!((f64::from(count) - number(flows, column, 0)).abs() < 0.5, "{column}: {count}");
    }
}

#[test]
fn full_disk_ends_run_with_reason() {
    if !is_available("full_disk_ends_run_with_reason") {
        return;
    }
    let files = CaptureFiles { sender: Some(Box::new(SmallDisk(100_000))), receiver: None };
    let experiment = path("60 s", CAPTURED);
    let began = monotonic();
    let error = run_with(&experiment, "fairwind-test-disk", files, &Control::default());
    let error = error.expect_err("nothing can be written");
    let storage = error.storage().expect("it is about storage");
    assert_eq!(storage.kind(), ErrorKind::StorageFull, "{error}");
    // It does not wait for the end of the experiment.
    let took = monotonic().saturating_since(began);
    assert!(took < Span::from_secs(50), "{took}");
}
