//! What can go wrong with the kernel, its namespaces and the processes in them.

use thiserror::Error;

/// Why the kernel cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A system call did not do what it was asked to.
    #[error("{attempt}: {reason}{}", hint(.attempt, *.errno))]
    System {
        /// What was tried.
        attempt: String,
        /// What the system says.
        reason: String,
        /// Its number for it.
        errno: i32,
    },
    /// A command that sets up the namespace failed.
    #[error("{command}: {reason}")]
    Command {
        /// The command.
        command: String,
        /// What it printed.
        reason: String,
    },
    /// A host process could not be started, refused its part, or has ended.
    #[error("host {host}: {reason}")]
    Host {
        /// The host's name in the experiment.
        host: String,
        /// What happened, and what may be done about it.
        reason: String,
    },
    /// A program cannot be put behind a path.
    #[error("{reason}")]
    Shell {
        /// What is in the way, and what may be done about it.
        reason: String,
    },
    /// An option line of a script cannot be understood.
    #[error("--{name}={value}: expected {expected}")]
    Option {
        /// Name without hyphens.
        name: String,
        /// What stands there.
        value: String,
        /// What should.
        expected: &'static str,
    },
}

fn hint(attempt: &str, errno: i32) -> &'static str {
    match errno {
        libc::EPERM | libc::EACCES => " (namespaces and TUN devices need root)",
        libc::ENOENT | libc::ENODEV if attempt.contains("/dev/net/tun") => {
            " (is /dev/net/tun there?)"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::KernelError;

    #[test]
    fn only_what_is_about_the_device_asks_whether_the_device_is_there() {
        let error = |attempt: &str| {
            let reason = "No such file or directory".to_owned();
            KernelError::System { attempt: attempt.to_owned(), reason, errno: libc::ENOENT }
                .to_string()
        };
        assert!(error("open /dev/net/tun").ends_with("(is /dev/net/tun there?)"));
        assert!(!error("mount /proc/self/ns/net on /run/netns/one").contains("tun"));
    }
}
