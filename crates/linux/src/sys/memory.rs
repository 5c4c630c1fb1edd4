//! Returns freed memory to the operating system.

#![cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "malloc_trim has no safe wrapper"))]

/// Returns freed pages to the operating system (`malloc_trim`), for use after a plan was computed:
/// that takes many times the memory of the node's own part, which is all that is kept. Does nothing
/// without the GNU C library.
pub fn release() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim takes no pointer and leaves every allocation as it is.
    unsafe {
        libc::malloc_trim(0);
    }
}
