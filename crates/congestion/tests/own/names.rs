//! Tests of the names of users' congestion controls in a kernel.

use super::{Place, source};
use fairwind_congestion::kernel_name;

#[test]
fn invalid_name_is_refused_with_source() {
    for (line, message) in [
        ("", "its table has no name"),
        (".name = \"fifteen_letters\",", ""),
        (".name = \"sixteen_letters_\",", "its name has more than 15 letters"),
        (".name = \"../mine\",", "its name has other characters than"),
    ] {
        let place = Place::new(&source("1").replace(".name = \"mine\",", line));
        place.compiled();
        match kernel_name(&place.library(), &place.source()) {
            Ok(name) => assert_eq!((name.as_str(), message), ("fifteen_letters", "")),
            Err(error) => {
                let words = error.to_string();
                assert!(!message.is_empty() && words.contains(message), "{words}");
                assert!(words.contains("mine.c"), "{words}");
            }
        }
    }
}

#[test]
fn missing_hook_error_names_source() {
    let text = source("1").replace(".undo_cwnd = (void *)mine_undo_cwnd,", "");
    let place = Place::new(&text);
    place.compiled();
    let error = kernel_name(&place.library(), &place.source()).expect_err("it lacks a hook");
    assert!(error.to_string().contains("mine.c has no undo_cwnd"), "{error}");
}
