//! The kernel as a [`System`]: real time, real packets, real calls.

use super::application::Application;
use super::call::{Descriptors, Effect, Made, Stamps};
use super::calls::prepare;
use super::namespace::{Ports, from_bytes, to_bytes};
use super::{KernelOptions, calls, options};
use crate::namespace::{Namespace, Path};
use fairwind_linux as linux;
use fairwind_linux::KernelError;
use fairwind_packetdrill::{
    Advance, Call, ConnectionIndex, Icmp, Packet, Progress, Returned, Sent, Step, Stop, System,
    errno_name,
};
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The first port of peers that open connections.
const FIRST_REMOTE_PORT: u16 = 40_000;
/// A timer is rounded up to a tick of the kernel's clock, and runs out with the tick after.
const LATE_TICKS: u64 = 2;
/// How often a waiting call is looked after while time passes.
const GLANCE: Span = Span::from_micros(500);
/// How long nobody looks at most whether the run is to stop.
const STOP_GLANCE: Span = Span::from_millis(100);

/// The running kernel in a namespace of this thread's own.
#[derive(Debug)]
pub(super) struct Kernel {
    path: Path,
    folder: Option<std::path::PathBuf>,
    stop: Arc<AtomicBool>,
    namespace: Namespace,
    application: Application,
    open: Descriptors,
    /// Descriptors whose numbers in the script stand for later ones now.
    hidden: Vec<(i64, i32)>,
    /// What the waiting call does besides, and the descriptor that it should return.
    waiting: Option<(Effect, Option<i64>)>,
    returned: Option<Made>,
    /// The connections in the order in which they were met.
    connections: Vec<Ports>,
    /// The one that injected packets go to; `None` right after a socket began to listen.
    current: Option<ConnectionIndex>,
    /// The descriptor of the connection that was begun or accepted last.
    told_by: Option<i64>,
    /// The port that a SYN without a connection goes to.
    listening: Option<u16>,
    sent: VecDeque<Sent>,
    buffer: Vec<u8>,
    /// Wall clock less monotonic clock, in nanoseconds, as it was when this began.
    clock_offset: u64,
    /// How stamps of the wall clock are read.
    stamps: Stamps,
}

impl Kernel {
    /// The kernel in this thread's namespace.
    pub(super) fn start(
        namespace: Namespace,
        path: &Path,
        options: &KernelOptions,
    ) -> Result<Self, KernelError> {
        linux::prefer();
        let application = Application::start()
            .map_err(|_| KernelError::command("start the application", &"its thread has ended"))?;
        Ok(Self {
            path: path.clone(),
            folder: options.folder.clone(),
            stop: options.stop.clone(),
            namespace,
            application,
            open: Descriptors::default(),
            hidden: Vec::new(),
            waiting: None,
            returned: None,
            connections: Vec::new(),
            current: None,
            told_by: None,
            listening: None,
            sent: VecDeque::new(),
            buffer: vec![0; 1 << 16],
            clock_offset: linux::realtime() - linux::monotonic().as_nanos(),
            stamps: Stamps::default(),
        })
    }

    /// Takes every packet that has left so far; returns whether there was one of TCP.
    fn collect(&mut self) -> bool {
        // What leaves piles up at the device, too, where nobody needs it.
        while linux::read_plain(self.namespace.device.as_raw_fd(), &mut self.buffer).value > 0 {}
        let mut found = false;
        while let Some(sniffed) = linux::sniff(&self.namespace.tap, &mut self.buffer) {
            let packet = from_bytes(&self.buffer[..sniffed.bytes.min(self.buffer.len())]);
            let (true, Some((packet, ports, addresses))) = (sniffed.outgoing, packet) else {
                continue;
            };
            if addresses.reversed() != self.path.inward() {
                continue;
            }
            let at = match sniffed.stamp {
                0 => linux::monotonic(),
                stamp => Instant::from_nanos(stamp.saturating_sub(self.clock_offset)),
            };
            let connection = self.connection_of(ports);
            self.sent.push_back(Sent { connection, at, packet });
            found = true;
        }
        found
    }

    /// The index of the connection with these ports, which is a new one where there is none.
    fn connection_of(&mut self, ports: Ports) -> ConnectionIndex {
        let known = self.connections.iter().position(|known| *known == ports);
        known.unwrap_or_else(|| {
            self.connections.push(ports);
            self.current = Some(self.connections.len() - 1);
            self.connections.len() - 1
        })
    }

