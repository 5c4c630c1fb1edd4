//! Allocates the addresses of nodes and NICs (DESIGN section 3): sequentially in node order, except
//! that a node keeps the addresses that the lock holds for it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

use tresse_base::units::Prefix;
use tresse_topology::Layout;
use tresse_topology::cluster::{AddressLayout, Cluster, Node, TopologyShape};
use tresse_topology::coordinates::NodeEncoding;
use tresse_topology::pmesh::{self, Encoding};

use super::content::Lock;
use crate::address::Addresses;

/// Why the addresses of nodes and NICs cannot be allocated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// More nodes or NICs than addresses, those in the lock included.
    #[error(
        "{prefix} of `{key}` has {room} addresses and needs {needed}: use a /{larger} or larger"
    )]
    Full {
        /// `nodes` or `nics`.
        key: &'static str,
        /// The prefix.
        prefix: Prefix,
        /// Its addresses for hosts.
        room: u128,
        /// How many are needed, those that the lock still holds included.
        needed: u128,
        /// The longest prefix that holds them.
        larger: u8,
    },
    /// Node addresses by coordinates need more bits than a prefix has.
    #[error(
        "{prefix} of `nodes` is too small for addresses by coordinates, which take {bits} bits: needs \
         /{longest} or larger, or `layout = \"sequential\"`, which gives all nodes other addresses"
    )]
    Coordinates {
        /// The prefix.
        prefix: Prefix,
        /// Bits of an address below the prefix.
        bits: u32,
        /// The longest prefix length that has room for them.
        longest: u8,
    },
    /// The addresses of a P-Mesh need more bits than its base network has.
    #[error(transparent)]
    Base(#[from] pmesh::BaseTooSmall),
    /// The lock gives one address twice.
    #[error("the lock gives {address} to both `{first}` and `{second}`: remove one of the lines")]
    LockedTwice {
        /// The address.
        address: IpAddr,
        /// An owner.
        first: String,
        /// The other.
        second: String,
    },
}

/// Allocates an address for every node and NIC from each prefix of `[addressing]`, and returns them. A node or NIC
/// keeps the address that the lock holds for it, if that is inside the prefix and of the same layout. With the layout
/// `coordinates` node addresses follow from the coordinates. Otherwise node k gets the (k+1)-th
/// address of its prefix, and the m-th NIC of the cluster the m-th address of its prefix; if that is taken, the lowest
/// free one. Addresses that the lock holds for others, even for removed nodes, count as taken. On a P-Mesh the
/// coordinates of a node determine its NIC addresses. Linear in nodes and NICs.
///
/// # Errors
/// A prefix has too few addresses, or the lock gives one address twice.
pub fn assign(cluster: &Cluster, lock: &Lock) -> Result<Addresses, AddressError> {
    let place: Vec<(usize, usize)> = cluster
        .nodes
        .iter()
        .enumerate()
        .flat_map(|(k, node)| (0..node.nics.len()).map(move |i| (k, i)))
        .collect();
    let names = lock.names(cluster);
    let node_key = |k: usize| names[k].map(Into::into);
    let nic_key = |n: usize| {
        let (k, i) = place[n];
        let machine = cluster.nodes[k].machine.as_deref();
        Some(format!("{}/{}", machine.or(names[k])?, cluster.nodes[k].nics[i].name))
    };
    let owners = Owners { what: "nodes", count: cluster.nodes.len(), key: &node_key };
    let nodes = match lock.layout(cluster) {
        AddressLayout::Coordinates => by_coordinates(cluster)?,
        AddressLayout::Sequential => {
            // The file asks for other addresses than those by coordinates that the lock has.
            let renumbers = lock.layout_held() == Some(AddressLayout::Coordinates)
                && NodeEncoding::of(&cluster.kind).is_some();
            let none = BTreeMap::new();
            let held = if renumbers { &none } else { &lock.nodes };
            columns(&owners, &cluster.addressing.nodes, held, lock)?
        }
    };
    if let TopologyShape::Pmesh { grow_to, .. } = &cluster.kind {
        return Ok(Addresses { node: nodes, nic: encoded(cluster, grow_to)? });
    }
    let owners = Owners { what: "nics", count: place.len(), key: &nic_key };
    let nics = columns(&owners, &cluster.addressing.nics, &lock.nics, lock)?;
    let mut rows = nics.into_iter();
    let nic = cluster.nodes.iter().map(|n| rows.by_ref().take(n.nics.len()).collect()).collect();
    Ok(Addresses { node: nodes, nic })
}

