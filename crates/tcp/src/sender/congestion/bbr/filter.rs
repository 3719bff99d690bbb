//! The greatest value of the last so many rounds.
//!
//! Source: Kathleen Nichols' windowed filter, as in Linux `lib/win_minmax.c`: the three best values of ever younger
//! parts of the window are kept, so that the next best is at hand when the best becomes too old.

#[derive(Debug, Clone, Copy, Default)]
struct Value {
    value: u64,
    at: u32,
}

/// The filter: best, second and third best.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GreatestOfLate([Value; 3]);

impl GreatestOfLate {
    pub(super) fn get(&self) -> u64 {
        self.0[0].value
    }

    /// Takes the value of round `at`; none that is more than `window` rounds older is remembered.
    pub(super) fn note(&mut self, value: u64, at: u32, window: u32) {
        let new = Value { value, at };
        let best = &mut self.0;
        if value >= best[0].value || at.wrapping_sub(best[2].at) > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].value {
            best[2] = new;
        }
        self.age(new, window);
    }

    fn age(&mut self, new: Value, window: u32) {
        let best = &mut self.0;
        let age = new.at.wrapping_sub(best[0].at);
        if age > window {
            *best = [best[1], best[2], new];
            if new.at.wrapping_sub(best[0].at) > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].at == best[0].at && age > window / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].at == best[1].at && age > window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_is_forgotten_after_the_window_and_the_next_best_steps_in() {
        let mut filter = GreatestOfLate::default();
        filter.note(100, 0, 10);
        for round in 1..=10 {
            filter.note(50 - u64::from(round), round, 10);
            assert_eq!(filter.get(), 100, "round {round}");
        }
        filter.note(10, 11, 10);
        assert_eq!(filter.get(), 47, "the greatest of the second quarter on");
        filter.note(60, 12, 10);
        assert_eq!(filter.get(), 60);
    }
}
