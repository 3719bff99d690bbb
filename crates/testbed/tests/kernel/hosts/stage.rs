//! Two hosts, and a loop that forwards packets between them.

use fairwind_hosts::{
    EventKind, FromHost, HostCommand, HostEvent, HostPlan, HostProcess, HostStatistics,
    IncomingPlan, OutgoingPlan, PROTOCOL_VERSION, PayloadCheck, Sampling, SocketSettings,
};
use fairwind_linux::KernelError;
use fairwind_linux::monotonic;
use fairwind_units::{ByteCount, Instant, Span};
use fairwind_workload::Application;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// How long a host may take to be set up.
pub(crate) const SET_UP: Span = Span::from_secs(20);
const RECEIVER_PORT: u16 = 60_000;
const FIRST_SENDER_PORT: u16 = 49_152;

/// Names another host program than the one that was compiled with these tests.
pub(crate) const HOST_PROGRAM: &str = "FAIRWIND_HOST_PROGRAM";

pub(crate) fn command() -> HostCommand {
    let program = std::env::var_os(HOST_PROGRAM)
        .map_or_else(|| env!("CARGO_BIN_EXE_fairwind-host").into(), Into::into);
    HostCommand { program, arguments: Vec::new() }
}

/// A host without connections; the first is called 1.
pub(crate) fn plan(number: u8) -> HostPlan {
    HostPlan {
        version: PROTOCOL_VERSION,
        name: format!("host{number}"),
        namespace: None,
        control_group: None,
        addresses: vec![address(number)],
        mtu: ByteCount::new(1500),
        sysctls: Vec::new(),
        route_attributes: Vec::new(),
        device_attributes: Vec::new(),
        veth: None,
        outgoing: Vec::new(),
        incoming: Vec::new(),
        outgoing_datagrams: Vec::new(),
        incoming_datagrams: Vec::new(),
        sampling: Sampling::default(),
        report_interval: Span::from_millis(10),
        is_time_virtual: false,
        payload: PayloadCheck::Pattern,
    }
}

pub(crate) fn address(number: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, number).into()
}

/// Plans of a sender and a receiver of these applications, which begin at once.
pub(crate) fn pair(applications: Vec<Application>) -> (HostPlan, HostPlan) {
    pair_of(plan(1), plan(2), applications)
}

/// The same between hosts with addresses of their own.
pub(crate) fn pair_of(
    mut sender: HostPlan,
    mut receiver: HostPlan,
    applications: Vec<Application>,
) -> (HostPlan, HostPlan) {
    let remote = SocketAddr::new(receiver.addresses[0], RECEIVER_PORT);
    for (index, application) in applications.into_iter().enumerate() {
        let flow = u32::try_from(index).expect("few");
        let port = FIRST_SENDER_PORT + u16::try_from(index).expect("few");
        let local = SocketAddr::new(sender.addresses[0], port);
        let socket = SocketSettings::default();
        sender.outgoing.push(OutgoingPlan {
            flow,
            local,
            remote,
            socket: socket.clone(),
            application,
            start: Instant::ZERO,
            stop: Instant::MAX,
            reads: None,
            relays: None,
            carried_by: Vec::new(),
            next: None,
        });
        receiver.incoming.push(IncomingPlan {
            flow,
            local: remote,
            remote: local,
            socket,
            answer: None,
        });
    }
    (sender, receiver)
}

/// A TUN device that is read and written, waiting.
fn waiting(device: OwnedFd) -> File {
    // Any descriptor's waiting is switched as a socket's is.
    let device = UnixDatagram::from(device);
    device.set_nonblocking(false).expect("waits");
    File::from(OwnedFd::from(device))
}

/// Carries what comes out of one device into the other, for as long as the process lives.
fn carry(from: &File, to: &File, keep: fn(&[u8]) -> bool) {
    let (mut from, mut to) = (from.try_clone().expect("a copy"), to.try_clone().expect("a copy"));
    std::thread::spawn(move || {
        let mut packet = vec![0; 1 << 16];
        while let Ok(bytes) = from.read(&mut packet) {
            if keep(&packet[..bytes]) {
                let _ = to.write(&packet[..bytes]);
            }
        }
    });
}

