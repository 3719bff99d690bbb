//! A run from its start to the tables: the caller's thread receives the hosts' messages, and ends everything.

use super::RunError;
use super::plans::hosts_table;
use super::programs::KernelWatch;
use fairwind_assembly::Control;
use fairwind_hosts::{FromHost, HostProcess, HostStatistics};
use fairwind_linux::{self as linux, KernelError, Poll};
use fairwind_measure::{FlowId, Lateness, Tables, senders_table};
use fairwind_recorder::{ObservationWriter, Recorder, RecorderOutput};
use fairwind_router::RouterControl;
use fairwind_units::{Instant, Span};
use std::os::fd::AsFd as _;
use std::thread::JoinHandle;

/// From the start command to the run's instant zero, so that every host hears of it before.
const HEAD_START: Span = Span::from_millis(50);
/// How long the hosts may take to report the rest, all together.
const END_LIMIT: Span = Span::from_secs(20);
/// How long a host may be silent: it normally reports every 10 ms, or every second in virtual time.
/// Reports of others wait for it in memory.
const SILENCE: Span = Span::from_secs(10);
/// The longest time without a look at the clock and the control, in intervals of reports.
pub(super) const GLANCES: u64 = 4;

/// Output of a run on the kernel.
#[derive(Debug)]
pub struct Outcome {
    /// The measures, and the table `lateness` behind them.
    pub tables: Tables,
    /// Lateness of the network.
    pub lateness: Lateness,
    /// Statistics of the hosts, by name.
    pub hosts: Vec<(String, HostStatistics)>,
    /// Missing contents of the tables, and reasons.
    pub remarks: Vec<String>,
}

/// The thread that forwards packets and reports their events.
pub(super) type ForwardingThread = JoinHandle<Result<Lateness, RunError>>;

/// A run at work.
pub(super) struct ActiveRun<'a> {
    pub(super) hosts: Hosts,
    /// Reports of the kernel's tracepoints, if it has them.
    pub(super) watch: Option<KernelWatch>,
    pub(super) router: ForwardingThread,
    pub(super) router_control: RouterControl,
    pub(super) recorder: Recorder,
    pub(super) control: &'a Control,
    /// The longest time without a look at the clock and the control.
    pub(super) glance: Span,
}

impl ActiveRun<'_> {
    /// Lets time begin, follows the run for `duration`, and gives its tables.
    pub(super) fn run(mut self, duration: Span) -> Result<Outcome, RunError> {
        let followed = self.follow(duration);
        // The router ends before the hosts: their devices end with them.
        self.router_control.stop();
        let routed = self.router.join().map_err(|_| RunError::Thread {
            what: "the router",
            reason: "it panicked, as its message above says".to_owned(),
        })?;
        // What a host has to say explains why its device is gone.
        followed?;
        let mut lateness = routed?;
        let hosts = self.hosts.end()?;
        lateness.events_missed += self.watch.map_or(Ok(0), KernelWatch::end)?;
        let RecorderOutput { mut tables, senders } = self.recorder.finish()?;
        tables.tables.push(senders_table(&senders));
        tables.tables.push(lateness.table());
        tables.tables.push(hosts_table(&hosts));
        Ok(Outcome { tables, lateness, hosts, remarks: Vec::new() })
    }

    fn follow(&mut self, duration: Span) -> Result<(), RunError> {
        let origin = linux::monotonic() + HEAD_START;
        let end = origin + duration;
        self.router_control.begin(origin);
        if let Some(watch) = &mut self.watch {
            watch.begin(origin);
        }
        self.hosts.go(origin)?;
        loop {
            let now = linux::monotonic();
            let passed = now.saturating_since(origin).as_nanos().min(duration.as_nanos());
            self.control.report(passed, duration.as_nanos());
            if now >= end {
                return Ok(());
            }
            if self.control.is_cancelled() {
                return Err(RunError::Cancelled);
            }
            self.hosts.receive(end.saturating_since(now).min(self.glance))?;
            self.hosts.check_silence()?;
            if let Some(watch) = &mut self.watch {
                watch.receive()?;
            }
            if self.router.is_finished() {
                // Either a host has ended, and says so by now, or the router says why.
                return self.hosts.receive(self.glance).map_err(RunError::from);
            }
            if self.recorder.has_failed() {
                return Ok(());
            }
        }
    }
}

