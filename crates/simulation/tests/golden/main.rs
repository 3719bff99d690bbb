//! The golden set: small scenarios over every key, and captures. Their tables must stay the same to the byte.
//!
//! CONTRIBUTING.md says how to run one case alone, how to see old and new values, and when the lists of digests may be
//! written anew.

mod captures;
mod cases;
mod containers;
mod coverage;
mod digests;
#[path = "../../../../tests/golden/ledger.rs"]
mod ledger;
mod scenarios;

use std::path::PathBuf;

const RERUN: &str = "cargo test -p fairwind-simulation --test golden";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}
