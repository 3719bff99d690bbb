//! Our endpoint as the system under test, in virtual time.

use super::commands::{self, Change, Scope};
use super::host::{self, FastOpenCache, Host};
use super::settings::{Files, RunOptions, Settings};
use super::sockets::{self, Request, Sockets};
use super::system::{Advance, ConnectionIndex, Progress, Returned, Sent, System};
use super::{tcp_info, translation};
use crate::outcome::{Step, Stop};
use crate::script::{Call, Icmp, Packet};
use fairwind_tcp::Profile;
use fairwind_units::{Instant, Span};
use fairwind_wire::{Flags, SequenceNumber};

/// Start time of scripts, late enough that no time in an endpoint is zero.
const SCRIPT_START: Instant = Instant::from_secs(100);

/// Index of packets that belong to no connection.
const NO_CONNECTION: ConnectionIndex = ConnectionIndex::MAX;

/// A host with our endpoint and its sockets.
#[derive(Debug)]
pub(super) struct Simulated {
    host: Host,
    sockets: Sockets,
    profile: Profile,
    settings: Settings,
    files: Files,
    /// Our initial sequence number.
    initial: u32,
    /// ICMP messages about data that is not outstanding.
    missed_messages: u64,
    /// Counters at the last output.
    shown: [u64; commands::COUNTERS.len()],
    /// The blocking call, and its timeout.
    waiting: Option<(Request, Instant)>,
}

impl Simulated {
    pub(super) fn new(settings: &Settings, options: &RunOptions) -> Self {
        let config = settings.adapt(options.profile.system_config());
        Self {
            host: Host::new(SCRIPT_START, options.initial_sequence, settings.addresses()),
            sockets: Sockets::new(config, options.profile, settings.sockets_of_v6),
            profile: options.profile,
            settings: settings.clone(),
            files: options.files.clone(),
            initial: options.initial_sequence.get(),
            missed_messages: 0,
            shown: [0; commands::COUNTERS.len()],
            waiting: None,
        }
    }

    /// Tries a call, and keeps it where it waits.
    fn attempt(&mut self, mut request: Request) -> Step<Progress> {
        match self.sockets.attempt(&mut request, &mut self.host)? {
            sockets::CallProgress::Returns(returned) => Ok(Progress::Returned(Returned {
                value: returned.value,
                error: returned.error.map(Into::into),
                at: self.host.now,
            })),
            sockets::CallProgress::Waits { until } => {
                self.waiting = Some((request, until));
                Ok(Progress::Waits)
            }
        }
    }

    fn change(&mut self, change: &Change) -> Step<()> {
        if let Change::Sleep(time) = change {
            let until = self.host.now + *time;
            while self.pass(until)? == Advance::Happened {}
            return Ok(());
        }
        if let Change::Inspect(pipeline) = change {
            return commands::inspect(pipeline, &self.view(), &mut self.shown);
        }
        if *change == Change::ForgetPeers {
            self.host.remembered = FastOpenCache::default();
        }
        let (profile, settings) = (self.profile, &self.settings);
        let scope = change.scope();
        let apply = |config: &mut _| commands::apply(change, config, profile, settings);
        self.sockets.reconfigure(scope, apply)?;
        if scope == Scope::Everything { self.host.reconfigure(apply) } else { Ok(()) }
    }

    /// The counters and sockets for inspection commands.
    fn view(&self) -> commands::View {
        let connections = self.host.endpoints.iter().filter(|endpoint| !endpoint.is_closed());
        let open = connections.map(|endpoint| {
            let state = tcp_info::state_number(endpoint.connection.state());
            (state, host::PORTS.local, host::PORTS.remote)
        });
        let listener = self.sockets.listener().map(|_| (tcp_info::LISTENING, host::PORTS.local, 0));
        let mut counters = [self.missed_messages, 0, 0, 0];
        for endpoint in &self.host.endpoints {
            let refused = endpoint.connection.refused_segments();
            let kinds = [refused.beyond_window, refused.closed_window, refused.no_memory];
            for (counter, kind) in counters[1..].iter_mut().zip(kinds) {
                *counter += u64::from(kind);
            }
        }
        commands::View { counters, sockets: open.chain(listener).collect() }
    }

