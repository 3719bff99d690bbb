//! Analyses captures as the command does by default, and prints packets per CPU second.
//!
//! `analyse_speed [--repeat N] SENDER [RECEIVER]`: for each repetition a line with the packets of the first
//! capture, CPU seconds, and packets per second. `tools/bench_analyse.py` makes captures and runs it beside
//! `tcptrace`.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use fairwind_analyse::{Analysis, CaptureSource, Progress, Settings};
use fairwind_capture::{EndOfFile, Input};
use std::fs::read_to_string;

type Failure = Box<dyn std::error::Error>;

/// Packets that are read between two looks at what can be handed out.
const STEP: u64 = 1 << 16;
/// Rows that wait before they are handed out.
const ROWS: usize = 10_000;

fn main() -> Result<(), Failure> {
    let mut repeat = 5;
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--repeat" {
            repeat = arguments.next().ok_or("--repeat needs a number")?.parse()?;
        } else {
            files.push(argument);
        }
    }
    for _ in 0..repeat {
        let before = cpu_seconds()?;
        let packets = analyse(&files)?;
        let seconds = cpu_seconds()? - before;
        #[expect(clippy::cast_precision_loss, reason = "a count of packets")]
        let rate = packets as f64 / seconds;
        println!("{packets} {seconds:.4} {rate:.0}");
    }
    Ok(())
}

fn analyse(files: &[String]) -> Result<u64, Failure> {
    let open = |name: &String| CaptureSource::open(vec![Input::named(name)], EndOfFile::Final);
    let settings = Settings::default();
    let mut analysis = match files {
        [sender] => Analysis::of_one(open(sender)?, settings)?,
        [sender, receiver] => Analysis::of_two(open(sender)?, open(receiver)?, settings)?,
        _ => return Err("one capture, or two, are to be named".into()),
    };
    while analysis.advance(STEP) == Progress::Working {
        drop(analysis.take_rows(ROWS));
    }
    Ok(analysis.finish().facts.packets[0])
}

/// CPU time of this thread so far, from the scheduler's own account.
fn cpu_seconds() -> Result<f64, Failure> {
    let text = read_to_string("/proc/thread-self/schedstat")?;
    let nanos: f64 = text.split_whitespace().next().ok_or("an empty schedstat")?.parse()?;
    Ok(nanos / 1e9)
}