/// Node addresses by coordinates.
fn by_coordinates(cluster: &Cluster) -> Result<Vec<Vec<IpAddr>>, AddressError> {
    let kind = &cluster.kind;
    let (Some(encoding), Some(layout)) = (NodeEncoding::of(kind), Layout::of(kind)) else {
        return Ok(vec![Vec::new(); cluster.nodes.len()]);
    };
    let prefixes = &cluster.addressing.nodes;
    if let Some(prefix) = prefixes.iter().find(|prefix| !encoding.fits(prefix)) {
        let (bits, longest) = (encoding.bits(), encoding.longest_prefix(prefix));
        return Err(AddressError::Coordinates { prefix: *prefix, bits, longest });
    }
    let offsets = layout.all_coordinates().chunks_exact(layout.rank()).map(|x| encoding.offset(x));
    let of_node = |offset| prefixes.iter().filter_map(|prefix| prefix.nth(offset)).collect();
    Ok(offsets.map(of_node).collect())
}

/// The NIC addresses of a P-Mesh: coordinates say them, so no lock is needed.
fn encoded(cluster: &Cluster, grow_to: &[u32]) -> Result<Vec<Vec<Vec<IpAddr>>>, AddressError> {
    let encoding = Encoding::new(grow_to);
    for prefix in &cluster.addressing.nics {
        pmesh::fits(prefix, grow_to)?;
    }
    let Some(layout) = Layout::of(&cluster.kind) else { return Ok(Vec::new()) };
    let address = |prefix: &Prefix, dim, x: &[u32]| prefix.nth(encoding.offset(dim, x));
    let of_nic = |k: usize, dim: usize| {
        let x = layout.coordinates(k.into());
        cluster.addressing.nics.iter().filter_map(|p| address(p, dim, x)).collect()
    };
    let of_node =
        |(k, node): (usize, &Node)| (0..node.nics.len()).map(|dim| of_nic(k, dim)).collect();
    Ok(cluster.nodes.iter().enumerate().map(of_node).collect())
}

/// The number of nodes that get another address than `lock` has for them, in a family that both have.
#[must_use]
pub fn renumbered(cluster: &Cluster, addresses: &Addresses, lock: &Lock) -> usize {
    let moved = |(name, now): (Option<&str>, &Vec<IpAddr>)| {
        let before = name.and_then(|name| lock.nodes.get(name));
        let other = |a: &IpAddr| {
            let same = now.iter().find(|b| a.is_ipv4() == b.is_ipv4());
            same.is_some_and(|b| a != b)
        };
        before.is_some_and(|before| before.iter().any(other))
    };
    let names = lock.names(cluster).into_iter();
    names.zip(&addresses.node).filter(|(name, now)| moved((*name, now))).count()
}

/// What gets addresses: `key` names the n-th in the lock, and is asked only where the lock holds any;
/// `None` where the lock does not know it.
struct Owners<'a> {
    what: &'static str,
    count: usize,
    key: &'a dyn Fn(usize) -> Option<String>,
}

