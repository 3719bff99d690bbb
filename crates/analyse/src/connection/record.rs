//! What is kept of a connection that is over: its row in the table `connections`.

use super::life::{Beginning, Ending, Life, Offer, SetUp};
use super::names::{push_end, push_flags, push_flow};
use super::side::{Sent, Side};
use super::vantage::Place;
use fairwind_measure::{Table, TableBuilder};
use fairwind_units::{Instant, Span};
use fairwind_wire::Flags;
use std::net::SocketAddr;

/// One connection.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Counted from 0, in the order in which connections were first seen.
    pub(crate) number: u64,
    pub(crate) opener: SocketAddr,
    pub(crate) answerer: SocketAddr,
    pub(crate) group: u32,
    /// Nobody was seen to open it.
    pub(crate) is_guessed: bool,
    pub(crate) began: Instant,
    pub(crate) last: Instant,
    pub(crate) longest_silence: Span,
    pub(crate) place: Place,
    pub(crate) taps: &'static str,
    pub(crate) times: SetUpTimes,
    pub(crate) beginning: Beginning,
    pub(crate) set_up: SetUp,
    pub(crate) ending: Ending,
    pub(crate) ended_by: Option<Side>,
    pub(crate) is_simultaneous: bool,
    pub(crate) sent: [Sent; 2],
    pub(crate) offers: [Option<Offer>; 2],
    /// SYNs of each side beyond its first.
    pub(crate) retries: [u32; 2],
}

/// How long the ways of a set-up took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SetUpTimes {
    /// From the last SYN before the first SYN-ACK to that.
    pub(crate) answer: Option<Span>,
    /// From the last SYN-ACK to its acknowledgment.
    pub(crate) acknowledgment: Option<Span>,
    /// From the first SYN to the acknowledgment of the SYN-ACK.
    pub(crate) whole: Option<Span>,
}

impl SetUpTimes {
    pub(crate) fn of(life: &Life) -> Self {
        let asked = life.offer(Side::Opener);
        let answered = life.offer(Side::Answerer);
        let acknowledged = life.established_at();
        let between = |from: Option<Instant>, to: Option<Instant>| {
            let (from, to) = (from?, to?);
            (to >= from).then(|| to.saturating_since(from))
        };
        let answered_first = answered.map(|offer| offer.first_at);
        // A SYN that was sent again behind the answer did not bring it.
        let asked_last = asked.map(|offer| {
            if answered_first.is_some_and(|answered| offer.last_at > answered) {
                offer.first_at
            } else {
                offer.last_at
            }
        });
        let acknowledged_from = acknowledged.filter(|_| answered.is_some() && asked.is_some());
        Self {
            answer: between(asked_last, answered_first),
            acknowledgment: between(answered.map(|offer| offer.last_at), acknowledged),
            whole: between(asked.map(|offer| offer.first_at), acknowledged_from),
        }
    }
}

impl Record {
    fn sent(&self, side: Side) -> &Sent {
        &self.sent[side.index()]
    }

    fn offer(&self, side: Side) -> Option<&Offer> {
        self.offers[side.index()].as_ref()
    }

    fn retries(&self, side: Side) -> u64 {
        u64::from(self.retries[side.index()])
    }
}

fn seconds(span: Option<Span>) -> Option<f64> {
    span.map(Span::as_secs_f64)
}

/// Whether `offer` asks for, or agrees to, explicit congestion notification (RFC 3168 §6.1.1, RFC 9768
/// §3.1).
fn has_ecn(offer: &Offer) -> bool {
    offer.flags.intersects(Flags::ECE | Flags::CWR | Flags::AE)
}

/// The table `connections`: a row for each record; times are since `origin`.
pub(crate) fn connections_table(records: &[Record], origin: Instant, groups: &[String]) -> Table {
    let since = |at: Instant| at.saturating_since(origin).as_secs_f64();
    let group = |record: &Record| {
        let place = usize::try_from(record.group).ok();
        place.and_then(|place| groups.get(place)).map_or("", String::as_str)
    };
    let mut table = TableBuilder::new("connections", records)
        .with("connection", |row| row.number)
        .with_text("name", |row, text| push_flow(text, row.opener, row.answerer))
        .with_text("group", |row, text| text.push_str(group(row)))
        .with_text("opener", |row, text| push_end(text, row.opener))
        .with_text("answerer", |row, text| push_end(text, row.answerer))
        .with("opener_guessed", |row| row.is_guessed)
        .with("start_s", |row| since(row.began))
        .with("last_s", |row| since(row.last))
        .with("duration_s", |row| row.last.saturating_since(row.began).as_secs_f64())
        .with("longest_silence_s", |row| row.longest_silence.as_secs_f64())
        .with_text("taps", |row, text| text.push_str(row.taps))
        .with_text("vantage", |row, text| text.push_str(row.place.name()))
        .with_text("beginning", |row, text| text.push_str(row.beginning.name()))
        .with_text("set_up", |row, text| text.push_str(row.set_up.name()))
        .with("simultaneous_open", |row| row.is_simultaneous)
        .with_text("ending", |row, text| text.push_str(row.ending.name()))
        .with_text("ended_by", |row, text| text.push_str(row.ended_by.map_or("", Side::name)))
        .with("syn_retries", |row| row.retries(Side::Opener))
        .with("syn_ack_retries", |row| row.retries(Side::Answerer))
        .with("answer_time_s", |row| seconds(row.times.answer))
        .with("acknowledgment_time_s", |row| seconds(row.times.acknowledgment))
        .with("setup_time_s", |row| seconds(row.times.whole));
    for side in [Side::Opener, Side::Answerer] {
        table = with_side(table, side);
    }
    table.build()
}

fn with_side(table: TableBuilder<'_, Record>, side: Side) -> TableBuilder<'_, Record> {
    let name = |what: &str| format!("{}_{what}", side.name());
    table
        .with(&name("packets"), |row| row.sent(side).packets)
        .with(&name("wire_bytes"), |row| row.sent(side).wire_bytes)
        .with(&name("data_packets"), |row| row.sent(side).data_packets)
        .with(&name("payload_bytes"), |row| row.sent(side).payload_bytes)
        .with(&name("bare_acknowledgments"), |row| row.sent(side).bare_acknowledgments)
        .with(&name("largest_payload_bytes"), |row| u64::from(row.sent(side).largest_payload_bytes))
        .with_text(&name("flags"), |row, text| push_flags(text, row.sent(side).flags))
        .with(&name("hop_limit"), |row| {
            let sent = row.sent(side);
            (sent.packets > 0).then(|| u64::from(sent.hop_limit))
        })
        .with(&name("mss_bytes"), |row| row.offer(side)?.options.mss.map(u64::from))
        .with(&name("window_scale"), |row| row.offer(side)?.options.window_scale.map(u64::from))
        .with(&name("sack_permitted"), |row| {
            row.offer(side).map(|offer| u64::from(offer.options.sack_permitted))
        })
        .with(&name("timestamps"), |row| {
            row.offer(side).map(|offer| u64::from(offer.options.timestamps.is_some()))
        })
        .with(&name("ecn"), |row| row.offer(side).map(|offer| u64::from(has_ecn(offer))))
}
