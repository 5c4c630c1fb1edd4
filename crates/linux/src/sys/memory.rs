//! Giving memory back to the operating system.

#![cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "malloc_trim has no safe wrapper"))]

/// Returns the pages that were freed and are not needed again soon: a plan of a thousand nodes is
/// worked out in many times the memory that its slice takes. Does nothing without the GNU C library.
pub fn release() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim takes no pointer and leaves every allocation as it is.
    unsafe {
        libc::malloc_trim(0);
    }
}
