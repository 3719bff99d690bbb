//! Inspection commands: `nstat`, `cat`, `grep`; they fail if they find nothing.
//!
//! | command | inspects |
//! |---|---|
//! | `nstat`, `nstat -n`, `nstat -s` | counters since the last `nstat` without `-s`; see [`COUNTERS`] |
//! | `cat`, `grep PATTERN` of `/proc/net/tcp`, `/proc/net/tcp6` | sockets with their ports and states |
//! | `... \| grep [-q] [-v] PATTERN` | those lines alone that have the pattern, a plain text |

use super::slices;
use crate::outcome::{Step, Stop};

pub(crate) const COUNTERS: [&str; 4] = [
    "TcpExtOutOfWindowIcmps",
    "TcpExtBeyondWindow",
    "TcpExtTCPZeroWindowDrop",
    "TcpExtTCPRcvQDrop",
];

/// Counters and sockets of a host.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// The counters in the order of [`COUNTERS`].
    pub(crate) counters: [u64; COUNTERS.len()],
    /// State number of each socket in the kernel, with its ports.
    pub(crate) sockets: Vec<(i64, u16, u16)>,
}

/// Commands joined by pipes, with their words.
pub(crate) type Pipeline = Vec<Vec<String>>;

pub(super) fn begins_pipeline(program: &str) -> bool {
    matches!(program, "nstat" | "cat" | "grep")
}

/// Runs a pipeline. `shown` holds the counters at the last output.
///
/// # Errors
/// If it finds nothing, or an argument is not supported.
pub(crate) fn inspect(
    pipeline: &Pipeline,
    view: &View,
    shown: &mut [u64; COUNTERS.len()],
) -> Step<()> {
    let mut lines = Vec::new();
    let mut found = true;
    for (place, words) in pipeline.iter().enumerate() {
        let words = slices(words);
        let (program, arguments) = words.split_first().unwrap_or((&"", &[]));
        (lines, found) = match (*program, place) {
            ("nstat", 0) => (counted(arguments, view, shown), true),
            ("cat", 0) => (sockets(arguments, view)?, true),
            ("grep", _) => {
                let (options, rest): (Vec<&str>, Vec<&str>) =
                    arguments.iter().partition(|word| word.starts_with('-'));
                let Some((pattern, files)) = rest.split_first() else {
                    return Err(not_known(pipeline));
                };
                if place == 0 {
                    lines = sockets(files, view)?;
                }
                filtered(lines, &options, pattern).ok_or_else(|| not_known(pipeline))?
            }
            _ => return Err(not_known(pipeline)),
        };
        if let Some(counter) = unknown_counter(arguments) {
            return Err(Stop::unsupported(format!("the counter {counter} is not known here")));
        }
    }
    if found {
        return Ok(());
    }
    Err(Stop::failed(format!("the command `{}` finds nothing", written(pipeline))))
}

fn written(pipeline: &Pipeline) -> String {
    pipeline.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" | ")
}

fn not_known(pipeline: &Pipeline) -> Stop {
    Stop::unsupported(format!(
        "the command `{}` is not on the list of known ones",
        written(pipeline)
    ))
}

/// The first counter that is not supported.
fn unknown_counter<'a>(words: &[&'a str]) -> Option<&'a str> {
    let is_counter = |word: &&str| ["Tcp", "Ip", "Icmp"].iter().any(|name| word.starts_with(name));
    words.iter().copied().find(|word| is_counter(word) && !COUNTERS.contains(word))
}

/// The counters that have grown, one to a line.
fn counted(arguments: &[&str], view: &View, shown: &mut [u64; COUNTERS.len()]) -> Vec<String> {
    let grown = COUNTERS.iter().zip(view.counters.iter().zip(&*shown));
    let lines = grown
        .filter(|(_, (now, before))| now > before)
        .map(|(name, (now, before))| format!("{name:<32}{:<18} 0.0", now - before))
        .collect();
    if !arguments.contains(&"-s") {
        *shown = view.counters;
    }
    if arguments.contains(&"-n") { Vec::new() } else { lines }
}

/// Lines of `/proc/net/tcp`, with the used columns.
fn sockets(files: &[&str], view: &View) -> Step<Vec<String>> {
    if let Some(other) = files.iter().find(|file| !file.starts_with("/proc/net/tcp")) {
        return Err(Stop::unsupported(format!("the file {other} is not known here")));
    }
    let listed = view.sockets.iter().enumerate().map(|(place, (state, local, remote))| {
        format!(
            "{place:4}: 00000000:{local:04X} 00000000:{remote:04X} {state:02X} 00000000:00000000"
        )
    });
    Ok(listed.collect())
}

/// The lines that match, and whether there are any; `None` if the options are not supported.
fn filtered(lines: Vec<String>, options: &[&str], pattern: &str) -> Option<(Vec<String>, bool)> {
    let plain = !pattern.contains(['*', '[', ']', '^', '$', '\\']);
    if !plain || !options.iter().all(|option| matches!(*option, "-q" | "-v")) {
        return None;
    }
    let inverted = options.contains(&"-v");
    let lines: Vec<String> =
        lines.into_iter().filter(|line| line.contains(pattern) != inverted).collect();
    let found = !lines.is_empty();
    Some((lines, found))
}
