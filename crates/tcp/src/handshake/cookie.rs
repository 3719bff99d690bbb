//! How a server makes the cookie of a client.

use fairwind_wire::Cookie;
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::IpAddr;

/// A server's secret. Servers that share it accept each other's cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CookieKey([u8; 16]);

impl CookieKey {
    /// This secret.
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The secret as Linux writes it: four numbers in hexadecimal, least significant byte first
    /// (`tcp_fastopen_key`).
    pub fn from_words(words: [u32; 4]) -> Self {
        let mut bytes = [0; 16];
        for (four, word) in bytes.chunks_exact_mut(4).zip(words) {
            four.copy_from_slice(&word.to_le_bytes());
        }
        Self(bytes)
    }

    /// The cookie of `client` at `server`: eight bytes of `SipHash` over both addresses (Linux
    /// `__tcp_fastopen_cookie_gen_cipher`).
    pub fn cookie(&self, client: IpAddr, server: IpAddr) -> Cookie {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        for address in [client, server] {
            match address {
                IpAddr::V4(address) => hasher.write(&address.octets()),
                IpAddr::V6(address) => hasher.write(&address.octets()),
            }
        }
        Cookie::new(&hasher.finish().to_le_bytes()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen on Linux 6.18.
    #[test]
    fn linux_makes_the_same_cookie_of_the_same_key() {
        let key = CookieKey::from_words([0xa1a1_a1a1, 0xb2b2_b2b2, 0xc3c3_c3c3, 0xd4d4_d4d4]);
        let cookie = key.cookie([192, 0, 2, 1].into(), [192, 168, 0, 1].into());
        assert_eq!(cookie.as_slice(), [0x30, 0x21, 0xb9, 0xd8, 0x89, 0x01, 0x7e, 0xeb]);
    }

    #[test]
    fn cookies_differ_by_key_and_address() {
        let key = CookieKey::from_words([1, 2, 3, 4]);
        let [one, other, server] =
            [[192, 0, 2, 1], [192, 0, 2, 2], [192, 168, 0, 1]].map(IpAddr::from);
        let cookie = key.cookie(one, server);
        assert_eq!(cookie.len(), 8);
        assert_eq!(cookie, key.cookie(one, server));
        assert_ne!(cookie, key.cookie(other, server));
        assert_ne!(cookie, CookieKey::from_words([1, 2, 3, 5]).cookie(one, server));
    }
}
