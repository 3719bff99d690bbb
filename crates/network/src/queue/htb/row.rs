//! Classes that take turns.

/// Classes in the order of their numbers, and whose turn it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    members: Vec<usize>,
    turn: usize,
}

impl Row {
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn insert(&mut self, place: usize) {
        if let Err(at) = self.members.binary_search(&place) {
            self.members.insert(at, place);
        }
    }

    pub(super) fn remove(&mut self, place: usize) {
        if let Ok(at) = self.members.binary_search(&place) {
            self.members.remove(at);
        }
    }

    /// Whose turn it is: the first from where the last turn ended, or else the first of all.
    pub(super) fn next(&self) -> Option<usize> {
        let at = self.members.partition_point(|place| *place < self.turn);
        self.members.get(at).or(self.members.first()).copied()
    }

    /// The turn of `place` goes on, or is over.
    pub(super) fn serve(&mut self, place: usize, is_over: bool) {
        self.turn = place + usize::from(is_over);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round_past_those_who_leave() {
        let mut row = Row::default();
        for place in [7, 2, 5] {
            row.insert(place);
        }
        let mut order = Vec::new();
        for _ in 0..4 {
            let place = row.next().expect("somebody");
            order.push(place);
            row.serve(place, true);
        }
        assert_eq!(order, [2, 5, 7, 2]);
        row.serve(5, false);
        row.insert(4);
        assert_eq!(row.next(), Some(5));
        row.remove(5);
        assert_eq!(row.next(), Some(7));
        row.remove(7);
        row.remove(7);
        assert_eq!(row.next(), Some(2));
    }
}
