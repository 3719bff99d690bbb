//! Under which names kernels know congestion controls: at most 15 letters (`TCP_CA_NAME_MAX`, with the zero at the end).

use crate::catalogue;

/// Those that Linux 6.18 can be built with (`net/ipv4`).
const LINUX: [&str; 18] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "dctcp-reno",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Whose the name is already that a congestion control has in kernels; `None` where it is nobody's.
pub fn owner_of_kernel_name(name: &str) -> Option<&'static str> {
    if LINUX.contains(&name) {
        return Some("Linux");
    }
    let ours = catalogue::names();
    let is_ours =
        ours.iter().any(|ours| catalogue::kernel_name_of(ours).is_some_and(|it| it == name));
    is_ours.then_some("this repository")
}

/// What is wrong with a name in a table, `None` being one without an end.
pub(crate) fn fault_of(name: Option<&str>) -> Option<&'static str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    match name {
        None => Some("its name has more than 15 letters"),
        Some("") => Some("its table has no name"),
        Some(name) if !name.chars().all(is_plain) => {
            Some("its name has other characters than letters, digits, - and _")
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_kernel_could_have_are_faults() {
        assert!(fault_of(None).is_some_and(|fault| fault.contains("15 letters")));
        assert!(fault_of(Some("")).is_some_and(|fault| fault.contains("no name")));
        for name in ["two words", "../up", "a.b"] {
            assert!(fault_of(Some(name)).is_some(), "{name}");
        }
        assert_eq!(fault_of(Some("fw_mine-2")), None);
    }

    #[test]
    fn names_of_linux_and_of_the_repository_are_somebodys() {
        assert_eq!(owner_of_kernel_name("cubic"), Some("Linux"));
        assert_eq!(owner_of_kernel_name("fw_htcp"), Some("this repository"));
        assert_eq!(owner_of_kernel_name("mine"), None);
    }
}
