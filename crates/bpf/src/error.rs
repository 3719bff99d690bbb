//! Why eBPF programs cannot be used.

use thiserror::Error;

/// Why the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BpfError {
    /// The programs were not compiled.
    #[error(
        "this build has no eBPF programs; install clang and the headers of libelf and zlib \
         (apt-get install clang libelf-dev zlib1g-dev) and build again"
    )]
    NotBuilt,
    /// The kernel does not say how its structures are laid out.
    #[error(
        "{} is missing: the kernel was built without CONFIG_DEBUG_INFO_BTF",
        super::KERNEL_TYPES
    )]
    NoKernelTypes,
    /// The kernel or the library refused.
    #[error("{attempt}: {reason}")]
    Refused {
        /// What was tried.
        attempt: String,
        /// The messages.
        reason: String,
    },
}

impl BpfError {
    #[cfg(feature = "ebpf")]
    pub(super) fn refused(attempt: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Refused { attempt: attempt.into(), reason: reason.into() }
    }
}
