//! Packets at the hosts' cables by the kernel's own counters, against those that its programs told of.
//!
//! A program at a tracepoint does not run at every event that there is: the kernel leaves it out where
//! it would run within itself, and machines were seen that leave out all programs, uncounted, in soft
//! interrupts on top of certain processes. The devices count every packet, so they tell how many
//! are missing. Packets that pass while the counters are read hide as many missing ones; none is
//! called missing that is not.

use super::path::KernelPath;
use fairwind_linux::KernelError;
use fairwind_units::Instant;

/// How many packets passed, by both accounts.
#[derive(Debug)]
pub(super) struct PacketCount {
    /// What the devices had counted when the tally began.
    before: u64,
    /// What they had counted since, when it ended, and the instant by which they had.
    passed: Option<(u64, Instant)>,
    told: u64,
}

impl PacketCount {
    /// Begins; the programs have to be at work.
    pub(super) fn begin(path: &KernelPath) -> Result<Self, KernelError> {
        Ok(Self::from(path.passed()?))
    }

    fn from(before: u64) -> Self {
        Self { before, passed: None, told: 0 }
    }

    /// Reads the counters for the last time; `clock` gives the instant after that.
    pub(super) fn end(
        &mut self,
        path: &KernelPath,
        clock: impl FnOnce() -> Instant,
    ) -> Result<(), KernelError> {
        let after = path.passed()?;
        self.end_with(after, clock());
        Ok(())
    }

    fn end_with(&mut self, after: u64, by: Instant) {
        self.passed = Some((after.saturating_sub(self.before), by));
    }

    /// A program has told of a packet.
    pub(super) fn on_packet(&mut self, at: Instant) {
        if self.passed.is_none_or(|(_, by)| at <= by) {
            self.told += 1;
        }
    }

    /// How many packets no program told of, at least.
    pub(super) fn missing(&self) -> u64 {
        self.passed.map_or(0, |(passed, _)| passed.saturating_sub(self.told))
    }
}

/// Packets that a device has received and sent, as `/proc/net/dev` tells; `None` where it does not.
pub(super) fn packets_of(text: &str, device: &str) -> Option<u64> {
    let counts = text.lines().find_map(|line| {
        let (name, counts) = line.split_once(':')?;
        (name.trim() == device).then_some(counts)
    })?;
    let mut counts = counts.split_whitespace().map(str::parse::<u64>);
    let received = counts.nth(1)?.ok()?;
    let sent = counts.nth(7)?.ok()?;
    Some(received + sent)
}

#[cfg(test)]
mod tests {
    use super::{PacketCount, packets_of};
    use fairwind_units::Instant;

    #[test]
    fn packets_that_devices_counted_and_nobody_told_of_are_missing() {
        let mut tally = PacketCount::from(100);
        for millis in 1..=7 {
            tally.on_packet(Instant::from_millis(millis));
        }
        tally.end_with(110, Instant::from_millis(9));
        tally.on_packet(Instant::from_millis(8));
        assert_eq!(tally.missing(), 2);
        // The counters could not yet know of these.
        tally.on_packet(Instant::from_millis(10));
        tally.on_packet(Instant::from_millis(11));
        assert_eq!(tally.missing(), 2);
    }

    #[test]
    fn more_packets_than_devices_counted_leave_none_missing() {
        let mut tally = PacketCount::from(0);
        tally.on_packet(Instant::from_millis(1));
        tally.end_with(0, Instant::from_millis(2));
        assert_eq!(tally.missing(), 0);
    }

    #[test]
    fn a_devices_packets_are_those_that_it_received_and_sent() {
        let text = "Inter-|   Receive  |  Transmit\n face |bytes    packets errs\n\
                    cable1: 135074    1999    0    0    0     0  0  0  506465    3349  0 0 0 0 0 0\n\
                    cable10:     1       2    0    0    0     0  0  0       3       4  0 0 0 0 0 0\n";
        assert_eq!(packets_of(text, "cable1"), Some(1999 + 3349));
        assert_eq!(packets_of(text, "cable10"), Some(6));
        assert_eq!(packets_of(text, "veth"), None);
    }
}
