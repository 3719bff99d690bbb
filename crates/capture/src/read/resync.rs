//! The search for the next record behind damage.

use super::journal::{Journal, Step};
use super::window::{CAPACITY_BYTES, Fill, Window};

/// Bytes beyond a candidate that are in memory when it is judged, unless the file ends before: enough
/// for a record of the largest size and the beginning of the next.
const LOOK_AHEAD_BYTES: usize = CAPACITY_BYTES / 2;

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    /// The window begins where reading can go on.
    Found,
    /// There is nothing more; the window is at the end.
    Ended,
    /// What has been written so far has no such place.
    Waiting,
}

/// Tells that what stands at the window's beginning cannot be, and why, and goes on to the next place that
/// is a `beginning`. `None` where reading can go on there.
pub(crate) fn go_on_behind_damage(
    window: &mut Window,
    journal: &mut Journal,
    why: impl FnOnce() -> String,
    beginning: impl FnMut(&[u8]) -> bool,
) -> Option<Step> {
    journal.lost(window, why);
    let search = search(window, beginning);
    if search == Search::Waiting {
        return Some(Step::Wait);
    }
    journal.found_again(window);
    (search == Search::Ended).then_some(Step::End)
}

/// Goes on, at least by one byte, to the first place that is a `beginning`, which is asked about the bytes
/// from a place on.
///
/// Each place is judged once or, where a growing file is waited for, once per call; a judgement looks at a
/// bounded number of records.
fn search(window: &mut Window, mut beginning: impl FnMut(&[u8]) -> bool) -> Search {
    let mut from = 1;
    loop {
        let fill = window.fill(CAPACITY_BYTES);
        let rest = window.reach();
        let until = match fill {
            Fill::Ready => rest.len().saturating_sub(LOOK_AHEAD_BYTES),
            Fill::Ended | Fill::Waiting => rest.len(),
        };
        let places = from..until;
        if let Some(place) = places.into_iter().find(|&place| beginning(&rest[place..])) {
            window.consume(place);
            return Search::Found;
        }
        match fill {
            Fill::Ready => {
                window.consume(until);
                from = 0;
            }
            Fill::Ended => {
                window.consume(until);
                return Search::Ended;
            }
            Fill::Waiting => return Search::Waiting,
        }
    }
}
