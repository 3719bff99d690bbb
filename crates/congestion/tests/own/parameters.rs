//! Parameters that a source declares.

use super::{Place, sender, source};
use fairwind_congestion::{compile, load, load_with, parameters};

/// A source that divides what is acknowledged by a parameter.
fn with_parameters() -> String {
    source("by").replace(
        "char _license",
        "FAIRWIND_PARAM(u32, by, 4);\n\
         FAIRWIND_PARAM(int, shift, -3);\n\
         FAIRWIND_PARAM(bool, is_fast, true);\n\
         FAIRWIND_PARAM(u64, rate, 18446744073709551615ULL);\n\
         char _license",
    )
}

fn growth(algorithm: &fairwind_tcp::PluggedAlgorithm) -> u32 {
    let mut sender = sender(10);
    let mut control = algorithm.0.create();
    control.cong_avoid(&mut sender, 1, 12);
    assert_eq!(control.take_fault(), None);
    sender.window - 10
}

#[test]
fn declared_parameters_are_listed() {
    let place = Place::new(&with_parameters());
    assert_eq!(place.compiled().warnings, "");
    let found = parameters(&place.library()).expect("they are listed");
    let found: Vec<_> =
        found.iter().map(|one| (one.name.as_str(), one.c_type.as_str(), one.default)).collect();
    let largest = i128::from(u64::MAX);
    assert_eq!(
        found,
        [("by", "u32", 4), ("is_fast", "bool", 1), ("rate", "u64", largest), ("shift", "int", -3)]
    );
    let plain = Place::new(&source("1"));
    plain.compiled();
    assert_eq!(parameters(&plain.library()).expect("it loads"), []);
}

#[test]
fn each_load_keeps_its_parameters() {
    let place = Place::new(&with_parameters());
    place.compiled();
    let set =
        |by: i64| load_with(&place.library(), "mine", &[("by".into(), by)]).expect("it loads");
    let usual = load(&place.library(), "mine").expect("it loads");
    let (two, six) = (set(2), set(6));
    assert_eq!([growth(&usual), growth(&two), growth(&six)], [3, 6, 2]);
    assert_eq!([growth(&two), growth(&usual)], [6, 3]);
}

#[test]
fn impossible_values_are_refused() {
    let place = Place::new(&with_parameters());
    place.compiled();
    for (name, value, expected) in [
        ("bye", 2, "the parameter bye: there is no such parameter"),
        ("by", -1, "the parameter by: -1 is not between 0 and 4294967295"),
        ("is_fast", 2, "the parameter is_fast: 2 is not between 0 and 1"),
    ] {
        let refused = load_with(&place.library(), "mine", &[(name.into(), value)]);
        let message = refused.expect_err("it does not fit").to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_parameter_cannot_be_written() {
    let place =
        Place::new(&with_parameters().replace("tp->snd_cwnd +=", "by = 3; tp->snd_cwnd +="));
    let refused = compile(&place.source(), &place.library()).expect_err("it is read-only");
    assert!(refused.to_string().contains("read-only"), "{refused}");
}

#[test]
fn kernels_take_the_defaults() {
    Place::new(&with_parameters()).object();
}
