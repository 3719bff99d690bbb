//! A web server that is our endpoint, fetched from by a real program over the kernel's TCP.
//!
//! `live_server [--ipv6] [--profile NAME] [--loss PERCENT] [--reordering PERCENT]
//! [--duplication PERCENT] [--delay MILLISECONDS] [-- PROGRAM ARGUMENT...]` runs the program (without one:
//! `curl` for 10 MB) in a network namespace in which `URL` is the server's address; `GET /N` answers N
//! bytes. Needs root. The exit code is 0 where the program's is, 1 where not, 2 where it could not be run.
//!
//!     cargo run --release -p fairwind-testbed --example live_server -- --loss 1 -- sh -c 'curl -s $URL/1000000 | wc -c'

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints what it found"
)]

use fairwind_kernel_testing::live::{Ends, HttpServer, IpFamily, LiveOptions, converse};
use fairwind_tcp::Profile;
use fairwind_units::{Ratio, Span};
use std::net::IpAddr;
use std::process::{Command, ExitCode};

type Problem = Box<dyn std::error::Error>;

const PORT: u16 = 80;
/// The default program.
const USUAL: &str = "curl --silent --show-error --globoff --output /dev/null \
    --write-out '%{size_download} bytes in %{time_total} s\n' $URL/10000000";
/// Timeout of a transfer.
const LIMIT: Span = Span::from_secs(3600);

fn main() -> ExitCode {
    served().unwrap_or_else(|problem| {
        eprintln!("error: {problem}");
        ExitCode::from(2)
    })
}

fn served() -> Result<ExitCode, Problem> {
    let mut profile = Profile::Linux6_18;
    let mut options = LiveOptions::new(IpFamily::V4, profile.config());
    options.limit = LIMIT;
    options.impairments.detour = Span::from_millis(5);
    let mut program = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        let mut share = || -> Result<Ratio, Problem> {
            let text = value()?;
            format!("{text} %")
                .parse()
                .map_err(|error| format!("{argument} {text}: {error}").into())
        };
        match argument.as_str() {
            "--ipv6" => options.ip = IpFamily::V6,
            "--loss" => options.impairments.loss = share()?,
            "--reordering" => options.impairments.reordering = share()?,
            "--duplication" => options.impairments.duplication = share()?,
            "--delay" => {
                let text = value()?;
                let delay = format!("{text} ms").parse();
                options.impairments.delay =
                    delay.map_err(|error| format!("--delay {text}: {error}"))?;
            }
            "--profile" => profile = value()?.parse()?,
            "--" => program = arguments.by_ref().collect(),
            other => return Err(format!("{other} is not known").into()),
        }
    }
    options.config = profile.config();
    let usual = ["sh", "-c", USUAL].map(str::to_owned);
    let fetch = |ends: Ends| {
        let url = match ends.ours {
            IpAddr::V4(address) => format!("http://{address}:{PORT}"),
            IpAddr::V6(address) => format!("http://[{address}]:{PORT}"),
        };
        let (name, rest) = program.split_first().unwrap_or((&usual[0], &usual[1..]));
        let mut command = Command::new(name);
        command.args(rest);
        command.env("URL", url).status()
    };
    let name = program.first().map_or(USUAL, String::as_str);
    let status = converse(&options, &mut HttpServer::new(PORT), fetch)?
        .map_err(|error| format!("{name}: {error}"))?;
    println!("the program has ended: {status}");
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
