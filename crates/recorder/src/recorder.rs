//! Recorder thread: measures and captures the reports of observers.

use super::merge::Merge;
use super::observations::{
    Batch, Dispatch, Entry, FirstEnd, NewFlow, ObservationPoint, ObservationWriter, PacketSeen,
    RecordedEvent, UsedBatches,
};
use fairwind_assembly::{CaptureWriters, LiveView};
use fairwind_capture::{CaptureError, InterfaceId};
use fairwind_linux as linux;
use fairwind_measure::{
    Collector, Direction, FlowDescription, FlowId, Observation, SenderCounts, SenderRow, Settings,
    Tables,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SequenceNumber};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread::JoinHandle;

/// Batches of all observers that may wait. Each has at most some thousand entries and some hundred
/// kilobytes of captured packets, so this is at most about a gigabyte.
const MOST_WAITING: usize = 2048;

/// Largest memory of entries that wait for the observer that is furthest behind, in bytes.
const MOST_HELD: usize = 1 << 30;

/// How long the recorder sleeps when nothing is there. It does not wait to be woken: waking takes a
/// lock that the recorder may hold while it gives way to others, and the router would wait for it.
fn nap(interval: Span) -> Span {
    interval * 2 / 5
}

/// Parts of a [`Recorder`].
pub struct RecorderParts {
    /// The collector of measures.
    pub settings: Settings,
    /// Where packets of captured flows go.
    pub captures: CaptureWriters,
    /// Bytes of each packet to keep, by flow, where something is captured.
    pub snap: Vec<usize>,
    /// How often observers hand over what they have; [`REPORT_INTERVAL`](crate::REPORT_INTERVAL) in real time.
    pub interval: Span,
    /// Where counts go while somebody watches.
    pub live: Arc<LiveView>,
}

/// Output of a recorder.
#[derive(Debug)]
pub struct RecorderOutput {
    /// The measured tables.
    pub tables: Tables,
    /// What limited each reported sender, by flow.
    pub senders: Vec<SenderRow>,
}

/// Why a record is not whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecorderError {
    /// A capture could not be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// An observer is too far behind the others; their entries wait in memory.
    #[error(
        "{observer} is {behind} behind in its reports, and the reports of the others take {held_mib} MiB of memory: \
         the machine is too slow for so many packets, or too busy; take a lower rate, fewer hosts, or capture less"
    )]
    Behind {
        /// The observer.
        observer: String,
        /// How far.
        behind: Span,
        /// Mebibytes that wait.
        held_mib: usize,
    },
    /// The thread has failed.
    #[error("{0}")]
    Thread(String),
}

/// A thread at work.
pub struct Recorder {
    thread: JoinHandle<Result<RecorderOutput, RecorderError>>,
    failed: Arc<AtomicBool>,
    /// When counting stops, in nanoseconds.
    end: Arc<AtomicU64>,
}

impl Recorder {
    /// Starts to record what is written into the journals that come back: the router's, and one for
    /// each of the `others`, of whom it needs the names.
    pub fn start(
        parts: RecorderParts,
        others: &[String],
    ) -> std::io::Result<(Self, ObservationWriter, Vec<ObservationWriter>)> {
        Self::start_with_room(parts, others, MOST_HELD)
    }

