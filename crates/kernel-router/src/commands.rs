//! Commands of `ip` and `tc` for links and queues, and the queues that the kernel does not support.

use super::layout::{Discipline, ETHERNET_HEADER, UNLIMITED, VethEnd, VethPair};
use fairwind_qdisc::{Htb, Loss, Tbf, tc};
use fairwind_scenario::Qdisc;
use fairwind_units::{BitRate, ByteCount, Span};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address of every device, which only ever speaks with the one at the other end of its veth.
pub(super) const HARDWARE_ADDRESS: &str = "02:00:00:00:00:01";
/// Next hops at the other end of every veth.
pub(super) const NEIGHBOURS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1)),
];
/// Up to this late a packet may leave without its rate being missed.
const LATENESS: Span = Span::from_micros(200);

/// Commands for a namespace in the middle: it forwards, without neighbour discovery or redirects.
pub(super) const FORWARDING: &str = "\
sysctl -q -e net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0 \
net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 \
net.ipv6.conf.default.addr_gen_mode=1
ip link set lo up
";

/// Makes a veth, in the namespace of its first end; the other is that at `namespace`.
pub(super) fn create(veth: &VethPair, mtu: ByteCount, namespace: &str) -> String {
    let [here, there] = &veth.ends;
    format!(
        "ip link add {} mtu {mtu} address {HARDWARE_ADDRESS} type veth \
         peer name {} mtu {mtu} address {HARDWARE_ADDRESS} netns {namespace}\n",
        here.device,
        there.device,
        mtu = mtu.get(),
    )
}

/// Brings up the end of a veth, in its namespace.
pub(super) fn bring_up(end: &VethEnd, mtu: ByteCount) -> String {
    let device = &end.device;
    let mut text = format!("ip link set {device} multicast off up\n");
    for neighbour in NEIGHBOURS {
        let _ = writeln!(
            text,
            "ip neighbor replace {neighbour} lladdr {HARDWARE_ADDRESS} dev {device} nud permanent"
        );
    }
    text + &discipline(device, &end.discipline, mtu)
}

/// Sends what is for these addresses out of a device.
pub(super) fn routes(device: &str, addresses: &[IpAddr]) -> String {
    let mut text = String::new();
    for address in addresses {
        let (bits, neighbour) = match address {
            IpAddr::V4(_) => (32, NEIGHBOURS[0]),
            IpAddr::V6(_) => (128, NEIGHBOURS[1]),
        };
        let _ = writeln!(text, "ip route add {address}/{bits} via {neighbour} dev {device} onlink");
    }
    text
}

fn discipline(device: &str, discipline: &Discipline, mtu: ByteCount) -> String {
    match discipline {
        Discipline::None => String::new(),
        &Discipline::Rate { rate, ref queue, overhead_bytes, .. } => {
            // Packets cost what they do on our links, in the rate as in a queue's bytes.
            let overhead = i64::from(overhead_bytes) - i64::from(ETHERNET_HEADER);
            let table = format!("stab overhead {overhead} linklayer ethernet");
            let Some(rate) = rate else {
                let text = queue_commands(device, "root", queue);
                return text.replacen(" handle 10: ", &format!(" handle 10: {table} "), 1);
            };
            let bucket = bucket(rate, mtu + ByteCount::new(overhead_bytes.into()));
            let rate = rate.as_bits_per_second();
            format!(
                "tc qdisc replace dev {device} root handle 1: {table} htb default 1
tc class replace dev {device} parent 1: classid 1:1 \
                 htb rate {rate}bit burst {bucket} cburst {bucket} quantum {}
{}",
                mtu.get(),
                queue_commands(device, "parent 1:1", queue)
            )
        }
        Discipline::Delay { delay, loss, .. } => {
            format!(
                "tc qdisc replace dev {device} root handle 1: {}\n",
                netem(*delay, loss.as_ref())
            )
        }
    }
}

fn netem(delay: Span, loss: Option<&Loss>) -> String {
    let nanos = delay.as_nanos();
    let loss = loss.and_then(tc::print_loss).unwrap_or_default();
    format!("netem limit {UNLIMITED} delay {}.{:03}us{loss}", nanos / 1000, nanos % 1000)
}

/// Bytes that may leave at once after a pause: one full packet, or what the rate brings while the
/// kernel's timer is late, where that is more. With less, the rate would not be reached; with more,
/// bursts would pass that a link does not let pass.
pub(super) fn bucket(rate: BitRate, packet: ByteCount) -> u64 {
    rate.bytes_in(LATENESS).get().max(packet.get())
}

