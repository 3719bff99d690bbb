//! A network of the kernel's own parts in place of ours, watched by eBPF programs or, in builds without them, by packet
//! sockets.

use super::hosts::stage::command;
use super::is_available;
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_bpf as ebpf;
use fairwind_kernel_testing::can_run;
use fairwind_measure::Tables;
use fairwind_scenario::{Document, Experiment};
use fairwind_testbed::{KernelRun, RunError};

/// Nothing but a rate and a queue, as every kernel with htb has them.
const PATH: &str = "rate = \"10 Mbit/s\"\nrtt = \"0 ms\"\n";

pub(crate) fn experiment(path: &str, flows: &str) -> Experiment {
    let text = format!("name = \"router\"\nduration = \"4 s\"\n[path]\n{path}\n{flows}");
    let document = Document::parse("router.toml", &text).expect("a scenario");
    document.experiment(&document.grid().expect("a grid")[0]).expect("an experiment")
}

pub(crate) fn run(experiment: &Experiment) -> Result<Tables, RunError> {
    let run = KernelRun::new(experiment, 1, CaptureFiles::default(), command())?;
    Ok(run.run(&Control::default())?.tables)
}

/// Repetitions of a pair of runs: another program on the machine slows the kernel's router for a second or two, a wrong
/// one differs every time.
const MAX_ATTEMPTS: u32 = 3;

/// Whether goodput through our router and through the kernel's differs by less than 3 %.
fn is_alike(mine: f64, kernels: f64) -> bool {
    (mine - kernels).abs() < 0.03 * mine
}

/// Tables of our router and of the kernel's, of the first pair with goodput alike, or of the last one.
fn pair_of_runs(path: &str) -> [Tables; 2] {
    let flows = "[[flows]]\nname = \"greedy\"\nworkload = { kind = \"greedy\" }\n";
    let experiments = [path.to_owned(), format!("{path}router = \"kernel\"")]
        .map(|path| experiment(&path, flows));
    let mut attempt = 1;
    loop {
        let runs = experiments.each_ref().map(|one| run(one).expect("a run"));
        let [mine, kernels] =
            runs.each_ref().map(|tables| number(tables, "flows", "goodput_bits_per_second"));
        if is_alike(mine, kernels) || attempt == MAX_ATTEMPTS {
            return runs;
        }
        println!("attempt {attempt}: goodput {mine} and {kernels} bit/s");
        attempt += 1;
    }
}

/// The first value of a column.
pub(crate) fn number(tables: &Tables, table: &str, column: &str) -> f64 {
    let table = tables.iter().find(|one| one.name == table).expect("a table");
    let column = table.columns.iter().find(|one| one.name == column).expect("a column");
    column.values.number(0).expect("a number")
}

pub(crate) fn has_programs(test: &str) -> bool {
    can_run(test, ebpf::availability().err()) && is_available(test)
}

#[test]
fn greedy_goodput_matches_on_both_routers() {
    if !is_available("greedy_goodput_matches_on_both_routers") {
        return;
    }
    for queue in ["pfifo\", limit = \"20 packets", "bfifo\", limit = \"30 kB"] {
        let path = format!("{PATH}queue = {{ discipline = \"{queue}\" }}\n");
        let [ours, theirs] = pair_of_runs(&path);
        let of = |tables, column| number(tables, "flows", column);
        let [mine, kernels] = [&ours, &theirs].map(|tables| of(tables, "goodput_bits_per_second"));
        assert!(is_alike(mine, kernels), "{queue}: {mine} and {kernels} bit/s");
        // Bytes that were read have arrived. Unreported packets count as missed, except for the few that
        // pass while the device counters are read.
        let unseen = of(&theirs, "payload_bytes_read") - of(&theirs, "payload_bytes_received");
        let missed = number(&theirs, "lateness", "events_missed");
        assert!(unseen <= 1448.0 * (missed + 5.0), "{queue}: {unseen} bytes, {missed} packets");
        // The queue is full now and then, and each drop is counted once: as lost, and at the queue.
        let lost = of(&theirs, "packets_lost");
        assert!(lost > 0.0, "{queue}: nothing was dropped");
        assert!((lost - number(&theirs, "queues", "drops_queue_full_packets")).abs() < 0.5);
        let [mine, kernels] =
            [&ours, &theirs].map(|tables| number(tables, "queues", "backlog_mean_packets"));
        assert!((mine - kernels).abs() < 0.25 * mine, "{queue}: {mine} and {kernels} packets");
    }
}

