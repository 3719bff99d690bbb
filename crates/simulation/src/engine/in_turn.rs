//! Connections that follow one another: the next one begins when the one before is over for who opened it.

use super::Simulation;
use fairwind_measure::{FlowId, Observation};
use fairwind_units::Instant;

impl Simulation {
    /// Connection `number` is about to be opened.
    #[cold]
    pub(super) fn on_opening(&mut self, number: u32, now: Instant) {
        self.collector.observe(now, Observation::Opened { flow: FlowId(number) });
    }

    /// The side that opened connection `number` has nothing more to do with it.
    #[cold]
    pub(super) fn on_connection_over(&mut self, number: u32, now: Instant) {
        let next = self.flows[number as usize].next.take();
        let Some((next, start)) = next.and_then(|next| Some((next, next.start(now)?))) else {
            return;
        };
        let number = next.flow.0;
        let flow = &mut self.flows[number as usize];
        flow.start = start;
        self.deadlines[number as usize].sender = flow.sender_deadline();
        self.reschedule(number, now);
    }
}