    /// Writes a packet to the device; `joined` is the payload of the segments that it stands for.
    fn write(&self, bytes: &[u8], joined: Option<u16>) -> Step<()> {
        let device = self.namespace.device.as_raw_fd();
        let raw = if self.path.mss.is_some() {
            let header = linux::offload_header(bytes, joined);
            linux::write_plain(device, &[&header[..], bytes].concat())
        } else {
            linux::write_plain(device, bytes)
        };
        if raw.value >= 0 {
            return Ok(());
        }
        Err(Stop::failed(format!("the device refuses: {}", errno_name(raw.errno))))
    }

    /// Notes what a call has done, and tells its value in the script's numbers.
    fn conclude(&mut self, made: Made, effect: Effect, wanted: Option<i64>) -> Step<Progress> {
        self.open.0.extend(made.descriptors);
        let mut value = made.raw.value;
        match effect {
            Effect::Opens | Effect::Accepts if made.raw.value >= 0 => {
                let live = i32::try_from(made.raw.value).unwrap_or(-1);
                let Some(number) = wanted else {
                    linux::close(live);
                    // The kernel's own number is none of the script's, which could not be followed.
                    return Err(Stop::failed("the call returned a descriptor; write which one"));
                };
                value = number;
                if let Some(old) = self.open.0.insert(value, live) {
                    self.hidden.push((value, old));
                }
                if effect == Effect::Accepts {
                    self.told_by = Some(value);
                }
            }
            Effect::Listens(descriptor) if made.raw.value >= 0 => {
                self.listening = self.local_port(descriptor);
                self.current = None;
            }
            Effect::Closes(descriptor) => {
                self.open.0.remove(&descriptor);
                let hidden = self.hidden.iter().rposition(|(number, _)| *number == descriptor);
                if let Some(place) = hidden {
                    let (number, live) = self.hidden.remove(place);
                    self.open.0.insert(number, live);
                }
            }
            _ => {}
        }
        made.handed_back?;
        let failed = made.raw.value < 0;
        let error = failed.then(|| errno_name(made.raw.errno).into());
        Ok(Progress::Returned(Returned { value, error, at: made.at }))
    }

    fn local_port(&self, descriptor: i64) -> Option<u16> {
        self.open.0.get(&descriptor).and_then(|live| linux::local_port(*live))
    }
}

/// Code without the blanks that all its lines begin with.
fn unindented(code: &str) -> String {
    let lines = || code.lines().filter(|line| !line.trim().is_empty());
    let blanks = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines().map(|line| &line[blanks..]).collect::<Vec<_>>().join("\n")
}

impl System for Kernel {
    fn now(&self) -> Instant {
        linux::monotonic()
    }

    fn lag(&self) -> Span {
        linux::tick().saturating_mul(LATE_TICKS)
    }

    fn begin(&mut self, origin: Instant, tolerance: Span) {
        self.stamps = Stamps { origin: origin.as_nanos() + self.clock_offset, tolerance };
    }

