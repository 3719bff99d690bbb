//! The loop that drives a host in real time.

use super::LiveError;
use super::host::{Application, LiveHost};
use super::path::{End, Impairments, PathEmulator};
use fairwind_kernel_packetdrill::namespace::{Namespace, in_namespace};
use fairwind_kernel_packetdrill::path::{IpVersion, Path};
use fairwind_linux as linux;
use fairwind_packetdrill::OptionLine;
use fairwind_tcp::Config;
use fairwind_units::{Instant, Span};
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
    /// What happens to packets on the way.
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

/// Lets `program` run in a fresh namespace whose default route leads to a host that speaks with our
/// endpoint and runs `application`, until both are done; gives what the program gives. The program
/// has to end by itself, also where nobody answers it any more.
///
/// # Errors
/// Where the kernel cannot be used, or time runs out.
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
