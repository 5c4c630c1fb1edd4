//! Decides who may call methods that change something: root and the members of group `tresse`. The
//! kernel says who the peer of a connection is (SO_PEERCRED, SO_PEERGROUPS).

use nix::unistd::{Gid, Group};
use tresse_control::NodeError;
use zlink::Connection;
use zlink::connection::Credentials;
use zlink::tokio::unix::Stream;

/// Name of the Unix group whose members may call the methods that change something.
pub const GROUP: &str = "tresse";

/// Returns whether this peer may make calls that change something: if it is root or in the group
/// [`GROUP`]. Looks the group up each time, because it may be created later.
fn may_change(peer: &Credentials) -> bool {
    let gids = peer
        .unix_supplementary_group_ids()
        .iter()
        .chain([&peer.unix_primary_group_id()])
        .map(|gid| gid.as_raw())
        .collect::<Vec<_>>();
    permits(peer.unix_user_id().as_raw(), &gids, tresse_group())
}

/// Refuses a peer that may not make calls that change something.
///
/// # Errors
/// [`NodeError::NotPermitted`], or that the kernel does not say who the peer is.
pub async fn permit(peer: &mut Connection<Stream>) -> Result<(), NodeError> {
    let peer = peer.peer_credentials().await.map_err(|error| NodeError::Internal {
        message: format!("the caller's credentials: {error}"),
    })?;
    match may_change(peer) {
        true => Ok(()),
        false => Err(NodeError::NotPermitted { uid: peer.unix_user_id().as_raw() }),
    }
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
