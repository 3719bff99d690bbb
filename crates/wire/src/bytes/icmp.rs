//! Messages of the path about a packet: ICMP (RFC 792) and `ICMPv6` (RFC 4443), written only.

use super::checksum::Sum;
use super::emit::EmitError;
use super::ip::{Addresses, IpHeader};
use crate::TrafficClass;

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

/// A message, of ICMP or `ICMPv6` as its addresses are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpMessage<'a> {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// The four bytes behind the checksum: an MTU in the lower half (`fragmentation needed`) or all
    /// of it (`packet too big`).
    pub rest: u32,
    /// The beginning of the packet that the message is about, IP header first.
    pub quoted: &'a [u8],
}

/// Appends to `out` the packet that carries `message`.
///
/// # Errors
/// Where it is longer than an IP packet can be; nothing is appended then.
pub fn emit_icmp(
    ip: &IpHeader,
    message: &IcmpMessage<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EmitError> {
    let mut body = vec![message.kind, message.code, 0, 0];
    body.extend_from_slice(&message.rest.to_be_bytes());
    body.extend_from_slice(message.quoted);
    let bytes = u32::try_from(body.len()).ok();
    let (Some(bytes), Some(length_field)) = (bytes, bytes.and_then(|b| ip.length_field(b))) else {
        let tcp_bytes = u64::try_from(body.len()).unwrap_or(u64::MAX);
        return Err(EmitError::PacketLength { tcp_bytes });
    };
    let (protocol, mut sum) = match ip.addresses {
        Addresses::V4 { .. } => (ICMP, Sum::default()),
        Addresses::V6 { .. } => (ICMP_V6, ip.addresses.pseudo_header_sum_of(ICMP_V6, bytes)),
    };
    sum.add_bytes(&body);
    body[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    ip.append_to(protocol, TrafficClass::default(), length_field, out);
    out.extend_from_slice(&body);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{IcmpMessage, Sum, emit_icmp};
    use crate::bytes::{Addresses, IpHeader};

    #[test]
    fn a_message_sums_up_and_quotes() {
        let ip = IpHeader::new(Addresses::V4 {
            source: [192, 0, 2, 1].into(),
            destination: [192, 168, 0, 1].into(),
        });
        let message = IcmpMessage { kind: 3, code: 4, rest: 1200, quoted: &[0x45, 1, 2] };
        let mut packet = Vec::new();
        emit_icmp(&ip, &message, &mut packet).unwrap();
        assert_eq!(packet.len(), 20 + 8 + 3);
        assert_eq!((packet[9], packet[20], packet[21]), (1, 3, 4));
        assert_eq!(packet[26..28], 1200_u16.to_be_bytes());
        for part in [&packet[..20], &packet[20..]] {
            let mut sum = Sum::default();
            sum.add_bytes(part);
            assert!(sum.is_complete());
        }
    }
}
