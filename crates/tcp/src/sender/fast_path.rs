//! Fast paths of the sending half: their conditions, in one place.
//!
//! Each skips work that would change nothing. The tests compare both ways.

use super::Sender;
use crate::config::{Config, TailLossProbe};
use fairwind_wire::Segment;

/// Whether mechanisms that few connections have follow each segment and acknowledgment: delivery-rate
/// samples, pacing, redundant bundling, framing, the in-flight limit, careful resumption. And whether
/// constants of loss recovery are those of the RFCs, whose products with times are shifts.
#[derive(Debug)]
pub(super) struct FastPath {
    has_optional: bool,
    has_usual_constants: bool,
    probe_timing: ProbeTiming,
    #[cfg(test)]
    is_disabled: bool,
}

/// How long tail loss probes wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeTiming {
    /// There are none.
    Off,
    /// As in Linux 3.10, with its constants.
    Linux3_10,
    /// As in RFC 8985, with its constants.
    Rfc8985,
    /// As configured.
    General,
}

impl ProbeTiming {
    fn of(config: &Config) -> Self {
        match config.loss.tail_loss_probe {
            TailLossProbe::Off => Self::Off,
            _ if !config.has_usual_constants() => Self::General,
            TailLossProbe::Linux3_10 => Self::Linux3_10,
            TailLossProbe::Rfc8985 => Self::Rfc8985,
        }
    }
}

impl FastPath {
    pub(super) fn new(config: &Config, has_optional: bool) -> Self {
        Self {
            has_optional,
            has_usual_constants: config.has_usual_constants(),
            probe_timing: ProbeTiming::of(config),
            #[cfg(test)]
            is_disabled: tests::is_disabled(),
        }
    }

    /// Whether no optional mechanism is active.
    pub(super) fn is_plain(&self) -> bool {
        !self.has_optional && self.is_enabled()
    }

    /// Whether the constants of loss recovery are those of the RFCs, for all streams.
    #[inline]
    pub(super) fn has_usual_constants(&self) -> bool {
        self.has_usual_constants && self.is_enabled()
    }

    /// How long probes wait.
    #[inline]
    pub(super) fn probe_timing(&self) -> ProbeTiming {
        if self.is_enabled() || self.probe_timing == ProbeTiming::Off {
            self.probe_timing
        } else {
            ProbeTiming::General
        }
    }

    /// Leaves the plain path, because an optional mechanism is active.
    pub(super) fn leave(&mut self) {
        self.has_optional = true;
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "tests disable it")]
    fn is_enabled(&self) -> bool {
        true
    }

    #[cfg(test)]
    fn is_enabled(&self) -> bool {
        !self.is_disabled
    }
}

impl Sender {
    /// Determines whether an optional mechanism is active.
    pub(super) fn update_fast_path(&mut self) {
        self.fast_path.has_usual_constants = self.config.has_usual_constants();
        self.fast_path.probe_timing = ProbeTiming::of(&self.config);
        self.fast_path.has_optional = self.config.has_extras()
            || self.congestion.wants_samples()
            || self.inherited.is_resuming()
            || self.pacer.has_first_flight()
            || self.pacer.is_rate_set();
    }

    /// Whether an acknowledgment can only change the peer's window, because nothing is outstanding or
    /// waits. Such ACKs carry the data of a peer to which nothing is sent.
    #[inline]
    pub(super) fn is_window_update_at_most(&self, segment: &Segment) -> bool {
        segment.acknowledgment == self.send.oldest_unacked()
            && self.queue.is_empty()
            && !self.written.has_any()
            && segment.options.sack.is_empty()
            && !self.tail_probe.is_outstanding()
            && !self.ecn.is_accurate()
            && self.fast_path.is_enabled()
    }

    /// Whether the congestion window blocks new data and nothing else is due. Drivers poll once too
    /// often after every input.
    #[inline]
    pub(super) fn is_limited_by_full_window(&self) -> bool {
        self.budget.is_yet_to_begin()
            && self.fast_path.is_plain()
            && self.in_flight() >= self.window.segments()
            && self.in_flight_for_new_data() >= self.window.segments()
            && self.mtu_search.is_none()
            && self.state.may_send()
            && self.stats.is_just_busy()
            && !self.queue.is_empty()
            && !self.send_buffer.wants_room()
    }
}

#[cfg(test)]
mod tests {
    use crate::connection::{Connection, Ports};
    use crate::{Event, Profile};
    use fairwind_units::{Instant, Span};
    use fairwind_wire::{Segment, SequenceNumber};
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::collections::VecDeque;
    use std::sync::Arc;

    thread_local! {
        static DISABLED: Cell<bool> = const { Cell::new(false) };
    }

