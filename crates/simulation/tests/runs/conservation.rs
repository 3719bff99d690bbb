//! Conservation of packets: sent = delivered + dropped + in flight.

use crate::run::{outcome, sum};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_delivered_dropped_or_in_flight(
        seed in 0_u64..1 << 60,
        rate_kbit in 200_u64..20_000,
        rtt_ms in 2_u64..300,
        limit in 1_u64..60,
        bytes in any::<bool>(),
        loss_percent in 0_u64..15,
        greedy in 0_u64..6,
        thin in 1_u64..12,
        asking in 0_u64..4,
        ip_version in prop_oneof![Just(4), Just(6)],
        sack in any::<bool>(),
    ) {
        let queue = if bytes {
            format!("{{ discipline = \"bfifo\", limit = \"{} B\" }}", limit * 1500)
        } else {
            format!("{{ discipline = \"pfifo\", limit = \"{limit} packets\" }}")
        };
        let greedy_flows = if greedy == 0 { String::new() } else {
            format!("[[flows]]\nname = \"greedy\"\ncount = {greedy}\nworkload = {{ kind = \"greedy\" }}\ntcp = {{ sack = {sack} }}")
        };
        let asking_flows = if asking == 0 { String::new() } else {
            format!("[[flows]]\nname = \"asking\"\ncount = {asking}\nworkload = {{ kind = \"request-response\", request = \"400 B\", response = \"20 kB\" }}\ntcp = {{ sack = {sack} }}")
        };
        let text = format!(r#"
            name = "conservation"
            duration = "20 s"
            [path]
            rate = "{rate_kbit} kbit/s"
            rtt = "{rtt_ms} ms"
            queue = {queue}
            loss = "{loss_percent} %"
            reverse_loss = "{loss_percent} %"
            ip_version = {ip_version}
            {greedy_flows}
            {asking_flows}
            [[flows]]
            name = "thin"
            count = {thin}
            start_spread = "1 s"
            workload = {{ kind = "thin", payload = "120 B", interval = "50 ms" }}
            tcp = {{ sack = {sack}, modified_fast_retransmit = true, linear_timeouts = true }}
        "#);
        let outcome = outcome(&text, seed);
        let queues = outcome.tables.get("queues").unwrap();
        let dropped = sum(queues, "drops_packets");
        let whole = |packets: u64| f64::from(u32::try_from(packets).unwrap());
        let accounted = whole(outcome.packets_delivered) + dropped + whole(outcome.packets_in_transit);
        prop_assert_eq!(whole(outcome.packets_injected), accounted);
        // The measures tell the same story as the network.
        let flows = outcome.tables.get("flows").unwrap();
        let sent = sum(flows, "packets_sent") + sum(flows, "ack_packets_sent");
        let lost = sum(flows, "packets_lost") + sum(flows, "ack_packets_lost");
        prop_assert_eq!(whole(outcome.packets_injected), sent);
        prop_assert_eq!(dropped, lost);
    }
}