    fn start_with_room(
        parts: RecorderParts,
        others: &[String],
        most_held: usize,
    ) -> std::io::Result<(Self, ObservationWriter, Vec<ObservationWriter>)> {
        let (output, input) = sync_channel(MOST_WAITING);
        let mut used = Vec::with_capacity(1 + others.len());
        let mut observations = |source| {
            let batches = UsedBatches::default();
            used.push(batches.clone());
            ObservationWriter::new(
                source,
                output.clone(),
                batches,
                parts.snap.clone(),
                parts.interval,
            )
        };
        let router = observations(0);
        let journals = (1..=others.len()).map(observations).collect();
        drop(output);
        let failed = Arc::new(AtomicBool::new(false));
        let recording = Recording {
            collector: Collector::new(&parts.settings),
            captures: Captures { writers: parts.captures, error: None },
            accounts: Vec::new(),
            first_syn: vec![None; parts.settings.flows.len()],
            first: parts.settings.flows.iter().map(first_end).collect(),
            failed: failed.clone(),
            observers: std::iter::once("the router".to_owned()).chain(others.to_vec()).collect(),
            most_held,
            nap: nap(parts.interval),
            live: parts.live,
        };
        let end = Arc::new(AtomicU64::new(parts.settings.end.as_nanos()));
        let last = end.clone();
        let thread = std::thread::Builder::new()
            .name("fairwind-record".to_owned())
            .spawn(move || recording.run(&input, &used, &last))?;
        Ok((Self { thread, failed, end }, router, journals))
    }

    /// Lets the measurement end at `end`, unless it ends earlier by itself; to be said before the
    /// last writer is finished.
    pub fn end_at(&self, end: Instant) {
        self.end.fetch_min(end.as_nanos(), Ordering::Relaxed);
    }

    /// Whether a capture could not be written, or the thread is gone before its time, so that going
    /// on makes no sense.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.thread.is_finished()
    }

    /// Waits until all reports are recorded; all writers must be finished.
    pub fn finish(self) -> Result<RecorderOutput, RecorderError> {
        self.thread.join().unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(RecorderError::Thread(text.unwrap_or_else(|| "no reason was given".to_owned())))
        })
    }
}

/// The sender of an answering flow is the receiver of the answered one.
fn first_end(flow: &FlowDescription) -> FirstEnd {
    if flow.answers.is_none() { FirstEnd::Sender } else { FirstEnd::Receiver }
}

struct Recording {
    collector: Collector,
    captures: Captures,
    /// Reports of senders that are done.
    accounts: Vec<(FlowId, SenderCounts)>,
    /// Sequence number of the first SYN by flow.
    first_syn: Vec<Option<SequenceNumber>>,
    /// Where its data comes from, by flow.
    first: Vec<FirstEnd>,
    failed: Arc<AtomicBool>,
    observers: Vec<String>,
    most_held: usize,
    nap: Span,
    live: Arc<LiveView>,
}

impl Recording {
    fn run(
        mut self,
        input: &Receiver<Dispatch>,
        used: &[UsedBatches],
        end: &AtomicU64,
    ) -> Result<RecorderOutput, RecorderError> {
        linux::give_way();
        let mut merge = Merge::new(used.len());
        while !merge.is_finished() {
            if self.live.is_wanted() {
                self.live.count(&self.collector, merge.complete_until());
            }
            match input.try_recv() {
                Ok(dispatch) => merge.add(dispatch),
                Err(TryRecvError::Empty) => {
                    linux::wait_readable(&[], self.nap);
                    continue;
                }
                // Observers that ended without a last batch have nothing more to report.
                Err(TryRecvError::Disconnected) => break,
            }
            merge.give_out(
                |batch, entry| self.record(batch, entry),
                |source, batch| used[source].give_back(batch),
            );
            if self.captures.error.is_some() {
                self.failed.store(true, Ordering::Relaxed);
            }
            if merge.held_bytes() > self.most_held {
                return Err(self.behind(&merge));
            }
        }
        self.captures.finish()?;
        let end = Instant::from_nanos(end.load(Ordering::Relaxed));
        let account = |(flow, counts)| self.collector.sender_row(flow, end, counts);
        let mut senders: Vec<SenderRow> = self.accounts.into_iter().filter_map(account).collect();
        senders.sort_by_key(SenderRow::flow);
        Ok(RecorderOutput { tables: self.collector.finish(end), senders })
    }

    #[cold]
    fn behind(&self, merge: &Merge) -> RecorderError {
        let (place, behind) = merge.hindmost();
        let observer = self.observers[place].clone();
        RecorderError::Behind { observer, behind, held_mib: merge.held_bytes() >> 20 }
    }

