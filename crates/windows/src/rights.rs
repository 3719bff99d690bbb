//! Whether this process may put programs into the kernel: not every root may, and one that may is refused for other reasons.

use std::fs;
use std::path::Path;

/// Bits of capabilities: of networks, of everything, of measurements, and of programs.
const NET_ADMIN: u64 = 1 << 12;
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;
/// The user namespace that the machine starts with, whose number never changes.
const FIRST_NAMESPACE: &str = "user:[4026531837]";

/// Whether it has what the kernel asks for; yes as well where that cannot be found out.
pub(super) fn may_load() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let namespace = fs::read_link("/proc/self/ns/user");
    may(&status, namespace.as_deref().unwrap_or(Path::new(FIRST_NAMESPACE)))
}

/// The same, by what `status` says in a user namespace: capabilities in another one than the first do not count.
fn may(status: &str, namespace: &Path) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    let has_all = effective.is_none_or(|bits| {
        let has = |bit: u64| bits & bit != 0;
        has(NET_ADMIN) && (has(SYS_ADMIN) || has(BPF) && has(PERFMON))
    });
    has_all && namespace == Path::new(FIRST_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_count_in_the_first_user_namespace_only() {
        let with =
            |bits: u64| format!("Name:\tone\nCapPrm:\t0\nCapEff:\t{bits:016x}\nCapBnd:\t0\n");
        let first = Path::new(FIRST_NAMESPACE);
        for (bits, expected) in [
            (0x1ff_ffff_ffff, true),
            (NET_ADMIN | SYS_ADMIN, true),
            (NET_ADMIN | BPF | PERFMON, true),
            (NET_ADMIN | BPF, false),
            (SYS_ADMIN | BPF | PERFMON, false),
            (0, false),
        ] {
            assert_eq!(may(&with(bits), first), expected, "{bits:x}");
        }
        assert!(!may(&with(0x1ff_ffff_ffff), Path::new("user:[4026532000]")));
        assert!(may("", first), "nobody knows");
    }
}
