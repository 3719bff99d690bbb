//! Rules of a scenario beyond its types: the rules between keys, and here those about the experiment as a whole, what
//! is measured and what is captured.

mod constants;
mod flows;
mod network;
mod tcp;
mod workload;

use crate::error::ScenarioError;
use crate::experiment::answers_name;
use crate::input::ScenarioInput;
use crate::named_file::Recordings;
use crate::node::Node;
use crate::resolve::{link_name, reverse_name};
use fairwind_qdisc::tc::nearest;
use fairwind_units::{ByteCount, Span};
use std::collections::BTreeSet;

/// Errors and warnings of the rules.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Errors.
    pub(crate) errors: Vec<ScenarioError>,
    /// Warnings: the scenario can still be run.
    pub(crate) warnings: Vec<ScenarioError>,
}

/// Tries all rules on `input`; `node` is where it was read from, and `replaced` are the keys
/// with values that were replaced because they were wrong, so that no rule is tried on them.
pub(crate) fn check(
    input: &ScenarioInput,
    node: &Node,
    replaced: &[String],
    recordings: &Recordings,
) -> Findings {
    let replaced = replaced.to_vec();
    let mut rules = Rules { node, replaced, recordings, findings: Findings::default() };
    check_whole(&mut rules, input);
    if let Some(path) = &input.path {
        network::check_path(&mut rules, path);
        network::check_carrier_of_path(&mut rules, path, input.duration);
    }
    if let Some(topology) = &input.topology {
        network::check_topology(&mut rules, topology);
        network::check_carriers(&mut rules, topology, input.duration);
    }
    network::filters_lead_somewhere(&mut rules, input);
    for (index, group) in input.flows.iter().enumerate() {
        flows::check(&mut rules, input, index);
        tcp::somebody_is_served(&mut rules, group, &format!("flows[{index}]"));
        tcp::check(&mut rules, &group.tcp, &format!("flows[{index}].tcp"), input);
        if let Some(tcp) = &group.receiver_tcp {
            tcp::check(&mut rules, tcp, &format!("flows[{index}].receiver_tcp"), input);
        }
    }
    tcp::hosts_agree(&mut rules, input);
    rules.findings
}

/// The scenario while rules are tried on it.
struct Rules<'a> {
    node: &'a Node,
    /// Keys that no more rules are tried on.
    replaced: Vec<String>,
    /// What the files hold that were provided.
    recordings: &'a Recordings,
    findings: Findings,
}

impl Rules<'_> {
    /// Reports that `key` breaks `rule`, unless its value is not the author's.
    fn broken(&mut self, key: &str, rule: impl Into<String>) {
        self.report(&[key], rule.into(), None);
    }

    /// Reports that `keys`, of which the first is to be changed, break `rule` together.
    fn broken_with_hint(&mut self, keys: &[&str], rule: impl Into<String>, hint: &str) {
        self.report(keys, rule.into(), Some(hint.to_owned()));
    }

    fn report(&mut self, keys: &[&str], rule: String, hint: Option<String>) {
        if !self.is_replaced(keys) {
            let error = self.error(keys[0], rule, hint);
            self.findings.errors.push(error);
        }
    }

    /// Adds a warning about `key`.
    fn warn(&mut self, keys: &[&str], rule: impl Into<String>) {
        if !self.is_replaced(keys) {
            let error = self.error(keys[0], rule.into(), None);
            self.findings.warnings.push(error);
        }
    }

    fn error(&self, key: &str, rule: String, hint: Option<String>) -> ScenarioError {
        let (node, found) = self.node.locate(key);
        let value = found.then(|| node.excerpt());
        ScenarioError { key: key.to_owned(), line: node.line, value, rule, hint }
    }

    /// Whether the author wrote `key`; else its value is the default.
    fn is_written(&self, key: &str) -> bool {
        self.node.locate(key).1
    }

    /// Whether anything inside `key` is wrong, as far as is known by now.
    fn has_errors_within(&self, key: &str) -> bool {
        let found = self.findings.errors.iter().map(|error| &error.key);
        self.replaced.iter().chain(found).any(|wrong| wrong.starts_with(key))
    }

    fn is_replaced(&self, keys: &[&str]) -> bool {
        let inside = |key: &str, replaced: &str| {
            key.strip_prefix(replaced)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        keys.iter().any(|key| self.replaced.iter().any(|replaced| inside(key, replaced)))
    }
}

fn check_whole(rules: &mut Rules<'_>, input: &ScenarioInput) {
    if input.name.trim().is_empty() {
        rules.broken("name", "an experiment needs a name");
    }
    if input.duration.is_zero() {
        rules.broken("duration", "the duration must be above zero");
        // Every time in the scenario would be too long for it.
        rules.replaced.push("duration".into());
    }
    network_is_described_once(rules, input);
    groups_must_have_unique_names(rules, input);
    measure(rules, input);
    capture(rules, input);
}

fn network_is_described_once(rules: &mut Rules<'_>, input: &ScenarioInput) {
    match (&input.path, &input.topology) {
        (Some(_), Some(_)) => rules.broken_with_hint(
            &["topology"],
            "path is set already",
            "describe the network by [path] or by [topology], not by both",
        ),
        (None, None) => rules.broken_with_hint(
            &["path"],
            "missing; it is required",
            "describe the network: [path] for a dumbbell, or [topology] for anything else",
        ),
        _ => {}
    }
}

