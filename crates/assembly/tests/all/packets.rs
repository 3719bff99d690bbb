//! Packets of which a scenario says how long they are have that length, headers included.

use super::parcel::Parcel;
use fairwind_assembly::Assembly;
use fairwind_scenario::Document;
use fairwind_units::Instant;
use fairwind_workload::Application;

const SEED: u64 = 11;
const WRITES: u32 = 100_000;
/// IPv4 (20), TCP (20) and timestamps (12).
const HEADER_BYTES: u32 = 52;

/// The application as an engine gets it, begun.
fn application(workload: &str) -> Application {
    let text = format!(
        "name = \"packets\"\nduration = \"1 s\"\n[path]\nrate = \"1 Mbit/s\"\nrtt = \"20 ms\"\n\
         [[flows]]\nname = \"one\"\nworkload = {{ {workload} }}\n"
    );
    let document = Document::parse("packets.toml", &text).expect("this is TOML");
    let point = &document.grid().expect("there is one point")[0];
    let experiment = document.experiment(point).expect("the scenario keeps all rules");
    let assembly = Assembly::<Parcel>::new(&experiment, SEED, |_| true).expect("it is a network");
    let connection = assembly.flows.into_iter().map(|plan| plan.application);
    let mut plans = connection.chain(assembly.datagrams.into_iter().map(|plan| plan.application));
    let mut application = plans.next().expect("there is one flow");
    application.begin(Instant::ZERO);
    application
}

/// Least, mean and standard deviation of the lengths of the packets that a thin stream's writes make.
fn packets(law: &str) -> [f64; 3] {
    let packet = format!("kind = \"thin\", interval = \"1 ms\", packet = {{ {law} }}");
    let mut application = application(&packet);
    let lengths: Vec<f64> = (0..WRITES)
        .map(|_| {
            let bytes = application.poll_write(application.next_write(), 0).expect("it is due");
            f64::from(u32::try_from(bytes).expect("a short packet") + HEADER_BYTES)
        })
        .collect();
    let mean = lengths.iter().sum::<f64>() / f64::from(WRITES);
    let square = lengths.iter().map(|length| (length - mean).powi(2)).sum::<f64>();
    let least = lengths.iter().copied().fold(f64::INFINITY, f64::min);
    [least, mean, (square / f64::from(WRITES)).sqrt()]
}

#[test]
fn packet_length_draw_includes_headers() {
    let [_, mean, deviation] =
        packets("distribution = \"normal\", mean = \"600 B\", deviation = \"40 B\"");
    assert!((mean - 600.0).abs() < 0.6 && (deviation - 40.0).abs() < 0.4, "{mean} {deviation}");
    // Of shape 5 the mean is 5/4 of the least, and the variance 5/48 of its square.
    let [least, mean, deviation] =
        packets("distribution = \"pareto\", min = \"400 B\", shape = 5.0");
    assert!((400.0..401.0).contains(&least), "{least}");
    assert!((mean - 500.0).abs() < 2.0 && (deviation - 129.1).abs() < 8.0, "{mean} {deviation}");
    let [_, mean, deviation] = packets(
        "distribution = \"lognormal\", mean = \"500 B\", deviation = \"100 B\", min = \"60 B\"",
    );
    assert!((mean - 500.0).abs() < 1.5 && (deviation - 100.0).abs() < 2.0, "{mean} {deviation}");
    // Nothing is shorter than its headers and one byte: below them are 8.4 % of all, 25.6 B on average.
    let [least, mean, _] = packets("distribution = \"exponential\", mean = \"600 B\"");
    assert!(
        (least - 53.0).abs() < 0.5 && (mean - (600.0 + 0.084 * (53.0 - 25.6))).abs() < 8.0,
        "{least} {mean}"
    );
    let [least, mean, _] = packets("distribution = \"uniform\", min = \"100 B\", max = \"200 B\"");
    assert!((least - 100.0).abs() < 0.5 && (mean - 150.0).abs() < 0.4, "{least} {mean}");
}

#[test]
fn constant_rate_counts_headers_of_all_packets() {
    // 3000 B leave as 1472, 1472 and 56 B with 28 B of headers each; over TCP as 1448, 1448 and 104 B with 52 B each.
    for (transport, bytes) in [("udp", 3000 + 3 * 28), ("tcp", 3000 + 3 * 52)] {
        let mut application = application(&format!(
            "kind = \"constant\", payload = \"3000 B\", transport = \"{transport}\", rate = \"{} bit/s\"",
            bytes * 8
        ));
        assert_eq!(application.poll_write(Instant::ZERO, 0), Some(3000));
        assert_eq!(application.next_write(), Instant::from_secs(1), "{transport}");
    }
}
