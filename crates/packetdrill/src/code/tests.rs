use super::{Environment, Value, run};
use crate::outcome::Stop;

fn outcome(code: &str) -> Result<(), Stop> {
    let mut environment = Environment::default();
    environment.define("cwnd", Value::Number(10));
    run(code, &mut environment)
}

#[test]
fn true_assertion_passes() {
    for code in [
        "assert cwnd == 10, cwnd",
        "assert 5 < cwnd <= 10 != 11",
        "assert cwnd == 10 and not cwnd > 11 or 1 / 0",
        "assert (cwnd + 2) * 3 - 1 == 35; assert -cwnd // 3 == -4",
        "assert (1, 2) == (1, 2), (cwnd,\n 'two lines')",
        "x = cwnd * 2\nassert x == 20 # a comment\nprint(x, 'seen')",
        "assert abs(cwnd - 12) <= 2 and max(1, 3) == 3",
        "assert -7 % 3 == 2 and 1 << 3 | 1 == 9",
        "assert 0 or cwnd",
        "assert cwnd in (5, 10) and cwnd not in [1, 2] and 'a' in 'abc'",
        "assert 7 / 2 == 3.5 and 7 // 2 == 3 and 2 ** 5 == 32 and cwnd / 5 == 2",
        "cwnd += 5; assert cwnd == 15; cwnd <<= 1; assert cwnd == 30",
        "if cwnd == 11: assert 0\nif cwnd == 10: x = 1\nassert x == 1",
        "assert (1 if cwnd else 2) == 1 and ~cwnd == -11 and 6 ^ 3 == 5",
        "assert 0.9 * cwnd <= 10 <= 1.1 * cwnd and .5 + .5 == 1",
        "assert len((1, 2)) == 2 and int(2.7) == 2 and round(2.5) == 2 and sum([1, 2]) == 3",
        "print; print(1); print cwnd, 'x'; pass",
        "assert 'seen %d of %5.2f%%' % (3, 4) == 'seen 3 of 4%'",
        "assert 0x10 == 16 and 1_000 == 1000 and 5L == 5",
    ] {
        assert_eq!(outcome(code), Ok(()), "{code}");
    }
}

#[test]
fn false_assertion_fails_with_its_message() {
    let failed = |text: &str| Err(Stop::failed(text));
    assert_eq!(
        outcome("assert cwnd == 11, cwnd"),
        failed("assert cwnd == 11 , cwnd does not hold: 10")
    );
    assert_eq!(outcome("assert 5 < cwnd < 10"), failed("assert 5 < cwnd < 10 does not hold"));
    assert_eq!(outcome("assert cwnd == 10 and 0"), failed("assert cwnd == 10 and 0 does not hold"));
    assert_eq!(outcome("assert not cwnd"), failed("assert not cwnd does not hold"));
    assert_eq!(outcome("assert cwnd == 'ten'"), failed("assert cwnd == \"ten\" does not hold"));
}

#[test]
fn unknown_name_is_unsupported() {
    for code in ["assert rtt == 1", "import os", "assert f(1)", "while 1: pass", "assert x ? 1"] {
        assert!(matches!(outcome(code), Err(Stop::Unsupported(_))), "{code}: {:?}", outcome(code));
    }
}

#[test]
fn nonsense_is_refused_without_a_panic() {
    for code in [
        "assert 9223372036854775807 + 1",
        "assert 1 // 0",
        "assert 1 % 0 == 0",
        "assert 1 << 64",
        "assert 'open",
        "assert (1",
        &"(".repeat(100_000),
        &"-".repeat(100_000),
        &format!("assert {} 1", "not ".repeat(100_001)),
    ] {
        assert!(outcome(code).is_err(), "{}", &code[..code.len().min(40)]);
    }
}