/// All reports of a host.
#[derive(Debug, Default)]
pub(crate) struct HostReport {
    pub(crate) events: Vec<HostEvent>,
    pub(crate) statistics: Option<HostStatistics>,
}

impl HostReport {
    /// The last event of this kind of a flow.
    pub(crate) fn last<T>(&self, flow: u32, wanted: impl Fn(EventKind) -> Option<T>) -> Option<T> {
        self.events.iter().rev().filter(|event| event.flow == flow).find_map(|e| wanted(e.kind))
    }

    /// Number of events of this kind.
    pub(crate) fn count(&self, wanted: impl Fn(EventKind) -> bool) -> usize {
        self.events.iter().filter(|event| wanted(event.kind)).count()
    }

    pub(crate) fn written(&self, flow: u32) -> Option<u64> {
        self.last(flow, |kind| if let EventKind::Written(end) = kind { Some(end) } else { None })
    }

    pub(crate) fn read(&self, flow: u32) -> Option<u64> {
        self.last(flow, |kind| if let EventKind::Read(end) = kind { Some(end) } else { None })
    }
}

/// Two hosts at work.
pub(crate) struct Stage {
    pub(crate) hosts: [HostProcess; 2],
    pub(crate) accounts: [HostReport; 2],
    watermarks: [Instant; 2],
}

impl Stage {
    /// Sets two hosts up and lets them begin; `keep` says which packets are carried.
    pub(crate) fn begin(
        (one, other): &(HostPlan, HostPlan),
        keep: fn(&[u8]) -> bool,
    ) -> Result<Self, KernelError> {
        let command = command();
        let mut hosts = [HostProcess::start(&command, one)?, HostProcess::start(&command, other)?];
        let [first, second] = &mut hosts;
        let one = waiting(first.wait_ready(SET_UP)?);
        let other = waiting(second.wait_ready(SET_UP)?);
        carry(&one, &other, keep);
        carry(&other, &one, keep);
        let origin = monotonic();
        for host in &mut hosts {
            host.go(origin)?;
        }
        Ok(Self { hosts, accounts: Default::default(), watermarks: [Instant::ZERO; 2] })
    }

    /// Listens until `enough`, at most for so many seconds. Whether it was enough.
    pub(crate) fn listen(
        &mut self,
        seconds: u64,
        enough: impl Fn(&[HostReport; 2]) -> bool,
    ) -> Result<bool, KernelError> {
        let until = monotonic() + Span::from_secs(seconds);
        while !enough(&self.accounts) {
            if monotonic() > until {
                return Ok(false);
            }
            self.hear()?;
            pause();
        }
        Ok(true)
    }

    /// Receives reports of the hosts.
    fn hear(&mut self) -> Result<(), KernelError> {
        for (place, host) in self.hosts.iter_mut().enumerate() {
            while let Some(message) = host.receive()? {
                match message {
                    FromHost::Events(batch) => {
                        let begin = &mut self.watermarks[place];
                        for event in &batch.events {
                            assert!(event.at >= *begin, "{event:?} is older than {begin}");
                            *begin = event.at;
                        }
                        assert!(batch.watermark >= *begin, "an event of the future");
                        *begin = batch.watermark;
                        self.accounts[place].events.extend(batch.events);
                    }
                    FromHost::Done(statistics) => {
                        self.accounts[place].statistics = Some(statistics);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        Ok(())
    }

    /// Stops both and receives their last reports.
    pub(crate) fn end(mut self) -> Result<[HostReport; 2], KernelError> {
        for host in &mut self.hosts {
            host.stop()?;
        }
        let all_told = |accounts: &[HostReport; 2]| {
            accounts.iter().all(|account| account.statistics.is_some())
        };
        assert!(self.listen(20, all_told)?, "the hosts have not ended in time");
        Ok(self.accounts)
    }
}

/// A few milliseconds for the others.
#[expect(clippy::disallowed_methods, reason = "the hosts live in real time")]
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}
