//! What a browser asks for: pages, each of a main object and those embedded in it.

use crate::sampler::Sampler;
use fairwind_units::Span;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// The pages of one connection, drawn one after the other; sizes in bytes, times in nanoseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pages {
    /// Size of a page's main object.
    pub main: Sampler,
    /// How many objects are embedded in it; there may be none.
    pub embedded_objects: Sampler,
    /// Size of an embedded object.
    pub embedded: Sampler,
    /// Time from a main object to the first embedded one: the browser reads it.
    pub parsing: Sampler,
    /// Time from the last object of a page to the next page: the person reads it.
    pub reading: Sampler,
}

/// Where in a page a browser is.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Embedded objects that are still to be asked for.
    embedded_left: u64,
}

/// What the next response is, and what comes behind it.
pub(crate) struct Object {
    pub(crate) bytes: u64,
    pub(crate) pause: Span,
    /// Whether it is the last of its page.
    pub(crate) ends_page: bool,
}

impl Pages {
    pub(crate) fn draw(&self, place: &mut Place, random: &mut impl Rng) -> Object {
        let is_main = place.embedded_left == 0;
        let bytes = if is_main {
            let bytes = self.main.draw(random);
            place.embedded_left = self.embedded_objects.draw_count(random);
            bytes
        } else {
            place.embedded_left -= 1;
            self.embedded.draw(random)
        };
        let ends_page = place.embedded_left == 0;
        let pause = if ends_page {
            self.reading.draw_time(random)
        } else if is_main {
            self.parsing.draw_time(random)
        } else {
            0
        };
        Object { bytes, pause: Span::from_nanos(pause), ends_page }
    }
}