/// One row per owner, one column per prefix.
fn columns(
    owners: &Owners<'_>,
    prefixes: &[Prefix],
    locked: &BTreeMap<String, Vec<IpAddr>>,
    lock: &Lock,
) -> Result<Vec<Vec<IpAddr>>, AddressError> {
    let mut rows = vec![Vec::with_capacity(prefixes.len()); owners.count];
    for prefix in prefixes {
        let column = column(owners, prefix, locked, &lock.retired.addresses)?;
        for (row, address) in rows.iter_mut().zip(column) {
            row.push(address);
        }
    }
    Ok(rows)
}

fn column(
    owners: &Owners<'_>,
    prefix: &Prefix,
    locked: &BTreeMap<String, Vec<IpAddr>>,
    retired: &[IpAddr],
) -> Result<Vec<IpAddr>, AddressError> {
    let held = held(prefix, locked)?;
    let retired: BTreeSet<IpAddr> =
        retired.iter().copied().filter(|a| prefix.is_host(*a)).collect();
    let keys: Vec<Option<String>> =
        if held.is_empty() { vec![] } else { (0..owners.count).map(owners.key).collect() };
    let of: HashMap<&str, IpAddr> = held.iter().map(|(address, key)| (*key, *address)).collect();
    let kept = |k: usize| of.get(keys.get(k)?.as_deref()?).copied();
    let own = |k: usize| prefix.nth_host(k as u128).filter(|a| !retired.contains(a));
    let mut taken: HashSet<IpAddr> = held.keys().copied().collect();
    let mut column: Vec<Option<IpAddr>> = (0..owners.count).map(kept).collect();
    for (k, slot) in column.iter_mut().enumerate().filter(|(_, slot)| slot.is_none()) {
        *slot = own(k).filter(|own| taken.insert(*own));
    }
    let missing = column.iter().filter(|slot| slot.is_none()).count();
    let fresh =
        (0..prefix.hosts()).filter_map(|n| prefix.nth_host(n)).filter(|a| !retired.contains(a));
    let free = fresh.chain(retired.iter().copied()).filter(|a| !taken.contains(a));
    let given: Vec<_> = free.take(missing).collect();
    if given.len() < missing {
        let known: HashSet<&str> = keys.iter().flatten().map(String::as_str).collect();
        let gone = held.values().filter(|key| !known.contains(*key)).count();
        let needed = (owners.count + gone) as u128;
        let larger = prefix.len_for(needed);
        let (key, prefix) = (owners.what, *prefix);
        return Err(AddressError::Full { key, prefix, room: prefix.hosts(), needed, larger });
    }
    let mut given = given.into_iter();
    Ok(column.into_iter().filter_map(|slot| slot.or_else(|| given.next())).collect())
}

