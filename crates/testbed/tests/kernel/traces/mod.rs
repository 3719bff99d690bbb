//! Comparison of a congestion control in the kernel with the same source compiled natively. A real
//! connection goes through our router, and each hook records its input and output. Then the recorded calls
//! are replayed in the simulator's form, which keeps its own state.

#![expect(clippy::unwrap_used, reason = "a test that meets an error fails there")]

mod recorder;
mod replay;
mod tape;

use crate::is_available;
use crate::runs::controls::MACHINE;
use crate::runs::stage::{command, number, table};
use fairwind_assembly::{CaptureFiles, Control};
use fairwind_kernel_settings::controls::{ControlObject, obstacle};
use fairwind_kernel_testing::can_run;
use fairwind_scenario::{Document, Experiment};
use fairwind_tcp::PluggedAlgorithm;
use fairwind_testbed::KernelRun;
use recorder::Recorder;
use replay::Replay;
use std::path::Path;

/// Many flows at a queue that marks what can be marked and loses from each of them again and again; packets that overtake
/// make some reductions needless.
fn experiment(controls: &[ControlObject]) -> Experiment {
    let group = |control: &ControlObject| {
        let name = &control.name;
        format!(
            "[[flows]]\nname = \"{name}\"\nworkload = {{ kind = \"greedy\" }}\n\
             tcp = {{ congestion = \"{name}\" }}\n"
        )
    };
    let groups: String = controls.iter().map(group).collect();
    // DCTCP answers marks of data in its own way, where the receiver has it.
    let answers = controls.iter().find(|control| control.name.contains("dctcp")).map(|control| {
        let both = group(control).replace("name = \"", "name = \"answered-");
        format!("{both}receiver_tcp = {{ congestion = \"{}\" }}\n", control.name)
    });
    let groups = groups + &answers.unwrap_or_default();
    let text = format!(
        "name = \"recorded\"\nduration = \"8 s\"\n[path]\nrate = \"40 Mbit/s\"\nrtt = \"20 ms\"\n\
         impairments = {{ delay = \"10 ms\", reorder = {{ probability = \"2 %\" }} }}\n\
         queue = {{ discipline = \"codel\", ecn = true, target = \"200 ms\", limit = \"60 packets\", \
         ce_threshold = \"8 ms\" }}\n{groups}"
    );
    let mut document = Document::parse("recorded.toml", &text).unwrap();
    for control in controls {
        document.provide_control(&control.name);
    }
    document.experiment(&document.grid().unwrap()[0]).unwrap()
}

#[test]
fn algorithms_agree_between_kernel_and_simulator() {
    let test = "algorithms_agree_between_kernel_and_simulator";
    if !is_available(test) || !can_run(test, obstacle()) {
        return;
    }
    let _alone = MACHINE.lock();
    let process = std::process::id();
    let algorithms = algorithms();
    let recorder = |(place, it): (usize, &Algorithm)| {
        // Not that of another test's at the same time; fifteen letters at most.
        Recorder::new(&it.name, &it.stem, &it.text, format!("fwr{place}_{process}"))
    };
    let recorders: Vec<Recorder> = algorithms.iter().enumerate().map(recorder).collect();
    let controls: Vec<ControlObject> = recorders.iter().map(|it| it.control.clone()).collect();
    let experiment = experiment(&controls);
    let files = CaptureFiles::default();
    let mark = command("fairwind-test-traces");
    let run = KernelRun::with_controls(&experiment, 1, files, mark, &controls).unwrap();
    let outcome = run.run(&Control::default()).unwrap();
    let (mut undone, mut asked, mut compared) = (0, 0, 0);
    for (row, (algorithm, recorder)) in algorithms.iter().zip(&recorders).enumerate() {
        let name = &algorithm.name;
        assert!(number(table(&outcome.tables, "flows"), "payload_bytes_read", row) > 0.0, "{name}");
        let replay = Replay::of(name, &algorithm.native, &recorder.calls());
        println!("{name}: {:?}, {} acknowledgments asked for", replay.counts, replay.asked);
        for hook in recorder.hooks() {
            // What needs an idle time or a needless reduction, not each of them has.
            let may_miss = ["cwnd_event", "undo_cwnd", "release"].contains(&hook);
            let calls = replay.counts.get(hook).copied().unwrap_or(0);
            assert!(may_miss || calls > 0, "{name}: {hook} was never called");
        }
        let grows = if name == OWN { "cong_control" } else { "cong_avoid" };
        // A flow that the others crowd out makes few calls; each of them is still compared.
        assert!(replay.counts[grows] >= 10, "{name}: {:?}", replay.counts);
        compared += replay.counts[grows];
        undone += replay.counts.get("undo_cwnd").copied().unwrap_or(0);
        asked += replay.asked;
    }
    assert!(compared > 1000, "too few acknowledgments were compared");
    assert!(undone > 0, "none of the reductions was needless");
    assert!(asked > 0, "no change of marks was answered at once");
}

/// A user's file with `cong_control`, which no file of the repository has.
const OWN: &str = "rates";
const OWN_SOURCE: &str = "../congestion/tests/own/rates.c";

/// An algorithm in both of its forms.
struct Algorithm {
    name: String,
    /// What its functions' names begin with, and the name in its table.
    stem: String,
    text: String,
    native: PluggedAlgorithm,
}

/// All of the repository's, and one's own.
fn algorithms() -> Vec<Algorithm> {
    let of_repository = |name: String| Algorithm {
        stem: format!("fw_{}", name.trim_end_matches("-c")),
        text: fairwind_congestion::source_of(&name).unwrap().to_owned(),
        native: fairwind_congestion::built_in(&name).unwrap(),
        name,
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(OWN_SOURCE);
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("rates.so");
    fairwind_congestion::compile(&source, &library).unwrap();
    let own = Algorithm {
        name: OWN.to_owned(),
        stem: "fwt_rates".to_owned(),
        text: std::fs::read_to_string(&source).unwrap(),
        native: fairwind_congestion::load(&library, OWN).unwrap(),
    };
    fairwind_congestion::names().into_iter().map(of_repository).chain([own]).collect()
}
