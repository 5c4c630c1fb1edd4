//! Returns freed memory to the operating system.

#![cfg_attr(target_env = "gnu", expect(unsafe_code, reason = "malloc_trim has no safe wrapper"))]

/// Returns freed pages to the operating system (`malloc_trim`). Computing a plan of a thousand
/// nodes takes many times the memory that the slice keeps. Does nothing without the GNU C library.
pub fn release() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim takes no pointer and leaves every allocation as it is.
    unsafe {
        libc::malloc_trim(0);
    }
}
