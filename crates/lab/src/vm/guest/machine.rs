//! The environment variables of programs in the guest, and switching the virtual machine off.

use nix::sys::reboot::{RebootMode, reboot};

/// Writes all cached data to the disks and switches the machine off.
pub fn power_off() -> ! {
    nix::unistd::sync();
    let Err(errno) = reboot(RebootMode::RB_POWER_OFF);
    eprintln!("guest: power off: {errno}");
    std::process::exit(1)
}

/// Environment variables that every program in the guest gets: (name, value).
pub const ENV: [(&str, &str); 5] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/root"),
    ("LANG", "C.UTF-8"),
    ("TERM", "dumb"),
    ("TRESSE_VM", "1"),
];
