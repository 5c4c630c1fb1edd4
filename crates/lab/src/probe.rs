//! Tests whether the running kernel has what a lab needs, in a temporary network namespace.

use tresse_frame::announce::ETHERTYPE;

use crate::netns::{self, NetnsError};
use crate::run::spawn;
use crate::state::Shaping;

/// Why the running kernel cannot run a lab.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// No namespace at all.
    #[error(transparent)]
    Netns(#[from] NetnsError),
    /// The kernel lacks something.
    #[error(
        "this kernel has no {} ({option}): add --vm to run the lab in a small virtual machine",
        .feature
    )]
    Missing {
        /// What, in words.
        feature: &'static str,
        /// The kernel's configuration option.
        option: &'static str,
    },
    /// iproute2 is not there.
    #[error("cannot start `ip`: {0} (install iproute2)")]
    Iproute(std::io::Error),
}

/// Tests whether the kernel has all that a lab needs: network namespaces, veth pairs, the token
/// bucket filter if `shape` limits rates, and if `vlans` is set VLAN-filtering bridges and VLAN
/// interfaces. The error names what is missing.
pub fn probe(vlans: bool, shape: Shaping) -> Result<(), ProbeError> {
    netns::in_scratch(|| {
        need("link add name a type veth peer name b", "veth pairs", "CONFIG_VETH")?;
        if vlans {
            need(
                "link add name br type bridge vlan_filtering 1 vlan_default_pvid 0",
                "VLAN-filtering bridges",
                "CONFIG_BRIDGE_VLAN_FILTERING",
            )?;
            need(
                "link add link a name a.2 type vlan id 2",
                "802.1Q VLAN interfaces",
                "CONFIG_VLAN_8021Q, module 8021q",
            )?;
        }
        if shape != Shaping::None {
            let args = "qdisc add dev a root tbf rate 1mbit burst 4000 limit 8000";
            let output = spawn("tc", &words(args), "").map_err(ProbeError::Iproute)?;
            if !output.status.success() {
                let option = "CONFIG_NET_SCH_TBF";
                return Err(ProbeError::Missing { feature: "token bucket filter", option });
            }
        }
        Ok(())
    })?
}

/// Returns whether the kernel can count announcements apart from other frames, for which it needs
/// clsact and flower.
#[must_use]
pub fn counts_announcements() -> bool {
    let try_it = || {
        let ip = spawn("ip", &words("link add name a type veth peer name b"), "");
        let filter = format!(
            "qdisc add dev a clsact\n\
             filter add dev a egress protocol 802.1q pref 1 handle 2 flower vlan_id 2 \
             vlan_ethtype {ETHERTYPE:#06x} action ok\n"
        );
        let tc = spawn("tc", &["-batch", "-"], &filter);
        ip.is_ok_and(|o| o.status.success()) && tc.is_ok_and(|o| o.status.success())
    };
    netns::in_scratch(try_it).unwrap_or(false)
}

fn need(args: &str, feature: &'static str, option: &'static str) -> Result<(), ProbeError> {
    let output = spawn("ip", &words(args), "").map_err(ProbeError::Iproute)?;
    output.status.success().then_some(()).ok_or(ProbeError::Missing { feature, option })
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}
