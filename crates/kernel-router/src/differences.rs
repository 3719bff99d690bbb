//! What differs from our own links, in the numbers of an experiment.

use super::commands::bucket;
use fairwind_kernel_settings::Note;
use fairwind_scenario::Experiment;
use fairwind_units::ByteCount;
use std::collections::BTreeMap;

/// How packets pass a link with a rate, where htb makes the rate; once for each bucket.
pub fn differences(experiment: &Experiment) -> Vec<Note> {
    let network = &experiment.network;
    let mut links: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for link in &network.links {
        let Some(rate) = link.rate else { continue };
        let packet = network.mtu + ByteCount::new(link.overhead_bytes.into());
        links.entry(bucket(rate, packet)).or_default().push(&link.name);
    }
    let remark = |(bytes, links): (u64, Vec<&str>)| Note {
        key: "path.router".to_owned(),
        text: format!(
            "htb on {}: packets leave its queue as soon as its rate allows, so they are earlier by \
             their own serialisation time; and after a pause up to {bytes} bytes pass at once",
            links.join(" and ")
        ),
    };
    links.into_iter().map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::differences;
    use fairwind_scenario::Document;

    #[test]
    fn the_bucket_of_each_rate_is_told_once() {
        let text = r#"
            name = "kernel"
            duration = "1 s"
            [path]
            rate = "100 Mbit/s"
            rtt = "0 ms"
            router = "kernel"
            queue = { limit = "20 packets" }
            [[flows]]
            name = "greedy"
            workload = { kind = "greedy" }
        "#;
        let document = Document::parse("kernel.toml", text).expect("it is valid");
        let grid = document.grid().expect("a grid");
        let told = differences(&document.experiment(&grid[0]).expect("it is complete"));
        assert_eq!(told.len(), 1, "{told:?}");
        // 100 Mbit/s bring 2500 bytes in 0.2 ms.
        assert!(told[0].text.contains("2500 bytes"), "{told:?}");
    }
}