    pub(super) fn is_disabled() -> bool {
        DISABLED.get()
    }

    /// An action of the application or the network.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Write { client: bool, bytes: u32 },
        Read,
        Wait { milliseconds: u64 },
        Lose { client: bool },
        Close { client: bool },
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (any::<bool>(), 1..20_000_u32)
                .prop_map(|(client, bytes)| Step::Write { client, bytes }),
            2 => Just(Step::Read),
            4 => (1..400_u64).prop_map(|milliseconds| Step::Wait { milliseconds }),
            2 => any::<bool>().prop_map(|client| Step::Lose { client }),
            1 => any::<bool>().prop_map(|client| Step::Close { client }),
        ];
        prop::collection::vec(step, 1..60)
    }

    /// Two ends and a path of 10 ms; everything that either sends or reports.
    struct Pair {
        ends: [Connection; 2],
        path: VecDeque<(Instant, usize, Segment)>,
        lost: [u32; 2],
        now: Instant,
        log: Vec<(Instant, usize, Result<Segment, Event>)>,
    }

    impl Pair {
        fn new(profile: Profile) -> Self {
            let config = Arc::new(profile.config());
            let client = Ports { local: 1, remote: 2 };
            let server = Ports { local: 2, remote: 1 };
            let ends = [
                Connection::connect(config.clone(), client, SequenceNumber::new(7)),
                Connection::listen(config, server, SequenceNumber::new(u32::MAX - 5000)),
            ];
            let now = Instant::from_secs(1);
            let mut pair = Self { ends, path: VecDeque::new(), lost: [0; 2], now, log: Vec::new() };
            pair.drain(0);
            pair
        }

        fn drain(&mut self, end: usize) {
            while let Some(segment) = self.ends[end].poll_segment(self.now) {
                self.log.push((self.now, end, Ok(segment)));
                if self.lost[end] > 0 {
                    self.lost[end] -= 1;
                } else {
                    self.path.push_back((self.now + Span::from_millis(10), 1 - end, segment));
                }
            }
            while let Some(event) = self.ends[end].poll_event() {
                self.log.push((self.now, end, Err(event)));
            }
        }

        fn advance(&mut self, until: Instant) {
            loop {
                let arrival = self.path.front().map_or(Instant::MAX, |&(at, ..)| at);
                let deadlines = self.ends.each_ref().map(Connection::next_deadline);
                let next = arrival.min(deadlines[0]).min(deadlines[1]);
                if next > until || self.log.len() > 20_000 {
                    self.now = until;
                    return;
                }
                self.now = self.now.max(next);
                if arrival == next
                    && let Some((_, end, segment)) = self.path.pop_front()
                {
                    self.ends[end].on_segment(self.now, &segment);
                    self.drain(end);
                } else {
                    let end = usize::from(deadlines[0] != next);
                    self.ends[end].on_deadline(self.now);
                    self.drain(end);
                }
            }
        }

        fn step(&mut self, step: Step) {
            let end = |client: bool| usize::from(!client);
            match step {
                Step::Write { client, bytes } => {
                    self.ends[end(client)].write(u64::from(bytes));
                    self.drain(end(client));
                }
                Step::Read => {
                    for end in 0..2 {
                        self.ends[end].read(self.now, u32::MAX);
                        self.drain(end);
                    }
                }
                Step::Wait { milliseconds } => {
                    self.advance(self.now + Span::from_millis(milliseconds));
                }
                Step::Lose { client } => self.lost[end(client)] += 1,
                Step::Close { client } => {
                    self.ends[end(client)].close();
                    self.drain(end(client));
                }
            }
        }
    }

    fn run(profile: Profile, steps: &[Step], disabled: bool) -> Pair {
        DISABLED.set(disabled);
        let mut pair = Pair::new(profile);
        pair.advance(pair.now + Span::from_millis(50));
        for &step in steps {
            pair.step(step);
        }
        pair.advance(pair.now + Span::from_secs(20));
        DISABLED.set(false);
        pair
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn fast_path_equals_general_path(steps in steps(), which in 0..5_usize) {
            let profile = [
                Profile::Linux6_18,
                Profile::Linux3_16,
                Profile::Linux2_6,
                Profile::Rfc,
                Profile::FreeBsd14,
            ][which];
            let (fast, general) = (run(profile, &steps, false), run(profile, &steps, true));
            prop_assert_eq!(&fast.log, &general.log);
            for end in 0..2 {
                prop_assert_eq!(
                    fast.ends[end].tcp_info(fast.now),
                    general.ends[end].tcp_info(general.now)
                );
            }
        }
    }
}
