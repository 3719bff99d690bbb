//! What an ACK filter reads of a segment.

use fairwind_network::TcpAck;
use fairwind_wire::{Flags, Options, Segment};

/// The acknowledgment of `segment`; `None` without ACK or with SYN.
pub fn ack_of(segment: &Segment) -> Option<TcpAck> {
    let Segment { flags, options, .. } = segment;
    if !flags.contains(Flags::ACK) || flags.contains(Flags::SYN) {
        return None;
    }
    let others = flags.bits() & !(Flags::ECE.bits() | Flags::CWR.bits());
    // Fast Open's cookie, which stands in the place of the blocks, comes with SYN only.
    let harmless = Options { timestamps: options.timestamps, sack: options.sack, ..Options::NONE };
    let mut sack = [None; 4];
    for (place, block) in sack.iter_mut().zip(options.sack.as_slice()) {
        *place = Some((block.left.get(), block.right.get()));
    }
    Some(TcpAck {
        acknowledgment: segment.acknowledgment.get(),
        is_pure: segment.payload_bytes == 0 && others == Flags::ACK.bits() && *options == harmless,
        has_ece: flags.contains(Flags::ECE),
        has_cwr: flags.contains(Flags::CWR),
        timestamps: options.timestamps.map(|stamps| (stamps.value, stamps.echo)),
        sack,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_wire::{SackBlock, SequenceNumber, Timestamps};

    #[test]
    fn only_bare_acks_are_pure() {
        let bare = Segment { flags: Flags::ACK, ..Segment::default() };
        let is_pure = |segment: &Segment| ack_of(segment).map(|ack| ack.is_pure);
        assert_eq!(is_pure(&bare), Some(true));
        let with = |flags| Segment { flags, ..bare };
        assert_eq!(is_pure(&with(Flags::ACK | Flags::ECE | Flags::CWR)), Some(true));
        for other in [Flags::FIN, Flags::RST, Flags::PSH, Flags::URG, Flags::AE] {
            assert_eq!(is_pure(&with(Flags::ACK | other)), Some(false));
        }
        assert_eq!(is_pure(&with(Flags::ACK | Flags::SYN)), None);
        assert_eq!(is_pure(&with(Flags::RST)), None);
        assert_eq!(is_pure(&Segment { payload_bytes: 1, ..bare }), Some(false));
        let unknown = Options { mss: Some(1460), ..Options::NONE };
        assert_eq!(is_pure(&Segment { options: unknown, ..bare }), Some(false));
    }

    #[test]
    fn stamps_and_blocks_are_carried_over() {
        let mut options =
            Options { timestamps: Some(Timestamps { value: 7, echo: 5 }), ..Options::NONE };
        let number = SequenceNumber::new;
        options.sack.push(SackBlock { left: number(20), right: number(30) });
        let segment = Segment {
            flags: Flags::ACK | Flags::ECE,
            acknowledgment: number(10),
            options,
            ..Segment::default()
        };
        let expected = TcpAck {
            acknowledgment: 10,
            is_pure: true,
            has_ece: true,
            has_cwr: false,
            timestamps: Some((7, 5)),
            sack: [Some((20, 30)), None, None, None],
        };
        assert_eq!(ack_of(&segment), Some(expected));
    }
}
