//! Warnings about a tree of disciplines that can be built but will surprise.

use crate::{Codel, Htb, HtbClass, Qdisc, QdiscFinding, Red, Tbf};
use fairwind_units::{BitRate, ByteCount, Span};

/// Warnings while they are collected.
struct Warnings {
    mtu: ByteCount,
    findings: Vec<QdiscFinding>,
}

impl Qdisc {
    /// Warnings: what can be built but will surprise before a link of this rate, with packets of up to `mtu_bytes`.
    pub fn warnings(&self, link: Option<BitRate>, mtu_bytes: u64) -> Vec<QdiscFinding> {
        let mut warnings = Warnings { mtu: ByteCount::new(mtu_bytes), findings: Vec::new() };
        warnings.queue("", self, link);
        warnings.findings
    }
}

impl Warnings {
    fn note(&mut self, is_surprising: bool, key: String, rule: impl FnOnce() -> String) {
        if is_surprising {
            self.findings.push(QdiscFinding { key, rule: rule() });
        }
    }

    fn queue(&mut self, at: &str, queue: &Qdisc, rate: Option<BitRate>) {
        match queue {
            Qdisc::Red(red) => self.red(at, red),
            Qdisc::Codel(Codel { target, interval, .. }) => {
                self.target(at, *target, *interval, rate);
            }
            Qdisc::FqCodel(fair) => self.target(at, fair.target, fair.interval, rate),
            Qdisc::Tbf(tbf) => self.tbf(at, tbf, rate),
            Qdisc::Htb(htb) => self.htb(at, htb, rate),
            Qdisc::Drr(drr) => {
                let rest = drr.classes.iter().position(|class| class.filters.is_empty());
                self.note(rest.is_some(), format!("{at}classes[{}].filters", rest.unwrap_or_default()), || {
                    "missing: the class takes what no other takes; a kernel's drr drops that, and needs a filter \
                     for everything (tc filter .. matchall)".to_owned()
                });
            }
            _ => {}
        }
        self.below(at, queue, rate);
    }

    fn below(&mut self, at: &str, queue: &Qdisc, rate: Option<BitRate>) {
        let slower = |own: BitRate| Some(rate.map_or(own, |link| link.min(own)));
        match queue {
            Qdisc::Red(Red { child: Some(child), .. }) => {
                self.queue(&format!("{at}child."), child, rate);
            }
            Qdisc::Tbf(Tbf { child: Some(child), rate: own, .. }) => {
                self.queue(&format!("{at}child."), child, slower(*own));
            }
            Qdisc::Prio(prio) => {
                for (index, band) in prio.bands.iter().enumerate() {
                    self.queue(&format!("{at}bands[{index}]."), band, rate);
                }
            }
            Qdisc::Drr(drr) => {
                for (index, class) in drr.classes.iter().enumerate() {
                    self.queue(&format!("{at}classes[{index}].child."), &class.child, rate);
                }
            }
            Qdisc::Htb(htb) => {
                for (index, class) in htb.classes.iter().enumerate() {
                    if let Some(child) = &class.child {
                        self.queue(
                            &format!("{at}classes[{index}].child."),
                            child,
                            slower(class.ceil),
                        );
                    }
                }
            }
            _ => {}
        }
    }

    fn red(&mut self, at: &str, red: &Red) {
        let is_narrow = red.max_bytes < red.min_bytes.saturating_mul(2);
        self.note(is_narrow, format!("{at}max"), || {
            "less than twice min: Floyd recommends thrice, so that queues do not swing".to_owned()
        });
        let packets = u64::from(red.burst_packets) * u64::from(red.average_packet_bytes);
        self.note(packets < red.min_bytes, format!("{at}burst"), || {
            "smaller than min: tc takes (2 min + max) / (3 avpkt), and refuses less than min / avpkt".to_owned()
        });
    }

    fn target(&mut self, at: &str, target: Span, interval: Span, rate: Option<BitRate>) {
        if let Some(rate) = rate {
            let mtu = self.mtu;
            let packet = rate.serialisation_time(mtu);
            self.note(target < packet, format!("{at}target"), || {
                format!("below the {packet} that a packet of {mtu} alone takes at {rate}")
            });
        }
        self.note(target >= interval, format!("{at}target"), || {
            "not below the interval, of which 5 to 10 % are usual (RFC 8289 section 4.3)".to_owned()
        });
    }

    fn tbf(&mut self, at: &str, tbf: &Tbf, link: Option<BitRate>) {
        let mtu = self.mtu;
        self.note(tbf.burst_bytes < mtu.get(), format!("{at}burst"), || {
            format!("packets above it never fit and are dropped; there are packets of {mtu}")
        });
        let is_small =
            tbf.peak_rate.is_some() && tbf.mtu_bytes.is_some_and(|bytes| bytes < mtu.get());
        self.note(is_small, format!("{at}mtu"), || {
            format!("packets above it never fit and are dropped; there are packets of {mtu}")
        });
        self.faster_than_link(at, tbf.rate, link);
    }

    fn faster_than_link(&mut self, at: &str, rate: BitRate, link: Option<BitRate>) {
        if let Some(link) = link {
            self.note(rate > link, format!("{at}rate"), || {
                format!("above the link's {link}: it shapes nothing")
            });
        }
    }

    fn htb(&mut self, at: &str, htb: &Htb, link: Option<BitRate>) {
        let mtu = self.mtu;
        for (index, class) in htb.classes.iter().enumerate() {
            let key = |name: &str| format!("{at}classes[{index}].{name}");
            self.note(class.burst_bytes < mtu.get(), key("burst"), || {
                format!("below one packet of {mtu}: every packet borrows from the time after it")
            });
            let of = |child: &&HtbClass| child.parent == Some(index);
            let bits = |child: &HtbClass| child.rate.as_bits_per_second();
            let sum = htb.classes.iter().filter(of).map(bits).fold(0, u64::saturating_add);
            self.note(sum > class.rate.as_bits_per_second(), key("rate"), || {
                let (sum, rate) = (BitRate::from_bits_per_second(sum), class.rate);
                format!(
                    "the classes below are sure of {sum} together, and this one has {rate}: as in the kernel they get what \
                     they are sure of, so that it does not shape them; lower their rates and let them borrow up to a ceil"
                )
            });
            self.unreachable(htb, index, class, key("filters"));
        }
        let shaped = Qdisc::Htb(htb.clone()).shaped_rate();
        if let Some(rate) = shaped {
            let at = format!("{at}classes[0].");
            self.faster_than_link(&at, rate, link);
        }
        self.note(htb.default_class.is_none(), format!("{at}default"), || {
            "missing: what no filter takes passes unshaped, as in the kernel".to_owned()
        });
    }

    fn unreachable(&mut self, htb: &Htb, index: usize, class: &HtbClass, key: String) {
        let is_empty = class.child.is_some() && class.filters.is_empty();
        self.note(is_empty && htb.default_class != Some(index), key, || {
            "the class has no filter and is not the default: no packet ever comes here".to_owned()
        });
    }
}
