//! Why a router ends.

use fairwind_linux::KernelError;

/// Why a router could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouterError {
    /// A device is gone.
    #[error("the TUN device of host \"{host}\" is gone (errno {errno}); its process has ended")]
    DeviceGone {
        /// The host of the device.
        host: String,
        /// The kernel's error number.
        errno: i32,
    },
    /// A system call failed.
    #[error(transparent)]
    System(#[from] KernelError),
}
