//! Rules about a queue, wherever it stands.

use super::Rules;
use crate::error::nearest;
use crate::input::ScenarioInput;
use crate::queue::{HtbInput, QueueInput, QueueTable, Scale, resolve};
use fairwind_qdisc::QdiscFinding;

/// Whether the queue at `key` is possible before what `scale` describes.
pub(super) fn check(rules: &mut Rules<'_>, queue: &QueueInput, scale: Scale, key: &str) {
    let (resolved, faults) = resolve(queue, scale, key);
    for fault in &faults {
        rules.report(&[&fault.key], fault.rule.clone(), fault.hint.clone());
    }
    if !faults.is_empty() {
        return;
    }
    for error in resolved.errors() {
        let (key, rule) = told(queue, key, &error);
        rules.report(&[&key], rule, None);
    }
    for oddity in resolved.warnings(scale.rate, scale.mtu.get()) {
        let (key, rule) = told(queue, key, &oddity);
        rules.warn(&[&key], rule);
    }
}

/// The key that the author of `queue` wrote, and what is said about it.
fn told(queue: &QueueInput, key: &str, finding: &QdiscFinding) -> (String, String) {
    let QdiscFinding { key: inner, rule } = finding;
    match queue {
        QueueInput::Text(_) if inner.is_empty() => (key.to_owned(), rule.clone()),
        QueueInput::Text(_) => (key.to_owned(), format!("{inner}: {rule}")),
        QueueInput::Table(table) => {
            // An htb with a rate of its own has one class, whose keys are its own.
            let inner = match table.as_ref() {
                QueueTable::Htb(HtbInput { classes: None, .. }) => {
                    inner.strip_prefix("classes[0].").unwrap_or(inner)
                }
                _ => inner,
            };
            (format!("{key}.{inner}"), rule.clone())
        }
    }
}

/// Groups that filters ask for exist.
pub(super) fn filters_lead_somewhere(rules: &mut Rules<'_>, input: &ScenarioInput) {
    let groups: Vec<&str> = input.flows.iter().map(|group| group.name.as_str()).collect();
    if let Some(path) = &input.path {
        groups_exist(rules, &path.queue, "path.queue", &groups);
        groups_exist(rules, &path.reverse_queue, "path.reverse_queue", &groups);
    }
    let links = input.topology.iter().flat_map(|topology| &topology.links);
    for (index, link) in links.enumerate() {
        if let Some(queue) = &link.queue {
            groups_exist(rules, queue, &format!("topology.links[{index}].queue"), &groups);
        }
    }
}

fn groups_exist(rules: &mut Rules<'_>, queue: &QueueInput, key: &str, groups: &[&str]) {
    for (inner, group) in queue.groups() {
        if !groups.contains(&group.as_str()) {
            let key = if inner.is_empty() { key.to_owned() } else { format!("{key}.{inner}") };
            let hint = nearest(&group, groups.iter().copied()).map_or_else(
                || format!("there are {}", groups.join(", ")),
                |nearest| format!("did you mean \"{nearest}\"?"),
            );
            let rule = format!("a filter asks for the group \"{group}\", which does not exist");
            rules.report(&[&key, "flows"], rule, Some(hint));
        }
    }
}
