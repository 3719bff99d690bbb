//! Bytes over a Unix socket, with a descriptor that goes along.

use super::checked;
use super::socket::{Buffer, Message, Transfer, receive_message, send_message};
use crate::KernelError;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Sends all of `bytes`, which a socket's buffer takes at once, and the descriptor.
pub fn send_with_descriptor(
    socket: impl AsFd,
    bytes: &[u8],
    descriptor: impl AsFd,
) -> Result<(), KernelError> {
    let number = descriptor.as_fd().as_raw_fd().to_ne_bytes().to_vec();
    let mut message = Message {
        transfer: Transfer { buffers: vec![Buffer::Bytes(bytes.to_vec())] },
        control: vec![(libc::SOL_SOCKET, libc::SCM_RIGHTS, number)],
        ..Message::default()
    };
    let raw = send_message(socket.as_fd().as_raw_fd(), &mut message, libc::MSG_NOSIGNAL);
    checked("pass a descriptor on", raw.value).map(|_| ())
}

/// Receives what there is, at most `buffer`, and a descriptor that came along; 0 bytes at the end.
pub fn receive_with_descriptor(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> std::io::Result<(usize, Option<OwnedFd>)> {
    let mut message = Message {
        transfer: Transfer { buffers: vec![Buffer::Bytes(vec![0; buffer.len()])] },
        ..Message::default()
    };
    let flags = libc::MSG_CMSG_CLOEXEC;
    let raw = receive_message(socket.as_fd().as_raw_fd(), &mut message, flags);
    let Ok(bytes) = usize::try_from(raw.value) else {
        return Err(std::io::Error::from_raw_os_error(raw.errno));
    };
    if let Some(Buffer::Bytes(received)) = message.transfer.buffers.first() {
        buffer[..bytes].copy_from_slice(&received[..bytes]);
    }
    let passed = message.control.into_iter().find_map(|(level, kind, content)| {
        let number = i32::from_ne_bytes(content.try_into().ok()?);
        // SAFETY: the kernel has just made the descriptor for this process; nobody else knows it.
        ((level, kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS))
            .then(|| unsafe { OwnedFd::from_raw_fd(number) })
    });
    Ok((bytes, passed))
}
