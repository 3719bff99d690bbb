//! Sequence number comparison across the wrap.

use fairwind_wire::SequenceNumber;
use proptest::prelude::*;

proptest! {
    #[test]
    fn order_holds_across_the_wrap(start in any::<u32>(), ahead in 1_u32..0x7fff_ffff) {
        let (a, b) = (SequenceNumber::new(start), SequenceNumber::new(start) + ahead);
        prop_assert!(a.is_before(b) && b.is_after(a));
        prop_assert!(!b.is_before(a) && !a.is_after(b));
        prop_assert!(a.is_at_or_before(a) && a.is_at_or_after(a));
        prop_assert_eq!(b.distance_from(a), ahead);
        prop_assert_eq!(a.later(b), b);
        prop_assert_eq!(a.earlier(b), a);
    }
}
