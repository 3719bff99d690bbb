//! A live conversation: our endpoint on a TUN device, the running kernel at its other end.
//!
//! [`converse`] creates a network namespace, puts a host with our endpoint behind its TUN device, and lets a program
//! (`curl`, a kernel socket) talk to it from inside the namespace, in both directions. The network elements of
//! `fairwind-network` lose, delay, reorder and duplicate packets in between. [`Stream`] keeps the bytes.
//!
//! | module | concern |
//! |---|---|
//! | `host` | connections by their ports, their bytes, packets in and out, resets |
//! | `http` | a tiny server and client |

mod host;
mod http;

pub use host::{Application, ConnectionId, LiveHost, Stream};
pub use http::{HttpClient, HttpServer, body};

use fairwind_kernel_packetdrill::namespace::{IpVersion, Namespace, Path, in_namespace};
use fairwind_linux::{self as linux, KernelError};
use fairwind_network::{LinkSpec, Network, NodeId, Packet, Topology};
use fairwind_packetdrill::OptionLine;
use fairwind_tcp::Config;
use fairwind_units::{BitRate, Instant, Ratio, Span};
use rand::Rng;
use rand_pcg::Pcg32;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

/// A conversation's circumstances.
#[derive(Debug, Clone)]
pub struct LiveOptions {
    /// Whether IPv6 is spoken.
    pub ip: IpFamily,
    /// Behaviour of our endpoint; its segment size is fitted to the device.
    pub config: Config,
    /// The fate of a packet on the path.
    pub impairments: Impairments,
    /// Everything is given up after this time.
    pub limit: Span,
}

/// The version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpFamily {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// The addresses of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// The kernel's.
    pub kernel: IpAddr,
    /// Our host's.
    pub ours: IpAddr,
}

impl LiveOptions {
    /// A conversation without anything in its way, of at most a minute.
    pub fn new(ip: IpFamily, config: Config) -> Self {
        Self { ip, config, impairments: Impairments::default(), limit: Span::from_secs(60) }
    }

    fn path(&self) -> Result<Path, LiveError> {
        let version = match self.ip {
            IpFamily::V4 => "ipv4",
            IpFamily::V6 => "ipv6",
        };
        let line =
            OptionLine { line: 0, name: "ip_version".to_owned(), value: Some(version.to_owned()) };
        Ok(Path::new(&[line])?)
    }
}

/// Runs `program` in a fresh namespace, and `application` on a host with our endpoint. The default route
/// of the namespace leads to that host. Returns the result of `program` when both are done. The program
/// must end by itself, also if nobody answers any more.
///
/// # Errors
/// If the kernel cannot be used, or time runs out.
pub fn converse<T: Send>(
    options: &LiveOptions,
    application: &mut (dyn Application + Send),
    program: impl FnOnce(Ends) -> T + Send,
) -> Result<T, LiveError> {
    let path = options.path()?;
    let ends = Ends { kernel: path.local, ours: path.remote };
    in_namespace(&path, |namespace| {
        std::thread::scope(|scope| {
            let (done, finished) = channel();
            // A thread that starts here belongs to the namespace, and so do its children.
            let thread = scope.spawn(move || {
                let result = program(ends);
                // The driver only listens until it gives up.
                let _ = done.send(());
                result
            });
            let mut driver = Driver::new(options, &path, namespace)?;
            driver.run(application, &finished)?;
            thread.join().map_err(|_| LiveError::Conversation {
                reason: "the program at the kernel's end has failed".to_owned(),
            })
        })
    })
}

struct Driver {
    namespace: Namespace,
    impairments: PathEmulator,
    host: LiveHost,
    give_up: Instant,
    buffer: Vec<u8>,
}

impl Driver {
    fn new(options: &LiveOptions, path: &Path, namespace: Namespace) -> Result<Self, LiveError> {
        linux::prefer();
        let header_bytes = if path.version == IpVersion::V6 { 60 } else { 40 };
        let mss = path.mtu.saturating_sub(header_bytes).min(options.config.mss);
        let config = Config { mss, ..options.config.clone() };
        Ok(Self {
            namespace,
            impairments: PathEmulator::new(options.impairments)?,
            host: LiveHost::new(config, path.inward()),
            give_up: linux::monotonic() + options.limit,
            buffer: vec![0; 1 << 16],
        })
    }

    fn run(
        &mut self,
        application: &mut (dyn Application + Send),
        finished: &Receiver<()>,
    ) -> Result<(), LiveError> {
        let mut program_runs = true;
        loop {
            let now = linux::monotonic();
            application.tend(now, &mut self.host);
            self.take_from_kernel(now);
            self.deliver(now);
            self.host.on_deadline(now);
            for packet in self.host.work(now, application)? {
                self.impairments.send(now, End::Ours, packet);
            }
            self.deliver(now);
            if program_runs {
                program_runs = matches!(finished.try_recv(), Err(TryRecvError::Empty));
            }
            if !program_runs && application.is_done() {
                return Ok(());
            }
            if now > self.give_up {
                return Err(LiveError::Conversation {
                    reason: "the conversation has not ended in time".to_owned(),
                });
            }
            self.wait();
        }
    }

