//! Which tin a packet belongs to, and what the tins are sure of.
//!
//! Source: tc-cake(8); code points by RFC 2474, RFC 2597, RFC 3246, RFC 5865 and RFC 8622.

use fairwind_qdisc::CakeTins;

const LOWER_EFFORT: u8 = 1;
const TOS4: u8 = 4;
const VOICE_ADMIT: u8 = 44;
const EXPEDITED: u8 = 46;

/// A tin's share of the rate: up to it the tin goes before those with a lower number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    numerator: u64,
    denominator: u64,
}

impl Share {
    const ALL: Self = Self::of(1, 1);

    const fn of(numerator: u64, denominator: u64) -> Self {
        Self { numerator, denominator }
    }

    /// That share of `whole`.
    pub(super) fn share_of(self, whole: u64) -> u64 {
        let share = u128::from(whole) * u128::from(self.numerator) / u128::from(self.denominator);
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// The shares of all tins, best effort first; while the rates of several are not used up, the last goes first.
pub(super) fn shares(tins: CakeTins) -> Vec<Share> {
    match tins {
        CakeTins::Besteffort => vec![Share::ALL],
        CakeTins::Diffserv3 => vec![Share::ALL, Share::of(1, 16), Share::of(1, 4)],
        CakeTins::Diffserv4 => {
            vec![Share::ALL, Share::of(1, 16), Share::of(1, 2), Share::of(1, 4)]
        }
        CakeTins::Precedence => {
            (0..8).map(|class| Share::of(7_u64.pow(class), 8_u64.pow(class))).collect()
        }
    }
}

/// The tin of packets with `traffic_class`, an index into [`shares`].
pub(super) fn tin_of(tins: CakeTins, traffic_class: u8) -> usize {
    let code_point = traffic_class >> 2;
    // The upper three bits: the class selector.
    let class = code_point >> 3;
    match tins {
        CakeTins::Besteffort => 0,
        CakeTins::Precedence => usize::from(class),
        CakeTins::Diffserv3 => match code_point {
            LOWER_EFFORT | 0o10 => 1,
            TOS4 | VOICE_ADMIT | EXPEDITED | 0o60 | 0o70 => 2,
            _ => 0,
        },
        CakeTins::Diffserv4 => match code_point {
            LOWER_EFFORT | 0o10 => 1,
            0o40 | 0o50 | VOICE_ADMIT | EXPEDITED | 0o60 | 0o70 => 3,
            TOS4 => 2,
            // CS2, CS3 and all of AF2x, AF3x and AF4x.
            _ if (2..=4).contains(&class) && code_point.is_multiple_of(2) => 2,
            _ => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_go_into_the_tins_of_the_manual_page() {
        let of = |tins, points: &[u8]| -> Vec<usize> {
            points.iter().map(|point| tin_of(tins, point << 2 | 0b10)).collect()
        };
        // Ordinary, LE, CS1, AF11, TOS4, CS2, AF21, CS3, AF31, CS4, AF41, CS5, VA, EF, CS6, CS7.
        let points = [0, 1, 8, 10, 4, 16, 18, 24, 26, 32, 34, 40, 44, 46, 48, 56];
        let three = [0, 1, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2];
        let four = [0, 1, 1, 0, 2, 2, 2, 2, 2, 3, 2, 3, 3, 3, 3, 3];
        assert_eq!(of(CakeTins::Diffserv3, &points), three);
        assert_eq!(of(CakeTins::Diffserv4, &points), four);
        assert_eq!(of(CakeTins::Precedence, &points[..4]), [0, 0, 1, 1]);
        assert_eq!(of(CakeTins::Besteffort, &points), [0; 16]);
        // What nobody has assigned is best effort, though it be above CS6 or CS7.
        let unassigned = [49, 55, 57, 63, 41, 33];
        assert_eq!(of(CakeTins::Diffserv3, &unassigned), [0; 6]);
        assert_eq!(of(CakeTins::Diffserv4, &unassigned), [0; 6]);
    }

    #[test]
    fn tins_are_sure_of_the_shares_of_the_manual_page() {
        let of = |tins| -> Vec<u64> {
            shares(tins).into_iter().map(|share| share.share_of(1600)).collect()
        };
        assert_eq!(of(CakeTins::Diffserv3), [1600, 100, 400]);
        assert_eq!(of(CakeTins::Diffserv4), [1600, 100, 800, 400]);
        assert_eq!(of(CakeTins::Precedence)[..3], [1600, 1400, 1225]);
    }
}