    fn pass(&mut self, limit: Instant) -> Step<Advance> {
        loop {
            if self.collect() {
                return Ok(Advance::Happened);
            }
            if self.waiting.is_some() && self.returned.is_none() {
                self.returned = self.application.ask()?;
                if self.returned.is_some() {
                    return Ok(Advance::Happened);
                }
            }
            let left = limit.saturating_since(linux::monotonic());
            if left.is_zero() {
                return Ok(Advance::Settled);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Stop::failed("stopped"));
            }
            let glance = if self.application.is_busy() { GLANCE } else { STOP_GLANCE };
            linux::wait_readable(&[&self.namespace.tap], left.min(glance));
        }
    }

    fn take_sent(&mut self) -> Option<Sent> {
        if self.sent.is_empty() {
            self.collect();
        }
        self.sent.pop_front()
    }

    fn connection_for(&mut self, packet: &Packet) -> Step<ConnectionIndex> {
        self.collect();
        let opens = packet.flags.contains(Flags::SYN) && !packet.flags.contains(Flags::ACK);
        if let Some(current) = self.current {
            return Ok(current);
        }
        match self.listening {
            Some(local) => {
                let offset = u16::try_from(self.connections.len()).unwrap_or(0);
                Ok(self.connection_of(Ports { local, remote: FIRST_REMOTE_PORT + offset }))
            }
            None if opens && !self.connections.is_empty() => Ok(self.connections.len() - 1),
            None => {
                Err(Stop::failed("there is no connection and no listening socket for this packet"))
            }
        }
    }

    fn under_test(&self) -> Option<ConnectionIndex> {
        self.current
    }

    fn inject(&mut self, connection: ConnectionIndex, packet: &Packet) -> Step<()> {
        let ports = self.connections[connection];
        let joined = self.path.mss.filter(|mss| packet.payload_bytes > u32::from(*mss));
        self.write(&to_bytes(packet, self.path.inward(), ports)?, joined)
    }

    fn connection_for_message(&mut self) -> Step<ConnectionIndex> {
        self.collect();
        self.current
            .or_else(|| self.connections.len().checked_sub(1))
            .ok_or_else(|| Stop::failed("there is no connection that the message is about"))
    }

    fn inject_message(&mut self, connection: ConnectionIndex, message: &Icmp) -> Step<()> {
        let ports = self.connections[connection];
        self.write(&calls::to_bytes(message, self.path.inward(), ports)?, None)
    }

    fn call(&mut self, call: &Call) -> Step<Progress> {
        let prepared = prepare(call, &self.open, &self.path, self.stamps)?;
        let wanted = call.returned_descriptor();
        if let Effect::Connects(descriptor) = prepared.effect {
            // Asking again how the connection gets on does not begin another one.
            if self.told_by.replace(descriptor) != Some(descriptor) {
                self.current = None;
                self.listening = None;
            }
        }
        if let Some(made) = self.application.make(prepared.job)? {
            return self.conclude(made, prepared.effect, wanted);
        }
        self.waiting = Some((prepared.effect, wanted));
        Ok(Progress::Waits)
    }

    fn waiting_call(&mut self) -> Step<Progress> {
        if self.returned.is_none() {
            self.returned = self.application.ask()?;
        }
        match (self.returned.take(), self.waiting) {
            (Some(made), Some((effect, wanted))) => {
                self.waiting = None;
                self.conclude(made, effect, wanted)
            }
            _ => Ok(Progress::Waits),
        }
    }

    fn command(&mut self, text: &str) -> Step<()> {
        let process = std::process::id();
        let told = format!("export PACKETDRILL_PID={process}\n{text}");
        let output = linux::shell(&told, self.folder.as_deref())
            .map_err(|error| Stop::failed(format!("`{text}`: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        let commands: Vec<&str> = text.lines().map(str::trim).collect();
        let what = format!("the command `{}` failed: {said}", commands.join("; "));
        // The shell's own word for a program that is not there.
        let missing = output.status.code() == Some(127);
        Err(if missing { Stop::Unsupported(what) } else { Stop::Failed(what) })
    }

    fn code(&mut self, definitions: &str, text: &str) -> Option<Step<()>> {
        let program = format!("{definitions}{}", unindented(text));
        let mut python = std::process::Command::new("python3");
        python.arg("-c").arg(program);
        if let Some(folder) = &self.folder {
            python.current_dir(folder);
        }
        let output = python.output().ok()?;
        if output.status.success() {
            return Some(Ok(()));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim().lines().last().unwrap_or("it fails").to_owned();
        Some(Err(Stop::failed(format!("code: {last}"))))
    }

    fn clean_up(&mut self, text: &str) -> Step<()> {
        self.command(text)
    }

    fn information(&mut self) -> Step<Vec<(&'static str, i64)>> {
        let Some(live) = self.told_by.and_then(|descriptor| self.open.0.get(&descriptor)) else {
            return Ok(Vec::new());
        };
        let mut structure = [0; 512];
        let (raw, length) = linux::get_option(*live, libc::SOL_TCP, libc::TCP_INFO, &mut structure);
        if raw.value < 0 {
            return Err(Stop::failed(format!("TCP_INFO: {}", errno_name(raw.errno))));
        }
        Ok([options::fields(&structure[..length]), options::memory(*live)].concat())
    }
}

impl Drop for Kernel {
    /// Closes what the script left open, so that the namespace ends, and the application with it.
    fn drop(&mut self) {
        self.open
            .0
            .extend(self.hidden.drain(..).map(|(_, live)| (i64::MIN + i64::from(live), live)));
        for live in self.open.0.values() {
            linux::shutdown(*live, libc::SHUT_RDWR);
        }
        self.application.end();
        for live in self.open.0.values() {
            linux::close(*live);
        }
    }
}