    #[inline]
    fn record(&mut self, batch: &Batch, entry: &Entry) {
        match &entry.event {
            RecordedEvent::Packet(seen) => self.record_packet(entry.at, batch, seen),
            RecordedEvent::Flow(flow) => self.add_flow(flow),
            RecordedEvent::Account(flow, counts) => self.accounts.push((*flow, *counts)),
            RecordedEvent::Observed(observation) => self.collector.observe(entry.at, *observation),
        }
    }

    #[cold]
    fn add_flow(&mut self, flow: &NewFlow) {
        let added = self.collector.add_flow(flow.description.clone());
        added.expect("a new flow names an existing group and existing flows");
        self.first_syn.push(None);
        self.first.push(flow.first);
    }

    fn record_packet(&mut self, at: Instant, batch: &Batch, seen: &PacketSeen) {
        let segment = &batch.segments[seen.segment];
        let PacketSeen { flow, direction, wire_bytes, .. } = *seen;
        match seen.point {
            ObservationPoint::Departure => {
                let sent = Observation::Sent { flow, direction, segment, wire_bytes };
                self.collector.observe(at, sent);
                if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) {
                    self.on_syn(at, seen, segment.sequence);
                }
            }
            ObservationPoint::Arrival => {
                let received = Observation::Received { flow, direction, segment, wire_bytes };
                self.collector.observe(at, received);
            }
        }
        if !seen.captured.is_empty() {
            let first = self.first[seen.flow.index()];
            self.captures.write(at, seen, first, &batch.bytes[seen.captured.clone()]);
        }
    }

    /// A SYN with the number of the one before it is that one again.
    #[cold]
    fn on_syn(&mut self, at: Instant, seen: &PacketSeen, sequence: SequenceNumber) {
        let first = &mut self.first_syn[seen.flow.index()];
        if *first == Some(sequence) {
            self.collector.observe(at, Observation::SynRetry { flow: seen.flow });
        }
        *first = Some(sequence);
    }
}

/// Capture files, and the first error that there was with them.
struct Captures {
    writers: CaptureWriters,
    error: Option<CaptureError>,
}

impl Captures {
    fn write(&mut self, at: Instant, seen: &PacketSeen, first: FirstEnd, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        // Data departs from the sender's side, and ACKs arrive there.
        let departs = seen.point == ObservationPoint::Departure;
        let at_data_sender = departs == (seen.direction == Direction::Forward);
        let at_sender = at_data_sender == (first == FirstEnd::Sender);
        let writer = if at_sender { &mut self.writers.sender } else { &mut self.writers.receiver };
        if let Some(writer) = writer {
            self.error = writer.write_packet(at, InterfaceId(0), bytes, seen.wire_bytes).err();
        }
    }

