//! Who may change something: root and the members of one group, as the kernel names the peer of a
//! connection (SO_PEERCRED, SO_PEERGROUPS).

use nix::unistd::{Gid, Group};
use tresse_control::Call;
use zlink::connection::Credentials;

/// The group whose members may change what the daemon does.
pub const GROUP: &str = "tresse";

/// May anybody on this host make this call? It changes nothing, and costs little: Apply as a dry run is not among
/// them, as planning what anybody sends would keep the daemon from its work.
#[must_use]
pub const fn is_open(call: &Call) -> bool {
    matches!(
        call,
        Call::GetStatus
            | Call::ListPaths { .. }
            | Call::ListNeighbours
            | Call::GetCounters
            | Call::Diff
            | Call::Monitor
    )
}

/// May this peer change something? Looks the group up each time: it may be created later.
#[must_use]
pub fn may_change(peer: &Credentials) -> bool {
    let gids = peer
        .unix_supplementary_group_ids()
        .iter()
        .chain([&peer.unix_primary_group_id()])
        .map(|gid| gid.as_raw())
        .collect::<Vec<_>>();
    permits(peer.unix_user_id().as_raw(), &gids, tresse_group())
}

fn tresse_group() -> Option<Gid> {
    Group::from_name(GROUP).ok().flatten().map(|group| group.gid)
}

fn permits(uid: u32, gids: &[u32], group: Option<Gid>) -> bool {
    uid == 0 || group.is_some_and(|group| gids.contains(&group.as_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_members_may_and_nobody_else() {
        let group = Some(Gid::from_raw(990));
        assert!(permits(0, &[], None));
        assert!(permits(1000, &[1000, 990], group));
        assert!(!permits(1000, &[1000], group));
        assert!(!permits(1000, &[1000, 0], None));
    }
}
