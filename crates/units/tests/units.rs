//! Parsing of texts, refused texts, and printing as the inverse of parsing.

use fairwind_units::{BitRate, ByteCount, Instant, Ratio, Span, UnitError};
use proptest::prelude::*;

#[test]
fn texts_with_units_are_exact() {
    assert_eq!("20 ms".parse(), Ok(Span::from_millis(20)));
    assert_eq!("0.5s".parse(), Ok(Span::from_millis(500)));
    assert_eq!("2 min".parse(), Ok(Span::from_secs(120)));
    assert_eq!("1.5 Mbit/s".parse(), Ok(BitRate::from_bits_per_second(1_500_000)));
    assert_eq!("64 KiB".parse(), Ok(ByteCount::new(65_536)));
    assert_eq!("0.1 %".parse(), Ok(Ratio::from_parts_per_billion(1_000_000)));
    assert_eq!(Ratio::of_multiple("0.25"), Ok(Ratio::from_parts_per_billion(250_000_000)));
}

#[test]
fn a_bare_number_is_refused_with_a_hint() {
    let error = "20".parse::<Span>().unwrap_err();
    assert_eq!(error.to_string(), "\"20\" has no unit; a time needs one, for example \"20 ms\"");
    let error = "1".parse::<Ratio>().unwrap_err();
    assert_eq!(error.to_string(), "\"1\" has no unit; a share needs one, for example \"2 %\"");
}

#[test]
fn wrong_texts_say_what_is_wrong() {
    assert!(matches!("".parse::<Span>(), Err(UnitError::Empty { .. })));
    assert!(matches!("ms".parse::<Span>(), Err(UnitError::Number { .. })));
    assert!(matches!("-1 s".parse::<Span>(), Err(UnitError::Negative { .. })));
    assert!(matches!("0.1 ns".parse::<Span>(), Err(UnitError::TooFine { .. })));
    assert!(matches!("99999999 h".parse::<Span>(), Err(UnitError::TooLarge { .. })));
    assert!(matches!("1..5 s".parse::<Span>(), Err(UnitError::Number { .. })));
    let error = "3 furlongs".parse::<BitRate>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"furlongs\" is not a unit of rate; known are Gbit/s, Gbps, Gbit, Mbit/s, Mbps, Mbit, kbit/s, kbps, \
         kbit, bit/s, bps, bit (prefixes in upper or lower case)"
    );
}

#[test]
fn rates_take_prefixes_in_either_case() {
    for (prefix, factor) in [("", 1), ("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000)] {
        for prefix in [prefix.to_lowercase(), prefix.to_uppercase()] {
            for unit in ["bit/s", "bps", "bit"] {
                let rate = BitRate::from_bits_per_second(factor);
                assert_eq!(format!("1 {prefix}{unit}").parse(), Ok(rate), "{prefix}{unit}");
            }
        }
    }
    for bytes in ["MBps", "Bps", "MB/s", "mBit"] {
        assert!(format!("1 {bytes}").parse::<BitRate>().is_err(), "{bytes}");
    }
}

#[test]
fn unknown_unit_lists_every_accepted_spelling() {
    let error = "1 parsec".parse::<Span>().unwrap_err().to_string();
    let known = error.split_once("known are ").unwrap().1;
    for unit in known.split(", ") {
        assert!(format!("1 {unit}").parse::<Span>().is_ok(), "{unit}");
    }
    assert_eq!(known.split(", ").count(), 13);
}

#[test]
fn printing_uses_the_largest_exact_unit() {
    assert_eq!(Span::from_millis(1500).to_string(), "1.5 s");
    assert_eq!(Span::from_nanos(1_000_001).to_string(), "1000.001 us");
    assert_eq!(Span::ZERO.to_string(), "0 ns");
    assert_eq!(BitRate::from_bits_per_second(2_100_000).to_string(), "2.1 Mbit/s");
    assert_eq!(ByteCount::new(1500).to_string(), "1.5 kB");
    assert_eq!(ByteCount::new(64_000).to_string(), "64 kB");
    assert_eq!(ByteCount::new(65_536).to_string(), "64 KiB");
    assert_eq!(Ratio::from_parts_per_billion(20_000_000).to_string(), "2 %");
}

#[test]
fn serialisation_carries_its_remainder() {
    let rate = BitRate::from_bits_per_second(3);
    let (first, left) = rate.serialisation(ByteCount::new(1), 0);
    assert_eq!((first, left), (2_666_666_666, 2));
    let (second, left) = rate.serialisation(ByteCount::new(1), left);
    assert_eq!((second, left), (2_666_666_667, 1));
}

#[test]
fn bandwidth_delay_product() {
    let rate: BitRate = "5 Mbit/s".parse().unwrap();
    assert_eq!(rate.bytes_in(Span::from_millis(150)), ByteCount::new(93_750));
}

#[test]
fn time_arithmetic_saturates_where_documented() {
    assert_eq!(Instant::from_secs(1).saturating_since(Instant::from_secs(2)), Span::ZERO);
    assert_eq!(Instant::MAX + Span::from_secs(1), Instant::MAX);
}

proptest! {
    #[test]
    fn printing_and_reading_are_inverse(value in any::<u64>()) {
        prop_assert_eq!(Span::from_nanos(value).to_string().parse(), Ok(Span::from_nanos(value)));
        prop_assert_eq!(ByteCount::new(value).to_string().parse(), Ok(ByteCount::new(value)));
        let rate = BitRate::from_bits_per_second(value);
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        let ratio = Ratio::from_parts_per_billion(value);
        prop_assert_eq!(ratio.to_string().parse(), Ok(ratio));
    }

    #[test]
    fn reading_never_panics(text in ".*") {
        let _ = text.parse::<Span>();
        let _ = text.parse::<Ratio>();
    }
}
