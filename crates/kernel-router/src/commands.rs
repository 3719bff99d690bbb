//! What `ip` and `tc` are told.

use super::layout::{Cable, CableEnd, Discipline};
use super::queues;
use fairwind_units::{BitRate, ByteCount, Ratio, Span};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address of every device, which only ever speaks with the one at the other end of its veth.
pub(super) const HARDWARE_ADDRESS: &str = "02:00:00:00:00:01";
/// Who is at the other end of every veth, as routes name them.
pub(super) const NEIGHBOURS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1)),
];
/// Bytes of an Ethernet header, which disciplines count and our links do not.
const ETHERNET_HEADER: u32 = 14;
/// Room for everything.
const UNLIMITED: u32 = 1_000_000;
/// Up to this late a packet may leave without its rate being missed.
const LATENESS: Span = Span::from_micros(200);

/// How a namespace in the middle is set up: it forwards, asks nobody and tells nobody.
pub(super) const FORWARDING: &str = "\
sysctl -q -e net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0 \
net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 \
net.ipv6.conf.default.addr_gen_mode=1
ip link set lo up
";

/// Makes a veth, in the namespace of its first end; the other is that at `namespace`.
pub(super) fn lay(veth: &Cable, mtu: ByteCount, namespace: &str) -> String {
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
pub(super) fn bring_up(end: &CableEnd, mtu: ByteCount) -> String {
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
        &Discipline::Rate { rate: None, ref queue, overhead_bytes, .. } => {
            let overhead = i64::from(overhead_bytes) - i64::from(ETHERNET_HEADER);
            let text = queues::commands(device, "root", 0x10, queue);
            text.replacen(
                " handle 10: ",
                &format!(" handle 10: stab overhead {overhead} linklayer ethernet "),
                1,
            )
        }
        &Discipline::Rate { rate: Some(rate), ref queue, overhead_bytes, .. } => {
            let bucket = bucket(rate, mtu + ByteCount::new(overhead_bytes.into()));
            let rate = rate.as_bits_per_second();
            // Packets cost what they do on our links, in the rate as in a queue's bytes.
            let overhead = i64::from(overhead_bytes) - i64::from(ETHERNET_HEADER);
            format!(
                "tc qdisc replace dev {device} root handle 1: \
                 stab overhead {overhead} linklayer ethernet htb default 1
tc class replace dev {device} parent 1: classid 1:1 \
                 htb rate {rate}bit burst {bucket} cburst {bucket} quantum {}
{}",
                mtu.get(),
                queues::commands(device, "parent 1:1", 0x10, queue)
            )
        }
        &Discipline::Delay { delay, loss, .. } => {
            format!("tc qdisc replace dev {device} root handle 1: {}\n", netem(delay, loss))
        }
    }
}

fn netem(delay: Span, loss: Ratio) -> String {
    let nanos = delay.as_nanos();
    let mut text = format!("netem limit {UNLIMITED} delay {}.{:03}us", nanos / 1000, nanos % 1000);
    if loss != Ratio::ZERO {
        let parts = loss.as_parts_per_billion();
        let _ = write!(text, " loss {}.{:07}%", parts / 10_000_000, parts % 10_000_000);
    }
    text
}

/// Bytes that may leave at once after a pause: one full packet, or what the rate brings while the
/// kernel's timer is late, where that is more. With less, the rate would not be reached; with more,
/// bursts would pass that a link does not let pass.
pub(super) fn bucket(rate: BitRate, packet: ByteCount) -> u64 {
    rate.bytes_in(LATENESS).get().max(packet.get())
}

#[cfg(test)]
mod tests {
    use super::{bucket, discipline, netem, routes};
    use crate::layout::Discipline;
    use fairwind_scenario::Qdisc;
    use fairwind_units::{BitRate, ByteCount, Ratio, Span};

    const MTU: ByteCount = ByteCount::new(1500);

    #[test]
    fn a_bucket_holds_a_packet_and_at_high_rates_what_a_late_timer_misses() {
        assert_eq!(bucket(BitRate::from_bits_per_second(1_000_000), MTU), 1500);
        assert_eq!(bucket(BitRate::from_bits_per_second(250_000_000), MTU), 6250);
    }

    #[test]
    fn a_rate_counts_ip_packets_and_what_the_scenario_adds() {
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
    fn delay_and_loss_are_told_exactly() {
        let loss = Ratio::from_parts_per_billion(12_500_000);
        assert_eq!(
            netem(Span::from_nanos(81_000_007), loss),
            "netem limit 1000000 delay 81000.007us loss 1.2500000%"
        );
    }

    #[test]
    fn addresses_of_both_versions_have_neighbours_of_their_own() {
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
}
