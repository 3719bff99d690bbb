//! A program behind the path of a scenario, without the notebook:
//! `fairwind-shell SCENARIO.toml [--seed N] -- PROGRAM [ARGUMENT...]`.

use fairwind_assembly::CaptureFiles;
use fairwind_hosts::HostCommand;
use fairwind_scenario::Document;
use fairwind_shell::{self as shell, ShellPlan};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(code) = shell::serve(&arguments) {
        return exit_code(code);
    }
    shell::ignore_the_terminal();
    match run(&arguments[1..]) {
        Ok(code) => exit_code(code),
        Err(reason) => {
            eprintln!("error: {reason}");
            exit_code(shell::FAILED)
        }
    }
}

fn run(arguments: &[String]) -> Result<i32, Box<dyn std::error::Error>> {
    let split = arguments.iter().position(|word| word == "--").ok_or("no -- PROGRAM given")?;
    let (options, program) = (&arguments[..split], &arguments[split + 1..]);
    let file = options.first().ok_or("no SCENARIO given")?;
    let seed = seed(&options[1..])?;
    let document = Document::parse(file, &std::fs::read_to_string(file)?)?;
    let cells = document.grid()?;
    let experiment = document.experiment(cells.first().ok_or("the grid is empty")?)?;
    let plan = ShellPlan {
        experiment,
        seed,
        program: program.to_vec(),
        directory: None,
        is_environment_inherited: true,
        environment: Vec::new(),
        user: None,
        is_measured: false,
        live: Arc::default(),
        report_interval: shell::REPORT_INTERVAL,
        is_time_virtual: false,
    };
    let command = HostCommand { program: std::env::current_exe()?, arguments: Vec::new() };
    let outcome = shell::run(&plan, &command, CaptureFiles::default(), |opened| {
        let list = |addresses: &[std::net::IpAddr]| {
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        eprintln!("inside {}, outside {}", list(&opened.inside), list(&opened.outside));
        for remark in &opened.remarks {
            eprintln!("note: {remark}");
        }
        Ok(())
    })?;
    if let Some(reason) = outcome.not_started {
        eprintln!("error: {reason}");
    }
    Ok(outcome.code)
}

fn seed(options: &[String]) -> Result<u64, Box<dyn std::error::Error>> {
    match options {
        [] => Ok(1),
        [option, seed] if option == "--seed" => {
            seed.parse().map_err(|error| format!("--seed {seed}: {error}").into())
        }
        [option] if option == "--seed" => Err("--seed needs a number".into()),
        [other, ..] => Err(format!("{other} is not an option of this program").into()),
    }
}

fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::seed;

    #[test]
    fn unknown_option_is_named() {
        let of = |words: &str| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            seed(&words).map_err(|error| error.to_string())
        };
        assert_eq!(of(""), Ok(1));
        assert_eq!(of("--seed 7"), Ok(7));
        for wrong in ["--sed 7", "--seed", "--seed seven", "--seed=7", "another.toml"] {
            let error = of(wrong).expect_err(wrong);
            assert!(error.contains(wrong.split(' ').next().expect("a word")), "{error}");
        }
    }
}