fn groups_must_have_unique_names(rules: &mut Rules<'_>, input: &ScenarioInput) {
    if input.flows.is_empty() {
        rules.broken("flows", "an experiment needs at least one group of flows");
    }
    let mut seen = BTreeSet::new();
    for (index, group) in input.flows.iter().enumerate() {
        if !seen.insert(&group.name) {
            rules.broken(&format!("flows[{index}].name"), "another group has this name already");
        }
    }
    for group in &input.flows {
        let is_answered = group.workload.is_answered();
        let answers = answers_name(&group.name);
        let taken = input.flows.iter().position(|other| is_answered && other.name == answers);
        if let Some(index) = taken {
            let rule = format!("the responses of the group \"{}\" have this name", group.name);
            rules.broken(&format!("flows[{index}].name"), rule);
        }
    }
}

fn measure(rules: &mut Rules<'_>, input: &ScenarioInput) {
    let measure = &input.measure;
    if measure.warmup >= input.duration {
        let rule = format!("it must be shorter than the duration, {}", input.duration);
        let hint = "make the duration longer, or shorten the warm-up with it: measure.warmup=1s"
            .to_owned();
        rules.report(&["measure.warmup", "duration"], rule, Some(hint));
    }
    let measured = input.duration.saturating_sub(measure.warmup);
    for (key, interval, time) in [
        ("measure.endpoint_interval", measure.endpoint_interval, input.duration),
        ("measure.queue_interval", measure.queue_interval, measured),
    ] {
        interval_is_possible(rules, key, interval, time);
    }
    for (index, interval) in measure.intervals.iter().enumerate() {
        let key = format!("measure.intervals[{index}]");
        if measure.intervals[..index].contains(interval) {
            rules.broken(&key, "this interval occurs twice");
        } else if *interval > measured && rules.is_written(&key) {
            let rule =
                format!("longer than the measured time, {measured}: there would be no window");
            rules.warn(&[&key, "duration", "measure.warmup"], rule);
        }
        interval_is_possible(rules, &key, Some(*interval), measured);
    }
    queue_events(rules, input);
    for (index, percentile) in measure.percentiles.iter().enumerate() {
        if measure.percentiles[..index].contains(percentile) {
            let key = format!("measure.percentiles[{index}]");
            rules.broken(&key, "this percentile occurs twice");
        }
    }
}

/// Windows, or samples of one endpoint, of one run: they are kept until its end.
const MOST_WINDOWS: u64 = 10_000_000;

/// The number of windows or samples of `interval` in `time` is possible.
fn interval_is_possible(rules: &mut Rules<'_>, key: &str, interval: Option<Span>, time: Span) {
    let Some(interval) = interval else { return };
    match time.as_nanos().checked_div(interval.as_nanos()) {
        None => rules.broken(key, "an interval must be above zero"),
        Some(windows) if windows > MOST_WINDOWS => {
            if rules.is_written(key) {
                let rule =
                    format!("{windows} of them fit into {time}; a run has at most {MOST_WINDOWS}");
                rules.report(&[key, "duration"], rule, None);
            } else {
                let name = key.trim_end_matches("[0]");
                let rule = format!(
                    "a run has at most {MOST_WINDOWS} windows; this would be {windows} of {interval} ({name})"
                );
                let hint = format!("shorten it, or set {name} to longer intervals");
                rules.report(&["duration", key], rule, Some(hint));
            }
        }
        Some(_) => {}
    }
}

fn queue_events(rules: &mut Rules<'_>, input: &ScenarioInput) {
    let Some(events) = &input.measure.queue_events else { return };
    if events.until.is_some_and(|until| until <= events.from) {
        let rule = "it must be later than the beginning of the events".to_owned();
        rules.report(&["measure.queue_events.until", "measure.queue_events.from"], rule, None);
    }
    if events.most == Some(0) {
        rules.broken("measure.queue_events.most", "it must be at least 1");
    }
    let known: Vec<String> = match &input.topology {
        None => vec!["bottleneck".to_owned(), "reverse".to_owned()],
        Some(topology) => {
            let names = topology.links.iter().flat_map(|link| {
                let name = link.name.clone().unwrap_or_else(|| link_name(&link.from, &link.to));
                [Some(name), link.both_ways.then(|| reverse_name(link))]
            });
            names.flatten().collect()
        }
    };
    for (index, name) in events.queues.iter().flatten().enumerate() {
        if !known.contains(name) {
            let hint = nearest(name, known.iter().map(String::as_str));
            let hint = hint.map(|name| format!("did you mean \"{name}\"?"));
            let rule = format!("no such link; there are {}", known.join(", "));
            rules.report(&[&format!("measure.queue_events.queues[{index}]")], rule, hint);
        }
    }
}

fn capture(rules: &mut Rules<'_>, input: &ScenarioInput) {
    let Some(capture) = &input.capture else { return };
    if capture.points.is_empty() {
        rules.broken("capture.points", "a capture needs at least one point");
    }
    for (index, point) in capture.points.iter().enumerate() {
        if capture.points[..index].contains(point) {
            rules.broken(&format!("capture.points[{index}]"), "this point occurs twice");
        }
    }
    if capture.snap == Some(ByteCount::ZERO) {
        rules.broken("capture.snap", "it must be at least 1 B");
    }
    for (index, name) in capture.groups.iter().flatten().enumerate() {
        if !input.flows.iter().any(|group| group.name == *name) {
            let names: Vec<&str> = input.flows.iter().map(|group| group.name.as_str()).collect();
            let rule = format!("no such group; there are {}", names.join(", "));
            rules.report(&[&format!("capture.groups[{index}]"), "flows"], rule, None);
        }
    }
}
