//! Files that a scenario names, at any point of its grid. This room opens none: somebody else reads them and provides
//! their text.

use crate::node::{Node, NodeValue};
use serde::Serialize;
use std::collections::BTreeSet;

/// What a file that a scenario names is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileContent {
    /// Writes of an application: a line for each with seconds, a comma and bytes.
    Writes,
    /// When a link may send: Mahimahi's packet-delivery format, a whole number of milliseconds on each line.
    RateTrace,
    /// Which packets are lost: 1 for a packet that is, 0 for one that is not.
    Losses,
    /// A table of delays as netem's (`.dist`).
    Delays,
}

impl FileContent {
    /// Everything that a file may hold.
    pub const ALL: [Self; 4] = [Self::Writes, Self::RateTrace, Self::Losses, Self::Delays];

    /// Its name: `writes`, `rate-trace`, `losses`, `delays`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::RateTrace => "rate-trace",
            Self::Losses => "losses",
            Self::Delays => "delays",
        }
    }

    /// How such a file is written.
    pub(crate) const fn form(self) -> &'static str {
        match self {
            Self::Writes => "a line for each write has seconds, a comma and bytes: 0.035,1200",
            Self::RateTrace => {
                "Mahimahi's form: on each line a whole number of milliseconds, never decreasing"
            }
            Self::Losses => "1 for a packet that is lost, 0 for one that is not; # begins a remark",
            Self::Delays => {
                "netem's form: whole numbers with blanks between them, 8192 for one deviation; # begins a remark"
            }
        }
    }
}

/// A file that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NamedFile {
    /// Its name as the scenario has it, seen from the scenario's folder.
    pub file: String,
    /// What it is to hold.
    pub content: FileContent,
    /// Of a capture, which connection; the one with the most payload where nothing is said.
    pub connection: Option<String>,
}

impl NamedFile {
    pub(crate) fn new(file: &str, content: FileContent) -> Self {
        Self { file: file.to_owned(), content, connection: None }
    }

    pub(crate) fn writes(file: &str, connection: Option<&str>) -> Self {
        let connection = connection.map(str::to_owned);
        Self { connection, ..Self::new(file, FileContent::Writes) }
    }
}

/// Adds the files that a scenario names to `found`.
pub(crate) fn gather(root: &Node, found: &mut BTreeSet<NamedFile>) {
    for group in items(root.get("flows")) {
        writes(group, found);
    }
    if let Some(path) = root.get("path") {
        link(path, "impairments", found);
        link(path, "reverse_impairments", found);
    }
    for each in items(root.get("topology").and_then(|topology| topology.get("links"))) {
        link(each, "impairments", found);
    }
}

fn items(list: Option<&Node>) -> &[Node] {
    match list.map(|node| &node.value) {
        Some(NodeValue::List(items)) => items,
        _ => &[],
    }
}

fn writes(group: &Node, found: &mut BTreeSet<NamedFile>) {
    let Some(workload) = group.get("workload") else { return };
    let text = |key| workload.get(key).and_then(Node::as_text);
    if let (Some("replay"), Some(file)) = (text("kind"), text("file")) {
        found.insert(NamedFile::writes(file, text("connection")));
    }
}

/// The files of a link, or of one direction of a path.
fn link(link: &Node, impairments: &str, found: &mut BTreeSet<NamedFile>) {
    let impairments = link.get(impairments);
    let below = |key| impairments.and_then(|table| table.get(key));
    for (table, content) in [
        (link.get("rate_trace"), FileContent::RateTrace),
        (below("loss"), FileContent::Losses),
        (below("jitter"), FileContent::Delays),
    ] {
        let file = table.and_then(|table| table.get("file")).and_then(Node::as_text);
        found.extend(file.map(|file| NamedFile::new(file, content)));
    }
}
