//! What connections with data both ways do beyond others: the opening side reads, the answering
//! side writes, and each packet is of one flow of two.

use super::Simulation;
use super::samples::endpoint_observation;
use fairwind_measure::{Direction, FlowId, Observation};
use fairwind_tcp::Event;
use fairwind_units::Instant;

impl Simulation {
    /// The connection of a packet of flow `flow`, and which way it goes: forward from the side that
    /// opened the connection.
    #[inline]
    pub(super) fn way_of(&self, flow: u32, direction: Direction) -> (u32, Direction) {
        let openings = self.deadlines.len();
        match (flow as usize).checked_sub(openings) {
            None => (flow, direction),
            Some(answer) => match direction {
                Direction::Forward => (self.answered[answer], Direction::Reverse),
                Direction::Reverse => (self.answered[answer], Direction::Forward),
            },
        }
    }

    /// The opening side reads what has arrived in order.
    #[cold]
    pub(super) fn read_answers(&mut self, number: u32, now: Instant) {
        let flow = &mut self.flows[number as usize];
        let read = flow.sender.read(now, u32::MAX);
        let Some(dialogue) = flow.dialogue.as_ref().filter(|_| read > 0) else { return };
        let (answers, end_offset) = (dialogue.flow, flow.sender.received_bytes());
        let asked = flow.application.on_read(now, u64::from(read));
        self.collector.observe(now, Observation::Read { flow: answers, end_offset });
        if let Some(asked) = asked {
            self.collector.observe(now, Observation::Answered { flow: FlowId(number), asked });
        }
    }

    /// Lets the answering side write as much as it wants to, and close when it is done.
    #[cold]
    pub(super) fn write_answers(&mut self, number: u32, now: Instant) {
        let flow = &mut self.flows[number as usize];
        let Some(dialogue) = &mut flow.dialogue else { return };
        while let Some(end_offset) = dialogue.poll_write(now, &mut flow.receiver) {
            self.collector.observe(now, Observation::Written { flow: dialogue.flow, end_offset });
        }
        dialogue.close_if_finished(&mut flow.receiver);
    }

    /// An event at the endpoint that answers.
    #[cold]
    pub(super) fn on_answering_event(&mut self, number: u32, event: Event, now: Instant) {
        let flow = &mut self.flows[number as usize];
        let Some(dialogue) = &mut flow.dialogue else { return };
        let answers = dialogue.flow;
        let observation = match event {
            Event::Established => {
                dialogue.application.begin(now);
                return self.flush_receiver(number, now);
            }
            Event::RetransmissionTimeout => Observation::Timeout { flow: answers },
            Event::FastRetransmit => Observation::FastRetransmit { flow: answers },
            Event::ZeroWindowProbe => Observation::ZeroWindowProbe { flow: answers },
            Event::TimedOut | Event::Reset if flow.receiver_established => {
                dialogue.application.end();
                Observation::Failed { flow: answers, reason: super::why_failed(event) }
            }
            _ => return,
        };
        self.collector.observe(now, observation);
    }

    /// The other side has sent all that it will, where number's connection has data both ways.
    #[cold]
    pub(super) fn on_answers_finished(&mut self, number: u32, now: Instant) {
        let flow = &mut self.flows[number as usize];
        let Some(dialogue) = &flow.dialogue else { return };
        self.collector.observe(now, Observation::Finished { flow: dialogue.flow });
        if flow.application.ends_with_other() {
            flow.application.end();
            self.on_connection_over(number, now);
            self.flush_sender(number, now);
        }
    }

    /// Samples the endpoint that answers.
    #[cold]
    pub(super) fn sample_answers(&mut self, number: u32, now: Instant) {
        let flow = &self.flows[number as usize];
        if let Some(dialogue) = &flow.dialogue
            && flow.receiver.state().is_synchronised()
        {
            self.collector.observe(now, endpoint_observation(dialogue.flow, &flow.receiver));
        }
    }
}
