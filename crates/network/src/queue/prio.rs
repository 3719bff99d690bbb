//! Bands in order of urgency: one is served only while all before it are empty.
//!
//! Source: tc-prio(8); the kernel's priorities by type of service (`ip_tos2prio`).

use super::select::Classifier;
use super::{DequeueResult, FlowGroups, QueueActions, QueueDiscipline, QueuedPacket, discipline};
use crate::random::mixed;
use crate::{Backlog, DropReason, Header};
use fairwind_units::Instant;

/// Priority of the four services that the kernel tells apart: ordinary, bulk, interactive, interactive bulk.
const PRIORITIES: [usize; 4] = [0, 2, 6, 4];

/// Strict priority.
pub(super) struct Prio {
    bands: Vec<Box<dyn QueueDiscipline>>,
    priomap: [u8; 16],
    classifier: Classifier,
}

impl Prio {
    pub(super) fn new(prio: &fairwind_qdisc::Prio, seed: u64, groups: &FlowGroups) -> Self {
        let bands = (0..).zip(&prio.bands);
        let filters = prio.filters.iter().map(|(filter, band)| (filter, usize::from(*band)));
        Self {
            bands: bands
                .map(|(band, child)| discipline(child, mixed(seed, band), groups))
                .collect(),
            priomap: prio.priomap,
            classifier: Classifier::new(filters, groups),
        }
    }

    fn band_of(&self, header: &Header) -> usize {
        self.classifier.class_of(header).unwrap_or_else(|| {
            let service = usize::from(header.traffic_class >> 3 & 0b11);
            usize::from(self.priomap[PRIORITIES[service]])
        })
    }
}

impl QueueDiscipline for Prio {
    fn enqueue(
        &mut self,
        now: Instant,
        arrival: QueuedPacket,
        effects: &mut QueueActions,
    ) -> Result<(), DropReason> {
        let band = self.band_of(&arrival.header);
        self.bands[band].enqueue(now, arrival, effects)
    }

    fn dequeue(&mut self, now: Instant, effects: &mut QueueActions) -> DequeueResult {
        let mut answer = DequeueResult::Empty;
        for band in &mut self.bands {
            match band.dequeue(now, effects) {
                DequeueResult::Packet(waiting) => return DequeueResult::Packet(waiting),
                DequeueResult::NotBefore(instant) => answer = answer.or_not_before(instant),
                DequeueResult::Empty => {}
            }
        }
        answer
    }

    fn head(&self) -> Option<QueuedPacket> {
        self.bands.iter().find(|band| band.backlog().packets > 0)?.head()
    }

    fn backlog(&self) -> Backlog {
        self.bands.iter().map(|band| band.backlog()).fold(Backlog::default(), Backlog::plus)
    }
}
