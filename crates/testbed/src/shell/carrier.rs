//! Carries packets between the two devices, through the network, in real time.

use super::commands::problem;
use super::session::ShellPlan;
use crate::{TestbedError, sys};
use fairwind_assembly::{Assembly, Labelled, PacketLabel};
use fairwind_measure::{Direction, FlowId};
use fairwind_network::{Network, NodeId, Packet};
use fairwind_units::{Instant, Span};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The two devices.
pub(super) struct Ports {
    pub(super) outside: OwnedFd,
    pub(super) inside: OwnedFd,
}

struct Carried {
    to: NodeId,
    bytes: Vec<u8>,
}

impl Packet for Carried {
    fn wire_bytes(&self) -> u32 {
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    fn destination(&self) -> NodeId {
        self.to
    }
}

impl Labelled for Carried {
    fn label(&self) -> PacketLabel {
        PacketLabel { flow: FlowId(0), direction: Direction::Forward, payload_bytes: 0 }
    }
}

/// The thread at work.
pub(super) struct Carrier {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

impl Carrier {
    pub(super) fn start(
        plan: &ShellPlan,
        ports: Ports,
        _watcher: UnixStream,
    ) -> Result<Self, TestbedError> {
        let assembly = Assembly::<Carried>::new(&plan.experiment, plan.seed, |_| true)
            .map_err(|error| problem(error.to_string()))?;
        let flow = assembly.flows.first().ok_or_else(|| problem("the scenario has no flows"))?;
        let (program, outside) = (flow.sender_node, flow.receiver_node);
        let stop = Arc::new(AtomicBool::new(false));
        let mut work = Work {
            network: assembly.network,
            devices: [ports.inside, ports.outside],
            nodes: [program, outside],
            origin: sys::monotonic(),
            buffer: vec![0; 1 << 16],
        };
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            sys::prefer();
            while !stopped.load(Ordering::Relaxed) {
                work.turn();
            }
        });
        Ok(Self { thread, stop })
    }

    pub(super) fn stop(self) -> Result<(), TestbedError> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| problem("the router has broken one of its own rules"))
    }
}

struct Work {
    network: Network<Carried>,
    devices: [OwnedFd; 2],
    nodes: [NodeId; 2],
    origin: Instant,
    buffer: Vec<u8>,
}

impl Work {
    fn now(&self) -> Instant {
        Instant::ZERO + sys::monotonic().saturating_since(self.origin)
    }

    fn turn(&mut self) {
        let due = self.network.next_event().unwrap_or(Instant::MAX);
        let left = due.saturating_since(self.now()).min(Span::from_millis(10));
        sys::wait_readable(&[&self.devices[0], &self.devices[1]], left);
        for (from, to) in [(0, 1), (1, 0)] {
            let device = self.devices[from].as_raw_fd();
            while let Ok(length) = usize::try_from(sys::read_plain(device, &mut self.buffer).value)
            {
                let packet = Carried { to: self.nodes[to], bytes: self.buffer[..length].to_vec() };
                self.network.inject(self.now(), self.nodes[from], packet, &mut ());
            }
        }
        self.network.advance_to(self.now(), &mut ());
        while let Some(delivery) = self.network.poll_delivery() {
            let place = usize::from(delivery.node == self.nodes[1]);
            sys::write_plain(self.devices[place].as_raw_fd(), &delivery.packet.bytes);
        }
    }
}
