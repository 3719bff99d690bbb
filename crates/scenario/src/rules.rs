//! What a scenario must keep beyond its types: the rules between keys.

mod carrier;
mod flows;
mod path;
mod queue;
mod sharing;
mod tcp;
mod topology;
mod whole;

use crate::error::ScenarioError;
use crate::input::ScenarioInput;
use crate::node::Node;
use crate::recording::Recordings;

/// What the rules found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What is wrong.
    pub(crate) errors: Vec<ScenarioError>,
    /// What is odd, and can be run all the same.
    pub(crate) warnings: Vec<ScenarioError>,
}

/// Tries all rules on `input`; `node` is where it was read from, and `replaced` are the keys
/// whose values were replaced because they were wrong, so that no rule is tried on them.
pub(crate) fn check(
    input: &ScenarioInput,
    node: &Node,
    replaced: &[String],
    recordings: &Recordings,
) -> Findings {
    let replaced = replaced.to_vec();
    let mut rules = Rules { node, replaced, recordings, findings: Findings::default() };
    whole::check(&mut rules, input);
    if let Some(path) = &input.path {
        path::check(&mut rules, path);
        carrier::check_path(&mut rules, path, input.duration);
    }
    if let Some(topology) = &input.topology {
        topology::check(&mut rules, topology);
        carrier::check_topology(&mut rules, topology, input.duration);
    }
    queue::filters_lead_somewhere(&mut rules, input);
    for (index, group) in input.flows.iter().enumerate() {
        flows::check(&mut rules, input, index);
        sharing::somebody_is_served(&mut rules, group, &format!("flows[{index}]"));
        tcp::check(&mut rules, &group.tcp, &format!("flows[{index}].tcp"), input);
        if let Some(tcp) = &group.receiver_tcp {
            tcp::check(&mut rules, tcp, &format!("flows[{index}].receiver_tcp"), input);
        }
    }
    sharing::hosts_agree(&mut rules, input);
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

    /// Notes what is odd about `key`.
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

    /// Whether the author wrote `key`; else its value is what is usual.
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