/// A host at work.
struct ActiveHost {
    process: HostProcess,
    observations: ObservationWriter,
    statistics: Option<HostStatistics>,
    /// When it last said something.
    heard: Instant,
    /// The watermark of its reports, since the run's origin.
    watermark: Instant,
}

/// All hosts at work.
pub(super) struct Hosts {
    hosts: Vec<ActiveHost>,
    poll: Poll,
}

impl Hosts {
    /// These processes, which have set themselves up, with a writer for each.
    pub(super) fn new(
        processes: Vec<HostProcess>,
        journals: Vec<ObservationWriter>,
    ) -> Result<Self, KernelError> {
        let poll = Poll::new(processes.len().max(1))?;
        for (number, process) in (0..).zip(&processes) {
            poll.add(process.as_fd(), number, libc::EPOLLIN)?;
        }
        let hosts = processes.into_iter().zip(journals);
        let hosts = hosts
            .map(|(process, observations)| {
                let heard = linux::monotonic();
                ActiveHost {
                    process,
                    observations,
                    statistics: None,
                    heard,
                    watermark: Instant::ZERO,
                }
            })
            .collect();
        Ok(Self { hosts, poll })
    }

    /// Sends instant zero to all hosts.
    fn go(&mut self, origin: Instant) -> Result<(), KernelError> {
        self.hosts.iter_mut().try_for_each(|host| host.process.go(origin))
    }

    /// Records reports of hosts, and waits for them up to `limit`.
    fn receive(&mut self, limit: Span) -> Result<(), KernelError> {
        for place in 0..self.poll.wait(limit) {
            let number = self.poll.readiness(place).token;
            if let Some(host) = self.hosts.get_mut(usize::try_from(number).unwrap_or(usize::MAX)) {
                host.receive()?;
            }
        }
        Ok(())
    }

    /// Whether a host has been silent for too long.
    fn check_silence(&self) -> Result<(), KernelError> {
        let now = linux::monotonic();
        let silent = |host: &&ActiveHost| now.saturating_since(host.heard) >= SILENCE;
        self.hosts.iter().find(silent).map_or(Ok(()), |host| {
            Err(KernelError::Host {
                host: host.process.name().to_owned(),
                reason: format!(
                    "it has not reported for {SILENCE}: its process {} is stopped, or the machine is \
                     too busy",
                    host.process.process_id()
                ),
            })
        })
    }

    /// Ends all hosts, once they have reported the rest.
    fn end(mut self) -> Result<Vec<(String, HostStatistics)>, KernelError> {
        self.hosts.iter_mut().try_for_each(|host| host.process.stop())?;
        let until = linux::monotonic() + END_LIMIT;
        loop {
            let waiting = self.hosts.iter().find(|host| host.statistics.is_none());
            let Some(waiting) = waiting else { break };
            let left = until.saturating_since(linux::monotonic());
            if left.is_zero() {
                return Err(KernelError::Host {
                    host: waiting.process.name().to_owned(),
                    reason: format!("it has not reported its statistics within {END_LIMIT}"),
                });
            }
            self.receive(left)?;
        }
        let statistics = self
            .hosts
            .into_iter()
            .filter_map(|host| Some((host.process.name().to_owned(), host.statistics?)));
        Ok(statistics.collect())
    }
}

impl ActiveHost {
    fn receive(&mut self) -> Result<(), KernelError> {
        while self.statistics.is_none()
            && let Some(message) = self.process.receive()?
        {
            self.heard = linux::monotonic();
            match message {
                FromHost::Events(batch) => {
                    for event in &batch.events {
                        self.observations.on_fact(event.at, event.observation());
                    }
                    self.watermark = batch.watermark;
                    self.observations.advance(batch.watermark);
                }
                FromHost::Done(statistics) => {
                    for sender in &statistics.senders {
                        let flow = FlowId(sender.flow);
                        self.observations.on_account(self.watermark, flow, sender.counts);
                    }
                    self.observations.finish();
                    self.statistics = Some(statistics);
                }
                FromHost::Ready | FromHost::Failed(_) => {}
            }
        }
        Ok(())
    }
}