    /// Whether a message is about data that the connection has sent and that is not acknowledged.
    fn is_in_window(&self, connection: ConnectionIndex, quoted: u32) -> bool {
        let connection = &self.host.endpoints[connection].connection;
        let acknowledged = connection.acknowledged_bytes();
        let first = if acknowledged == 0 { 0 } else { acknowledged + 1 };
        // Includes the SYN before the bytes and a FIN after them.
        let end = acknowledged + connection.unacked_bytes() + 2;
        (first..=end).contains(&u64::from(quoted.wrapping_sub(self.initial)))
    }

    fn current(&self) -> Step<ConnectionIndex> {
        self.host.current.ok_or_else(|| Stop::failed("there is no connection for this message"))
    }
}

impl System for Simulated {
    fn now(&self) -> Instant {
        self.host.now
    }

    fn begin(&mut self, origin: Instant, tolerance: Span) {
        self.sockets.begin(origin, tolerance);
    }

    fn pass(&mut self, limit: Instant) -> Step<Advance> {
        let now = self.host.now;
        if now >= limit && self.host.next_deadline() > limit {
            return Ok(Advance::Settled);
        }
        let until = self.waiting.as_ref().map_or(Instant::MAX, |(_, until)| *until);
        self.host.step(limit.min(until.max(now)));
        Ok(Advance::Happened)
    }

    fn take_sent(&mut self) -> Option<Sent> {
        let sent = self.host.sent.pop_front()?;
        let packet = translation::to_packet(&sent.segment);
        Some(Sent { connection: sent.endpoint, at: sent.at, packet })
    }

    fn connection_for(&mut self, packet: &Packet) -> Step<ConnectionIndex> {
        let is_open = |index: &usize| !self.host.endpoints[*index].is_closed();
        let current = self.host.current.filter(is_open);
        let opens = packet.flags.contains(Flags::SYN) && !packet.flags.contains(Flags::ACK);
        let listener = if opens && current.is_none() { self.sockets.listener() } else { None };
        Ok(match listener {
            Some(listener) => self.host.answer(&listener),
            None => self.host.current.unwrap_or(NO_CONNECTION),
        })
    }

    fn under_test(&self) -> Option<ConnectionIndex> {
        self.host.current
    }

    fn inject(&mut self, connection: ConnectionIndex, packet: &Packet) -> Step<()> {
        // A segment signed with an unknown key is dropped (Linux `tcp_inbound_md5_hash`).
        if packet.options.iter().flatten().any(translation::is_signature) {
            return Ok(());
        }
        let segment = translation::to_segment(packet, super::host::PORTS)?;
        if connection == NO_CONNECTION {
            self.host.refuse(NO_CONNECTION, &segment);
        } else {
            self.host.inject(connection, &segment);
        }
        Ok(())
    }

    fn connection_for_message(&mut self) -> Step<ConnectionIndex> {
        self.current()
    }

    fn inject_message(&mut self, connection: ConnectionIndex, message: &Icmp) -> Step<()> {
        if let Some(complaint) = host::unreachable_from_icmp(message)? {
            let (quoted, _) = message.quoted.unwrap_or((0, 0));
            if !self.is_in_window(connection, quoted) {
                self.missed_messages += 1;
            }
            self.host.complain(connection, SequenceNumber::new(quoted), complaint);
            self.sockets.on_icmp_error(connection, complaint, &mut self.host);
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Step<Progress> {
        self.attempt(Request::of(call)?)
    }

    fn waiting_call(&mut self) -> Step<Progress> {
        match self.waiting.take() {
            Some((request, _)) => self.attempt(request),
            None => Err(Stop::failed("no call waits")),
        }
    }

    fn command(&mut self, text: &str) -> Step<()> {
        for change in commands::parse_command(text, &self.files)? {
            self.change(&change)?;
        }
        Ok(())
    }

    /// A simulated host needs no cleanup.
    fn clean_up(&mut self, _: &str) -> Step<()> {
        Ok(())
    }

    fn information(&mut self) -> Step<Vec<(&'static str, i64)>> {
        let current = self.host.current.map(|index| &self.host.endpoints[index].connection);
        Ok(current.map_or_else(Vec::new, |connection| {
            let mut told = tcp_info::information(&connection.tcp_info(self.host.now));
            told.push(("SK_MEMINFO_RCVBUF", connection.receive_memory().into()));
            told.push(("SK_MEMINFO_SNDBUF", connection.send_buffer().into()));
            told
        }))
    }
}