/// The addresses of the prefix that the lock holds, each with its owner.
fn held<'a>(
    prefix: &Prefix,
    locked: &'a BTreeMap<String, Vec<IpAddr>>,
) -> Result<BTreeMap<IpAddr, &'a str>, AddressError> {
    let mut held: BTreeMap<IpAddr, &str> = BTreeMap::new();
    for (key, addresses) in locked {
        let Some(address) = addresses.iter().copied().find(|a| prefix.is_host(*a)) else {
            continue;
        };
        if let Some(first) = held.insert(address, key) {
            let (first, second) = (first.to_owned(), key.clone());
            return Err(AddressError::LockedTwice { address, first, second });
        }
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tresse_topology::cluster::{Strategy, TopologyShape};

    fn torus(dims: &[u32], nics: u32) -> Cluster {
        Cluster::generated(TopologyShape::Torus { dims: dims.into() }, 1, nics, Strategy::Dor, 1)
    }

    fn lock_of(cluster: &Cluster, old: &Lock) -> Lock {
        old.next(cluster, &assign(cluster, old).unwrap(), &[], &[], crate::lock::Labels::new())
    }

    #[test]
    fn addresses_are_sequential_in_both_families() {
        let mut cluster = torus(&[4, 4], 2);
        cluster.addressing.nodes.push("fd77::/64".parse().unwrap());
        cluster.addressing.nics.push("fd78::/64".parse().unwrap());
        let addresses = assign(&cluster, &Lock::default()).unwrap();
        assert_eq!(addresses.node[15][0].to_string(), "10.77.0.16");
        assert_eq!(addresses.node[15][1].to_string(), "fd77::10");
        assert_eq!(addresses.nic[15][1][0].to_string(), "10.78.0.32");
        assert_eq!(addresses.nic[3][0][1].to_string(), "fd78::7");
    }

    fn pmesh(dims: &[u32]) -> Cluster {
        let kind = TopologyShape::Pmesh {
            dims: dims.into(),
            grow_to: dims.iter().map(|n| n.next_power_of_two()).collect(),
            lines_per_switch: 1,
        };
        Cluster::generated(kind, 1, 1, Strategy::Xy, 2)
    }

    fn of(cluster: &Cluster, addresses: &Addresses, name: &str) -> String {
        addresses.node[cluster.node_named(name).unwrap().index()][0].to_string()
    }

    #[test]
    fn a_new_grid_is_numbered_by_coordinates_and_grows_within_them() {
        let (small, large) = (pmesh(&[3, 3]), pmesh(&[4, 4]));
        let first = assign(&small, &Lock::default()).unwrap();
        assert_eq!(of(&small, &first, "n0"), "10.77.0.1");
        assert_eq!(of(&small, &first, "n5"), "10.77.0.18", "x = 2, y = 1");
        let lock = lock_of(&small, &Lock::default());
        assert_eq!(lock.layout, Some(AddressLayout::Coordinates));
        assert_eq!(Lock::parse(&lock.emit()).unwrap(), lock);
        let grown = assign(&large, &lock).unwrap();
        assert_eq!(renumbered(&large, &grown, &lock), 0);
        assert_eq!(of(&large, &grown, "n06"), "10.77.0.18");
    }

    #[test]
    fn a_lock_without_the_key_keeps_sequential_addresses() {
        let cluster = pmesh(&[3, 3]);
        let mut asked = cluster.clone();
        asked.addressing.layout = Some(AddressLayout::Sequential);
        let lock = lock_of(&asked, &Lock::default());
        assert!(lock.layout.is_none() && !lock.emit().contains("layout"));
        let kept = assign(&cluster, &lock).unwrap();
        assert_eq!(of(&cluster, &kept, "n5"), "10.77.0.6");
        assert_eq!(renumbered(&cluster, &kept, &lock), 0);
    }

    #[test]
    fn another_layout_than_the_locks_renumbers_nodes() {
        let cluster = pmesh(&[3, 3]);
        let [sequential, coordinates] = [AddressLayout::Sequential, AddressLayout::Coordinates]
            .map(|layout| {
                let mut cluster = cluster.clone();
                cluster.addressing.layout = Some(layout);
                cluster
            });
        for (before, after) in [(&sequential, &coordinates), (&coordinates, &sequential)] {
            let lock = lock_of(before, &Lock::default());
            let addresses = assign(after, &lock).unwrap();
            assert!(renumbered(after, &addresses, &lock) >= 6);
            assert_eq!(lock_of(after, &lock).layout_held(), after.addressing.layout);
        }
    }

    #[test]
    fn coordinates_need_room_and_are_no_default_without() {
        let mut cluster = pmesh(&[4, 4]);
        cluster.addressing.nodes = vec!["10.77.0.0/28".parse().unwrap()];
        cluster.addressing.layout = Some(AddressLayout::Coordinates);
        let error = assign(&cluster, &Lock::default()).unwrap_err().to_string();
        assert!(error.contains("take 5 bits: needs /27 or larger"), "{error}");
        cluster.addressing.layout = None;
        cluster.addressing.nodes =
            vec!["10.77.0.0/27".parse().unwrap(), "fd77::/64".parse().unwrap()];
        let both = assign(&cluster, &Lock::default()).unwrap();
        assert_eq!(
            both.node[1].iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["10.77.0.9", "fd77::9"]
        );
    }

    #[test]
    fn additions_move_nothing_and_the_gone_are_not_reused_at_once() {
        let small = torus(&[3], 1);
        let lock = lock_of(&small, &Lock::default());
        let mut grown = torus(&[5], 1);
        grown.nodes.rotate_right(2);
        let addresses = assign(&grown, &lock).unwrap();
        let of =
            |name: &str| addresses.node[grown.node_named(name).unwrap().index()][0].to_string();
        assert_eq!((of("n0"), of("n2")), ("10.77.0.1".into(), "10.77.0.3".into()));
        assert_eq!((of("n3"), of("n4")), ("10.77.0.4".into(), "10.77.0.5".into()));

        let mut changed = small.clone();
        changed.kind = TopologyShape::Explicit;
        changed.nodes[1].name = "x".into();
        let addresses = assign(&changed, &lock).unwrap();
        assert_eq!(addresses.node[1][0].to_string(), "10.77.0.4");
        let next = lock_of(&changed, &lock);
        assert!(next.retired.addresses.contains(&"10.77.0.2".parse().unwrap()));
        changed.nodes[0].name = "y".into();
        assert_eq!(assign(&changed, &next).unwrap().node[0][0].to_string(), "10.77.0.5");
    }

    #[test]
    fn a_full_prefix_says_how_much_larger() {
        let mut cluster = torus(&[4, 4], 1);
        cluster.addressing.nodes = vec!["10.0.0.0/28".parse().unwrap()];
        let error = assign(&cluster, &Lock::default()).unwrap_err().to_string();
        assert!(error.contains("10.0.0.0/28 of `nodes`"), "{error}");
        assert!(error.contains("has 14 addresses and needs 16: use a /27"), "{error}");
        cluster.addressing.nodes = vec!["10.0.0.0/27".parse().unwrap()];
        assert!(assign(&cluster, &Lock::default()).is_ok());
        cluster.addressing.nics = vec!["fd78::/124".parse().unwrap()];
        let error = assign(&cluster, &Lock::default()).unwrap_err().to_string();
        assert!(error.contains("has 15 addresses and needs 16: use a /123"), "{error}");
    }

    #[test]
    fn retired_addresses_are_the_last_resort() {
        let mut cluster = torus(&[2], 1);
        cluster.addressing.nodes = vec!["10.0.0.0/30".parse().unwrap()];
        let mut lock = Lock::default();
        lock.retired.addresses = vec!["10.0.0.1".parse().unwrap()];
        let addresses = assign(&cluster, &lock).unwrap();
        assert_eq!(addresses.node[0][0].to_string(), "10.0.0.1");
        assert_eq!(addresses.node[1][0].to_string(), "10.0.0.2");
    }

    #[test]
    fn a_lock_with_one_address_twice_is_refused() {
        let cluster = torus(&[2], 1);
        let mut lock = Lock::default();
        let address: IpAddr = "10.77.0.9".parse().unwrap();
        lock.nodes.insert("n0".into(), vec![address]);
        assert_eq!(assign(&cluster, &lock).unwrap().node[0], [address]);
        lock.nodes.insert("n1".into(), vec![address]);
        let error = assign(&cluster, &lock).unwrap_err().to_string();
        assert!(error.contains("10.77.0.9 to both `n0` and `n1`"), "{error}");
    }

    #[test]
    fn locked_addresses_outside_the_prefix_are_forgotten() {
        let cluster = torus(&[2], 1);
        let mut lock = Lock::default();
        for outside in ["192.168.0.1", "10.77.0.0", "10.77.255.255"] {
            lock.nodes.insert("n0".into(), vec![outside.parse().unwrap()]);
            assert_eq!(assign(&cluster, &lock).unwrap().node[0][0].to_string(), "10.77.0.1");
        }
    }
}
