//! Names under which a kernel knows anybody's own.

use super::{Place, source};
use fairwind_congestion::kernel_name;

#[test]
fn a_name_that_no_kernel_could_have_is_refused_and_the_source_told() {
    for (line, told) in [
        ("", "its table has no name"),
        (".name = \"fifteen_letters\",", ""),
        (".name = \"sixteen_letters_\",", "its name has more than 15 letters"),
        (".name = \"../mine\",", "its name has other characters than"),
    ] {
        let place = Place::new(&source("1").replace(".name = \"mine\",", line));
        place.compiled();
        match kernel_name(&place.library(), &place.source()) {
            Ok(name) => assert_eq!((name.as_str(), told), ("fifteen_letters", "")),
            Err(error) => {
                let words = error.to_string();
                assert!(!told.is_empty() && words.contains(told), "{words}");
                assert!(words.contains("mine.c"), "{words}");
            }
        }
    }
}

#[test]
fn a_missing_hook_is_told_of_the_source() {
    let text = source("1").replace(".undo_cwnd = (void *)mine_undo_cwnd,", "");
    let place = Place::new(&text);
    place.compiled();
    let error = kernel_name(&place.library(), &place.source()).expect_err("it lacks a hook");
    assert!(error.to_string().contains("mine.c has no undo_cwnd"), "{error}");
}
