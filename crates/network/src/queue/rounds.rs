//! Turns of flows: deficit round robin, where wanted with a first turn for flows that have just begun.
//!
//! Source: Shreedhar and Varghese, 1996, and RFC 8290 §4.2 for new and old flows.

use std::collections::VecDeque;

/// Whose turn it is, by the numbers of the flows.
#[derive(Debug)]
pub(super) struct RoundRobin {
    quantum_bytes: i64,
    /// Bytes that each flow may still send in its turn.
    deficits: Vec<i64>,
    is_active: Vec<bool>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

/// A flow's number as an index.
#[inline]
pub(super) fn index(flow: u32) -> usize {
    // Widening on every machine that this runs on.
    flow as usize
}

impl RoundRobin {
    pub(super) fn new(flows: u32, quantum_bytes: u32) -> Self {
        Self {
            quantum_bytes: quantum_bytes.max(1).into(),
            deficits: vec![0; index(flows)],
            is_active: vec![false; index(flows)],
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// A packet of `flow` waits; one that had none is new.
    pub(super) fn join(&mut self, flow: u32) {
        if self.begins(flow) {
            self.new.push_back(flow);
        }
    }

    /// A packet of `flow` waits; one that had none is served after all others.
    pub(super) fn join_last(&mut self, flow: u32) {
        if self.begins(flow) {
            self.old.push_back(flow);
        }
    }

    /// Whether `flow` had nothing before.
    fn begins(&mut self, flow: u32) -> bool {
        let place = index(flow);
        let begins = !self.is_active[place];
        if begins {
            self.is_active[place] = true;
            self.deficits[place] = self.quantum_bytes;
        }
        begins
    }

    /// `flow` has nothing any more, and no round to wait for.
    pub(super) fn retire(&mut self, flow: u32) {
        self.is_active[index(flow)] = false;
        if self.new.is_empty() && self.old.front() == Some(&flow) {
            self.old.pop_front();
            return;
        }
        self.new.retain(|other| *other != flow);
        self.old.retain(|other| *other != flow);
    }

    /// All flows that take turns, in the order of these.
    pub(super) fn flows(&self) -> impl Iterator<Item = u32> + '_ {
        self.new.iter().chain(&self.old).copied()
    }

    /// How many take turns.
    pub(super) fn len(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// The flow whose turn it is; `None` where none has anything.
    pub(super) fn turn(&mut self) -> Option<u32> {
        loop {
            let from_new = !self.new.is_empty();
            let flow = *if from_new { self.new.front()? } else { self.old.front()? };
            let deficit = &mut self.deficits[index(flow)];
            if *deficit > 0 {
                return Some(flow);
            }
            *deficit += self.quantum_bytes;
            self.leave_front(from_new);
            self.old.push_back(flow);
        }
    }

    /// `flow`, whose turn it is, sends `bytes`.
    pub(super) fn spend(&mut self, flow: u32, bytes: u32) {
        self.deficits[index(flow)] -= i64::from(bytes);
    }

    /// `flow`, whose turn it is, has nothing: a new one waits a round before it may be new again (RFC 8290 §4.2).
    pub(super) fn yield_turn(&mut self, flow: u32) {
        let from_new = !self.new.is_empty();
        self.leave_front(from_new);
        if from_new && !self.old.is_empty() {
            self.old.push_back(flow);
        } else {
            self.is_active[index(flow)] = false;
        }
    }

    fn leave_front(&mut self, from_new: bool) {
        if from_new {
            self.new.pop_front()
        } else {
            self.old.pop_front()
        };
    }
}
