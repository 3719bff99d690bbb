//! Rules about a queue, wherever it stands.

use super::Rules;
use crate::queue::{QueueInput, Scale, resolve};

/// Whether the queue at `key` is possible before what `scale` describes.
pub(super) fn check(rules: &mut Rules<'_>, queue: &QueueInput, scale: Scale, key: &str) {
    let (_, faults) = resolve(queue, scale, key);
    for fault in faults {
        rules.report(&[&fault.key], fault.rule, fault.hint);
    }
}