/// The commands that put `queue` below `parent` of `device`, with a handle that is above all of ours.
fn queue_commands(device: &str, parent: &str, queue: &Qdisc) -> String {
    tc::kernel_commands(queue, device, parent, 0x10).join("\n") + "\n"
}

/// What of `queue` the kernel does not support, for a sentence; none if it supports everything.
pub(super) fn unsupported(queue: &Qdisc) -> Option<String> {
    let own = match queue {
        Qdisc::Tbf(Tbf { granularity, .. }) | Qdisc::Htb(Htb { granularity, .. })
            if !granularity.is_zero() =>
        {
            Some(format!("the granularity of {}, which the kernel's timers decide", queue.name()))
        }
        Qdisc::Red(red) if red.gentle => Some("gentle of red".to_owned()),
        _ => None,
    };
    own.or_else(|| queue.children().into_iter().find_map(unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Discipline;
    use crate::layout::for_kernel;
    use fairwind_qdisc::{Codel, Drr, DrrClass, Filter, HtbClass, Prio, Red};
    use fairwind_scenario::Qdisc;
    use fairwind_units::{BitRate, ByteCount, Ratio, Span};

    const MTU: ByteCount = ByteCount::new(1500);

    #[test]
    fn bucket_covers_packet_and_timer_lateness() {
        assert_eq!(bucket(BitRate::from_bits_per_second(1_000_000), MTU), 1500);
        assert_eq!(bucket(BitRate::from_bits_per_second(250_000_000), MTU), 6250);
    }

    #[test]
    fn rate_counts_ip_bytes_and_overhead() {
        let discipline = discipline(
            "cable0a",
            &Discipline::Rate {
                link: 0,
                rate: Some(BitRate::from_bits_per_second(2_000_000)),
                queue: Qdisc::Pfifo { limit_packets: 9 },
                overhead_bytes: 18,
            },
            MTU,
        );
        assert!(discipline.contains("stab overhead 4 "), "{discipline}");
        assert!(discipline.contains("rate 2000000bit burst 1518 "), "{discipline}");
        assert!(discipline.ends_with("handle 10: pfifo limit 9\n"), "{discipline}");
    }

    #[test]
    fn cake_counts_packets_as_links_do() {
        let cake = fairwind_qdisc::Cake { overhead_bytes: 18, ..fairwind_qdisc::Cake::default() };
        let text = queue_commands("eth0", "root", &for_kernel(&Qdisc::Cake(cake), &[]));
        // It takes a header of 14 bytes off what it has without one.
        assert!(text.contains(" overhead 32"), "{text}");
    }

    #[test]
    fn netem_commands_have_exact_delay_and_loss() {
        let share = Ratio::from_parts_per_billion;
        let delay = Span::from_nanos(81_000_007);
        let random = Loss::Random { probability: share(12_500_000), correlation: Ratio::ZERO };
        assert_eq!(
            netem(delay, Some(&random)),
            "netem limit 1000000 delay 81000.007us loss random 1.25% 0%"
        );
        let states = Loss::four_states(share(5_000_000), [None, None, None, Some(share(7))]);
        assert_eq!(
            netem(delay, Some(&states)),
            "netem limit 1000000 delay 81000.007us loss state 0.5% 99.5% 0% 100% 0.0000007%"
        );
    }

    #[test]
    fn ipv4_and_ipv6_have_separate_neighbours() {
        let text =
            routes("cable0a", &["10.0.0.1".parse().expect("v4"), "fd00::1".parse().expect("v6")]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "ip route add 10.0.0.1/32 via 169.254.0.1 dev cable0a onlink",
                "ip route add fd00::1/128 via fe80::1 dev cable0a onlink",
            ]
        );
    }

    fn tbf() -> Tbf {
        Tbf {
            rate: BitRate::from_bits_per_second(1_000_000),
            burst_bytes: 1520,
            limit_bytes: 9000,
            peak_rate: None,
            mtu_bytes: None,
            granularity: Span::ZERO,
            child: Some(Box::new(Qdisc::Pfifo { limit_packets: 63 })),
        }
    }

    fn htb() -> Htb {
        let class = |parent, child| HtbClass {
            name: String::new(),
            parent,
            rate: BitRate::from_bits_per_second(1_000_000),
            ceil: BitRate::from_bits_per_second(2_000_000),
            burst_bytes: 1600,
            ceil_burst_bytes: 1700,
            priority: 3,
            quantum_bytes: 1500,
            filters: Vec::new(),
            child,
        };
        Htb {
            classes: vec![class(None, None), class(Some(0), Some(Qdisc::Tbf(tbf())))],
            default_class: Some(1),
            rate_to_quantum: 10,
            direct_packets: 1000,
            granularity: Span::ZERO,
        }
    }

    #[test]
    fn tree_commands_have_unique_handles() {
        let text = queue_commands("eth0", "root", &Qdisc::Htb(htb()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "tc qdisc replace dev eth0 root handle 10: htb default 2 r2q 10 direct_qlen 1000",
                "tc class replace dev eth0 parent 10: classid 10:1 htb rate 1mbit ceil 2mbit \
                 burst 1600 cburst 1700 prio 3 quantum 1500",
                "tc class replace dev eth0 parent 10:1 classid 10:2 htb rate 1mbit ceil 2mbit \
                 burst 1600 cburst 1700 prio 3 quantum 1500",
                "tc qdisc replace dev eth0 parent 10:2 handle 11: tbf rate 1mbit burst 1520 limit 9000",
                "tc qdisc replace dev eth0 parent 11:1 handle 12: pfifo limit 63",
            ]
        );
    }

    #[test]
    fn nested_unsupported_parameter_is_named() {
        assert_eq!(unsupported(&Qdisc::Htb(htb())), None);
        let with = |change: fn(&mut Htb)| {
            let mut htb = htb();
            change(&mut htb);
            unsupported(&Qdisc::Htb(htb)).unwrap_or_default()
        };
        assert!(with(|htb| htb.granularity = Span::from_millis(1)).contains("granularity of htb"));
        let gentle = with(|htb| {
            let red = Red { gentle: true, ..Red::with_limit(60_000, htb.classes[0].rate) };
            htb.classes[1].child = Some(Qdisc::Red(red));
        });
        assert!(gentle.contains("gentle of red"), "{gentle}");
    }

    #[test]
    fn classless_disciplines_have_words_of_tc() {
        assert_eq!(
            queue_commands("eth0", "root", &Qdisc::Codel(Codel::default())),
            "tc qdisc replace dev eth0 root handle 10: codel limit 1000 target 5ms interval 100ms noecn\n"
        );
    }

    #[test]
    fn rest_of_drr_has_the_last_filter() {
        let class = |filters| DrrClass {
            quantum_bytes: 1514,
            filters,
            child: Qdisc::Pfifo { limit_packets: 9 },
        };
        let port = Filter { destination_port: Some(60_000), ..Filter::default() };
        let drr = Drr { classes: vec![class(Vec::new()), class(vec![port])] };
        let text = queue_commands("eth0", "root", &for_kernel(&Qdisc::Drr(drr), &[]));
        let filters: Vec<&str> = text.lines().filter(|line| line.contains("filter")).collect();
        assert_eq!(
            filters,
            [
                "tc filter add dev eth0 parent 10: protocol ip prio 1 u32 match ip dport 0xea60 0xffff flowid 10:1",
                "tc filter add dev eth0 parent 10: protocol ipv6 prio 2 u32 match ip6 dport 0xea60 0xffff flowid 10:1",
                "tc filter add dev eth0 parent 10: protocol all prio 3 matchall flowid 10:2",
            ]
        );
    }

    #[test]
    fn peak_rate_has_a_second_bucket() {
        let tbf = |peak_rate, mtu_bytes| {
            let queue = Qdisc::Tbf(Tbf { peak_rate, mtu_bytes, child: None, ..tbf() });
            queue_commands("eth0", "root", &for_kernel(&queue, &[]))
        };
        let peak = Some(BitRate::from_bits_per_second(2_000_000));
        assert!(tbf(peak, None).ends_with("limit 9000 peakrate 2mbit mtu 1500\n"));
        assert!(tbf(peak, Some(1514)).ends_with("limit 9000 peakrate 2mbit mtu 1514\n"));
        assert!(tbf(None, Some(1514)).ends_with("limit 9000\n"));
    }

    #[test]
    fn unlimited_queue_has_room_for_everything() {
        let text = queue_commands("eth0", "root", &for_kernel(&Qdisc::Unlimited {}, &[]));
        assert!(text.ends_with("handle 10: pfifo limit 1000000\n"), "{text}");
    }

    #[test]
    fn bands_of_prio_stand_below_it() {
        let text = queue_commands("eth0", "root", &Qdisc::Prio(Prio::default()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "tc qdisc replace dev eth0 root handle 10: prio bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
        );
        assert_eq!(lines[3], "tc qdisc replace dev eth0 parent 10:3 handle 13: pfifo limit 1000");
        assert_eq!(lines.len(), 4);
    }
}