    fn take_from_kernel(&mut self, now: Instant) {
        let device = self.namespace.device.as_raw_fd();
        while let Ok(bytes) = usize::try_from(linux::read_plain(device, &mut self.buffer).value)
            && bytes > 0
        {
            self.impairments.send(now, End::Kernel, self.buffer[..bytes].to_vec());
        }
    }

    /// Hands over what has arrived at either end.
    fn deliver(&mut self, now: Instant) {
        while let Some((end, bytes)) = self.impairments.arrival(now) {
            match end {
                End::Ours => self.host.on_packet(now, &bytes),
                // A device that is not up refuses: the packet is lost, as packets may be.
                End::Kernel => {
                    linux::write_plain(self.namespace.device.as_raw_fd(), &bytes);
                }
            }
        }
    }

    /// Waits for the kernel, the way or a deadline, but not long: the program may end.
    fn wait(&self) {
        const GLANCE: Span = Span::from_millis(10);
        let due = self.impairments.next_event().min(self.host.next_deadline());
        let left = due.saturating_since(linux::monotonic()).min(GLANCE);
        linux::wait_readable(&[&self.namespace.device], left);
    }
}

/// Impairments of the path, in each direction. The default has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Impairments {
    /// Rate; `None` takes no time.
    pub rate: Option<BitRate>,
    /// One-way delay.
    pub delay: Span,
    /// Share of packets that are lost.
    pub loss: Ratio,
    /// Share of packets that take the longer way.
    pub reordering: Ratio,
    /// How much longer that is.
    pub detour: Span,
    /// Share of packets that arrive twice.
    pub duplication: Ratio,
    /// The random seed.
    pub seed: u64,
}

/// Bytes on their way.
#[derive(Debug)]
struct IpPacket {
    destination: NodeId,
    bytes: Vec<u8>,
}

impl Packet for IpPacket {
    fn wire_bytes(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    fn destination(&self) -> NodeId {
        self.destination
    }
}

/// Which end of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Kernel,
    Ours,
}

/// The way at work.
struct PathEmulator {
    spec: Impairments,
    network: Network<IpPacket>,
    /// The nodes at the kernel's and at our end: the straight way's, and the longer one's.
    kernel: [NodeId; 2],
    ours: [NodeId; 2],
    chance: Pcg32,
}

impl PathEmulator {
    fn new(spec: Impairments) -> Result<Self, LiveError> {
        let mut topology = Topology::new();
        let mut pair = |name: &str| {
            [topology.add_host(name), topology.add_host(format!("{name}, the long way"))]
        };
        let (kernel, ours) = (pair("kernel"), pair("ours"));
        for way in 0..2 {
            let delay = if way == 0 { spec.delay } else { spec.delay + spec.detour };
            let link = LinkSpec { rate: spec.rate, delay, loss: spec.loss, ..LinkSpec::default() };
            topology.add_link(kernel[way], ours[way], link.clone());
            topology.add_link(ours[way], kernel[way], link);
        }
        let network = topology
            .build(spec.seed)
            .map_err(|error| LiveError::Conversation { reason: error.to_string() })?;
        Ok(Self { spec, network, kernel, ours, chance: Pcg32::new(spec.seed, 17) })
    }

    /// Sends a packet from one end to the other.
    fn send(&mut self, now: Instant, from: End, bytes: Vec<u8>) {
        let way = usize::from(self.happens(self.spec.reordering));
        let (source, destination) = match from {
            End::Kernel => (self.kernel[way], self.ours[way]),
            End::Ours => (self.ours[way], self.kernel[way]),
        };
        if self.happens(self.spec.duplication) {
            let twin = IpPacket { destination, bytes: bytes.clone() };
            self.network.inject(now, source, twin, &mut ());
        }
        self.network.inject(now, source, IpPacket { destination, bytes }, &mut ());
    }

    fn happens(&mut self, share: Ratio) -> bool {
        share != Ratio::ZERO && share.happens(self.chance.next_u32())
    }

    /// When there is something to do next.
    fn next_event(&self) -> Instant {
        self.network.next_event().unwrap_or(Instant::MAX)
    }

    /// The next packet that has arrived by `now`, and where.
    fn arrival(&mut self, now: Instant) -> Option<(End, Vec<u8>)> {
        self.network.advance_to(now, &mut ());
        let packet = self.network.poll_delivery()?.packet;
        let end = if self.ours.contains(&packet.destination) { End::Ours } else { End::Kernel };
        Some((end, packet.bytes))
    }
}

/// An error of a live conversation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The kernel cannot be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Our endpoint has sent a segment that cannot become a packet.
    #[error("{segment}: {reason}")]
    Segment {
        /// The segment.
        segment: String,
        /// The fault.
        reason: String,
    },
    /// The conversation did not come to its end.
    #[error("{reason}")]
    Conversation {
        /// Why.
        reason: String,
    },
}