    fn finish(self) -> Result<(), RecorderError> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        Ok(self.writers.finish()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::REPORT_INTERVAL;
    use fairwind_measure::{ObservationPoints, Values, senders_table};

    #[test]
    fn panicked_thread_counts_as_failed() {
        let nothing = Settings::default();
        let parts = RecorderParts {
            settings: nothing,
            captures: CaptureWriters::default(),
            snap: Vec::new(),
            interval: REPORT_INTERVAL,
            live: Arc::default(),
        };
        let (recorder, mut observations, _) = Recorder::start(parts, &[]).expect("a thread");
        assert!(!recorder.has_failed());
        let nowhere = FlowDescription {
            group: 7,
            name: "lost".to_owned(),
            start: Instant::ZERO,
            answers: None,
            seen_at: ObservationPoints::EVERYWHERE,
        };
        let flow = NewFlow { description: nowhere, first: FirstEnd::Sender };
        observations.on_flow(Instant::ZERO, FlowId(0), flow, 0);
        observations.advance(Instant::from_secs(1));
        // The writer is not finished: without a panic the thread would wait for more.
        for _ in 0..10_000 {
            if recorder.has_failed() {
                break;
            }
            linux::wait_readable(&[], nap(REPORT_INTERVAL));
        }
        assert!(recorder.has_failed());
        let error = recorder.finish().expect_err("nothing was measured").to_string();
        assert!(error.contains("names an existing group"), "{error}");
    }

    #[test]
    fn sender_counts_are_ordered_by_flow() {
        let flow = |name: &str, start| FlowDescription {
            group: 0,
            name: name.to_owned(),
            start,
            answers: None,
            seen_at: ObservationPoints::EVERYWHERE,
        };
        let settings = Settings {
            end: Instant::from_secs(9),
            groups: vec!["all".to_owned()],
            flows: vec![flow("early", Instant::ZERO), flow("late", Instant::from_secs(2))],
            ..Settings::default()
        };
        let parts = RecorderParts {
            settings,
            captures: CaptureWriters::default(),
            snap: Vec::new(),
            interval: REPORT_INTERVAL,
            live: Arc::default(),
        };
        let (recorder, mut observations, _) = Recorder::start(parts, &[]).expect("a thread");
        let busy =
            |seconds| SenderCounts { busy: Span::from_secs(seconds), ..SenderCounts::default() };
        for (flow, seconds) in [(1, 3), (0, 8)] {
            observations.on_account(Instant::from_secs(9), FlowId(flow), busy(seconds));
        }
        observations.finish();
        let table = senders_table(&recorder.finish().expect("a record").senders);
        let column = |name: &str| match table.column(name).expect("a column") {
            Values::F64(values) => values.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!((column("open_s"), column("busy_s")), (vec![9.0, 7.0], vec![8.0, 3.0]));
    }

    #[test]
    fn counts_come_when_asked_for() {
        let live = Arc::new(LiveView::default());
        let flow = FlowDescription {
            group: 0,
            name: "one".to_owned(),
            start: Instant::ZERO,
            answers: None,
            seen_at: ObservationPoints::EVERYWHERE,
        };
        let settings = Settings {
            end: Instant::from_secs(9),
            groups: vec!["all".to_owned()],
            flows: vec![flow],
            ..Settings::default()
        };
        let parts = RecorderParts {
            settings,
            captures: CaptureWriters::default(),
            snap: Vec::new(),
            interval: REPORT_INTERVAL,
            live: live.clone(),
        };
        let (recorder, mut observations, _) = Recorder::start(parts, &[]).expect("a thread");
        let read = Observation::Read { flow: FlowId(0), end_offset: 700 };
        observations.on_fact(Instant::from_secs(1), read);
        observations.advance(Instant::from_secs(2));
        let seen = (0..10_000).find_map(|_| {
            linux::wait_readable(&[], nap(REPORT_INTERVAL));
            live.take().filter(|counts| counts.contains("\"payload_bytes_read\":700"))
        });
        let seen = seen.expect("counts of what was read");
        assert!(seen.contains("\"time_s\":2.0"), "{seen}");
        observations.finish();
        recorder.finish().expect("a record");
    }

    #[test]
    fn silent_observer_is_named_when_memory_runs_out() {
        let parts = RecorderParts {
            settings: Settings::default(),
            captures: CaptureWriters::default(),
            snap: Vec::new(),
            interval: REPORT_INTERVAL,
            live: Arc::default(),
        };
        let others = ["host a".to_owned(), "host b".to_owned()];
        let (recorder, mut router, mut hosts) =
            Recorder::start_with_room(parts, &others, 1000).expect("a thread");
        hosts[0].advance(Instant::from_secs(3));
        hosts[1].advance(Instant::from_secs(1));
        // Each of them takes more than ten bytes.
        for _ in 0..100 {
            let timeout = Observation::Timeout { flow: FlowId(0) };
            router.on_fact(Instant::from_secs(2), timeout);
        }
        router.advance(Instant::from_secs(2));
        let error = recorder.finish().expect_err("nobody waits any longer").to_string();
        assert!(error.starts_with("host b is 1 s behind in its reports"), "{error}");
    }
}
