//! Connections whose data goes on by others: what comes is read as far as the relay has room, and written on.

use super::reader::{Reading, Watching};
use super::{READ_BYTES, Worker, token};
use crate::protocol::HostPlan;
use std::collections::BTreeMap;

/// Which sender passes on which connection.
#[derive(Debug, Default)]
pub(super) struct Relays {
    /// By flow that comes, the place of the sender that passes it on.
    senders: BTreeMap<u32, usize>,
    /// By place of a sender, that of the connection that it passes on, once that has come.
    readers: BTreeMap<usize, usize>,
}

impl Relays {
    /// Those of `plan`, whose senders stand in the order of its outgoing connections.
    pub(super) fn of(plan: &HostPlan) -> Self {
        let relays = plan.outgoing.iter().enumerate();
        let senders = relays.filter_map(|(place, outgoing)| Some((outgoing.relays?, place)));
        Self { senders: senders.collect(), readers: BTreeMap::new() }
    }

    /// The place of the sender that passes this flow on.
    pub(super) fn of_flow(&self, flow: u32) -> Option<usize> {
        self.senders.get(&flow).copied()
    }
}

impl Worker {
    /// Opens the connections by which those go on that have come.
    pub(super) fn open_relays(&mut self) -> Result<(), String> {
        for (reader, flow) in self.readers.take_new() {
            let Some(relay) = self.relays.of_flow(flow) else { continue };
            self.relays.readers.insert(relay, reader);
            let sender = &mut self.senders[relay];
            sender.connect(token::of(token::SENDER, relay), &mut self.context)?;
            self.timers.schedule(relay, sender.deadline());
        }
        Ok(())
    }

    /// Reads on connection `reader` what the sender in place `relay` has room for, and lets it write.
    pub(super) fn pass_on(&mut self, reader: usize, relay: usize) {
        let (sender, context) = (&mut self.senders[relay], &mut self.context);
        let token = token::of(token::SENDER, relay);
        if sender.is_over() {
            return self.readers.give_up(reader);
        }
        let room = usize::try_from(sender.room()).unwrap_or(READ_BYTES).min(READ_BYTES);
        if room > 0 {
            match self.readers.read(reader, room, context) {
                Reading::Bytes(bytes) => sender.pass_on(bytes, token, context),
                Reading::End => sender.end_relaying(token, context),
                Reading::Nothing => {}
                Reading::Broken => sender.break_off(context),
            }
        }
        let watching = if sender.room() > 0 { Watching::Data } else { Watching::Errors };
        let reader_token = token::of(token::READER, reader);
        self.readers.watch(reader, watching, reader_token, &context.poll);
        self.timers.schedule(relay, self.senders[relay].deadline());
    }

    /// Connection `reader` was broken off, and so is the one by which it goes on.
    pub(super) fn break_off(&mut self, reader: usize, relay: usize) {
        self.readers.lose(reader, &mut self.context);
        self.senders[relay].break_off(&mut self.context);
        self.timers.schedule(relay, self.senders[relay].deadline());
    }

    /// The sender in this place may have room again, where it passes on what comes.
    pub(super) fn refill(&mut self, relay: usize) {
        if let Some(&reader) = self.relays.readers.get(&relay)
            && self.readers.flow_of(reader).is_some()
        {
            self.pass_on(reader, relay);
        }
    }
}
