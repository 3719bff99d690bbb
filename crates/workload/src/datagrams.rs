//! A stream of datagrams: what an application writes leaves at once, cut to what a packet holds.

use crate::Application;
use fairwind_units::Instant;

/// An application that writes datagrams: one for each write, or several for a write that is larger than one holds.
#[derive(Debug, Clone)]
pub struct Datagrams {
    application: Application,
    /// When the application begins; [`Instant::MAX`] once it has.
    start: Instant,
    /// When the application stops.
    stop: Instant,
    most_payload: u32,
    /// Bytes of the last write that are in no datagram yet.
    unsent_bytes: u64,
}

impl Datagrams {
    /// Of `application` from `start` until `stop`, [`Instant::MAX`] for never; a datagram holds at most `most_payload`
    /// bytes.
    pub fn new(
        application: Application,
        (start, stop): (Instant, Instant),
        most_payload: u32,
    ) -> Self {
        Self { application, start, stop, most_payload, unsent_bytes: 0 }
    }

    /// When there is something to do by the clock; [`Instant::MAX`] once there is nothing more.
    pub fn deadline(&self) -> Instant {
        if self.start != Instant::MAX {
            return self.start;
        }
        // At its stop it writes nothing more, which needs no turn of its own.
        let next = self.application.next_write();
        if next < self.stop { next } else { Instant::MAX }
    }

    /// Payload in bytes of the next datagram that leaves now, if one does; to be asked until none does.
    pub fn poll_payload(&mut self, now: Instant) -> Option<u32> {
        if self.start <= now {
            self.start = Instant::MAX;
            self.application.begin(now);
        }
        if self.unsent_bytes == 0 && now < self.stop {
            self.unsent_bytes = self.application.poll_write(now, 0).unwrap_or(0);
        }
        let payload = self.most_payload.min(u32::try_from(self.unsent_bytes).unwrap_or(u32::MAX));
        self.unsent_bytes -= u64::from(payload);
        (payload > 0).then_some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sampler, Thin};
    use fairwind_units::Span;

    #[test]
    fn a_write_is_cut_to_what_a_datagram_holds_and_none_leaves_at_the_stop() {
        let every = Sampler::Constant(Span::from_millis(10).as_nanos());
        let application = Application::Thin(Thin::new(Sampler::Constant(250), every, 1));
        let (start, stop) = (Instant::from_millis(5), Instant::from_millis(25));
        let mut datagrams = Datagrams::new(application, (start, stop), 100);
        assert_eq!(datagrams.poll_payload(Instant::ZERO), None);
        for milliseconds in [5, 15] {
            let now = Instant::from_millis(milliseconds);
            assert_eq!(datagrams.deadline(), now);
            let payloads: Vec<_> = std::iter::from_fn(|| datagrams.poll_payload(now)).collect();
            assert_eq!(payloads, [100, 100, 50]);
        }
        assert_eq!(datagrams.deadline(), Instant::MAX);
        assert_eq!(datagrams.poll_payload(stop), None);
    }
}
