//! The contents of the virtual machine's image: kernel modules, packages, and files that maintainer
//! scripts would have created.

/// Returns the digest (FNV-1a, 64 bits, in hexadecimal) of the lists in this module, which decide
/// what the image contains.
pub fn digest() -> String {
    let parts = PACKAGES.iter().chain(BOOT_MODULES).chain(LEFT_OUT).copied();
    let files = FILES.iter().chain(LINKS).flat_map(|(a, b)| [*a, *b]);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts.chain(files).chain([RECIPE]) {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

/// Kernel modules loaded at boot, in the order of their dependencies: first those that are needed
/// to mount the root file system, then those that a lab needs in its first seconds. All others are
/// loaded by the kernel on demand or by `modprobe`.
#[rustfmt::skip]
pub const BOOT_MODULES: &[&str] = &[
    "virtio_pci", "virtio_blk", "virtio_console", "squashfs", "overlay",
    "8021q", "bridge", "veth", "tun", "mpls_router", "mpls_iptunnel", "mpls_gso",
];
/// Debian packages in the image; their dependencies are added. `usr-is-merged` is named so that apt
/// does not choose `usrmerge`, which needs Perl.
#[rustfmt::skip]
pub const PACKAGES: &[&str] = &[
    "base-files", "usr-is-merged", "bash", "dash", "coreutils", "findutils", "grep", "sed", "mawk", "tar",
    "gzip", "hostname", "procps", "psmisc", "util-linux", "mount", "kmod", "libc-bin", "netbase",
    "libgcc-s1", "libstdc++6", "iproute2", "iputils-ping", "iputils-arping", "tcpdump", "iperf3",
    "ethtool", "nftables", "socat", "strace", "jq", "python3", "openvswitch-switch", "lldpd",
];
/// Patterns of files in the packages that are left out of the image.
#[rustfmt::skip]
pub const LEFT_OUT: &[&str] = &[
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/locale/*",
    "usr/share/info/*",
    "usr/share/lintian/*",
    "var/cache/*",
];
/// Files to write into the image: (path, text).
pub const FILES: &[(&str, &str)] = &[
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/bash\n\
         tcpdump:x:101:101::/nonexistent:/usr/sbin/nologin\n\
         tresse:x:102:102::/nonexistent:/usr/sbin/nologin\n\
         _lldpd:x:103:103::/run/lldpd:/usr/sbin/nologin\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\ntcpdump:x:101:\ntresse:x:102:\n_lldpd:x:103:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("etc/hostname", "tresse-vm\n"),
    // No devices are created when a module is loaded, because programs create those that they want.
    (
        "etc/modprobe.d/tresse.conf",
        "options dummy numdummies=0\noptions ifb numifbs=0\noptions bonding max_bonds=0\n",
    ),
];
/// Symbolic links to create in the image if the path does not exist yet: (path, target).
pub const LINKS: &[(&str, &str)] = &[
    ("usr/bin/sh", "dash"),
    ("usr/bin/awk", "mawk"),
    ("usr/sbin/ovs-vswitchd", "../lib/openvswitch-switch/ovs-vswitchd"),
];
/// Raised when the same lists give a different image.
const RECIPE: &str = "2";
