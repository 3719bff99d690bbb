//! Scenarios with everything that a simulation can have in a capture.

/// A name, and the text of a scenario.
pub(crate) type Scenario = (&'static str, String);

/// One path with everything on it: greedy, thin, finite and asking flows.
fn mixed(path: &str, tcp: &str, more: &str) -> String {
    format!(
        r#"
        name = "mixed"
        duration = "60 s"
        [path]
        rate = "3 Mbit/s"
        rtt = "80 ms"
        queue = {{ discipline = "pfifo", limit = "15 packets" }}
        {path}
        [[flows]]
        name = "greedy"
        count = 2
        workload = {{ kind = "greedy" }}
        {tcp}
        [[flows]]
        name = "finite"
        count = 3
        start = "2 s"
        start_spread = "20 s"
        workload = {{ kind = "greedy", volume = "200 kB" }}
        {tcp}
        [[flows]]
        name = "thin"
        count = 4
        start_spread = "1 s"
        workload = {{ kind = "thin", payload = "120 B", interval = "100 ms" }}
        {tcp}
        [[flows]]
        name = "web"
        count = 2
        workload = {{ kind = "request-response", request = "400 B", response = "30 kB", pause = "700 ms" }}
        {tcp}
        [[flows]]
        name = "calls"
        workload = {{ kind = "request-response", request = "20 kB", response = "300 B", exchanges = 12, think_time = "100 ms" }}
        {tcp}
        [measure]
        intervals = ["10 s", "700 ms"]
        per_flow_intervals = true
        {more}
        "#
    )
}

const CAPTURE: &str = "[capture]\npoints = [\"sender\", \"receiver\"]";

/// All of them.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let plain = CAPTURE;
    let warm = &format!("warmup = \"15 s\"\n{CAPTURE}");
    let snap = &format!("{CAPTURE}\nsnap = \"96 B\"");
    vec![
        ("drops", mixed("", "", plain)),
        ("loss", mixed("loss = \"3 %\"\nreverse_loss = \"2 %\"", "", plain)),
        ("heavy loss", mixed("loss = \"15 %\"\nreverse_loss = \"15 %\"", "", plain)),
        ("warm-up", mixed("loss = \"2 %\"", "", warm)),
        ("IPv6, snap", mixed("loss = \"2 %\"\nip_version = 6", "", snap)),
        ("no SACK", mixed("loss = \"2 %\"", "tcp = { sack = false }", plain)),
        (
            "no timestamps",
            mixed("loss = \"2 %\"\nreverse_loss = \"2 %\"", "tcp = { timestamps = false }", plain),
        ),
        (
            "thin mechanisms",
            mixed(
                "loss = \"4 %\"",
                "tcp = { profile = \"linux-3.16\", linear_timeouts = true, modified_fast_retransmit = true }",
                plain,
            ),
        ),
        ("Linux 2.6", mixed("loss = \"2 %\"", "tcp = { profile = \"linux-2.6\" }", plain)),
        ("FreeBSD 5.4", mixed("loss = \"2 %\"", "tcp = { profile = \"freebsd-5.4\" }", plain)),
        ("FreeBSD 14", mixed("loss = \"2 %\"", "tcp = { profile = \"freebsd-14\" }", plain)),
        ("RFC", mixed("loss = \"2 %\"", "tcp = { profile = \"rfc\" }", plain)),
        ("ECN", mixed("loss = \"2 %\"", "tcp = { ecn = \"accurate\" }", plain)),
        (
            "small window",
            mixed("loss = \"1 %\"", "receiver_tcp = { receive_buffer = \"6 kB\" }", plain),
        ),
    ]
}