#[test]
fn kernel_shapers_match_ours() {
    if !is_available("kernel_shapers_match_ours") {
        return;
    }
    let child = "child = { limit = \"20 packets\" }";
    for shaper in ["tbf\", rate = \"10 Mbit/s\", burst = \"3 kB\"", "htb\", rate = \"10 Mbit/s\""] {
        let path = format!(
            "rate = \"100 Mbit/s\"\nrtt = \"0 ms\"\nqueue = {{ discipline = \"{shaper}, {child} }}\n"
        );
        let [ours, theirs] = pair_of_runs(&path);
        let both = |table, column| [&ours, &theirs].map(|tables| number(tables, table, column));
        let [mine, kernels] = both("flows", "goodput_bits_per_second");
        println!("{shaper}: goodput {mine} and {kernels} bit/s");
        assert!(is_alike(mine, kernels), "{shaper}: {mine} and {kernels} bit/s");
        let [mine, kernels] = both("queues", "drops_queue_full_packets");
        println!("{shaper}: {mine} and {kernels} packets dropped");
        assert!(
            mine > 0.0 && (mine - kernels).abs() < 0.3 * mine + 10.0,
            "{shaper}: {mine} and {kernels}"
        );
        let [mine, kernels] = both("queues", "backlog_mean_packets");
        assert!((mine - kernels).abs() < 0.25 * mine, "{shaper}: {mine} and {kernels} packets");
    }
}

#[test]
fn unsupported_disciplines_are_named_early() {
    if !is_available("unsupported_disciplines_are_named_early") {
        return;
    }
    let flows = "[[flows]]\nname = \"greedy\"\nworkload = { kind = \"greedy\" }\n";
    let coarse = "{ discipline = \"tbf\", rate = \"5 Mbit/s\", burst = \"3 kB\", limit = \"9 kB\", \
                  granularity = \"4 ms\" }";
    let gentle = "{ discipline = \"red\", limit = \"60 kB\", gentle = true }";
    for (queue, word) in [(gentle, "gentle of red"), (coarse, "granularity of tbf")] {
        let path = format!("{PATH}queue = {queue}\nrouter = \"kernel\"");
        let refused =
            KernelRun::new(&experiment(&path, flows), 1, CaptureFiles::default(), command());
        let text = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains(word), "{word} is not in: {text}");
    }
}

#[test]
fn idle_kernel_router_forwards_immediately() {
    if !is_available("idle_kernel_router_forwards_immediately") {
        return;
    }
    let flows = "[[flows]]\nname = \"thin\"\nworkload = { kind = \"thin\", payload = \"100 B\", \
                 interval = \"20 ms\" }\n";
    for ip_version in [4, 6] {
        let path = format!(
            "{PATH}queue = {{ limit = \"20 packets\" }}\nrouter = \"kernel\"\n\
             ip_version = {ip_version}\n"
        );
        let tables = run(&experiment(&path, flows)).expect("a run");
        let of = |column| number(&tables, "flows", column);
        // Every packet is seen at both hosts and reported at most once; unreported ones are counted.
        let missed = number(&tables, "lateness", "events_missed");
        assert!((of("packets_sent") - of("packets_received")).abs() < missed + 1.5);
        assert!(of("data_segments_sent") + missed >= 150.0);
        assert!(of("packets_lost") < 0.5);
    }
}

#[test]
fn missing_kernel_features_are_named_early() {
    if !is_available("missing_kernel_features_are_named_early") {
        return;
    }
    let flows = "[[flows]]\nname = \"greedy\"\nworkload = { kind = \"greedy\" }\n";
    let delayed = experiment("rate = \"1 Mbit/s\"\nrtt = \"20 ms\"\nrouter = \"kernel\"", flows);
    match KernelRun::new(&delayed, 1, CaptureFiles::default(), command()) {
        Ok(_) => println!("this kernel has netem, so that there is nothing to name"),
        Err(error) => {
            let text = error.to_string();
            for word in ["netem", "CONFIG_NET_SCH_NETEM", "rtt = \"0 ms\"", "path.router"] {
                assert!(text.contains(word), "{word} is not in: {text}");
            }
        }
    }
}
