//! What two plans need together, while one takes the place of the other.

use super::Wanted;

impl Wanted {
    /// Adds the objects that routes of the old plan need, and its gateways before those of the new plan or after them.
    pub fn keep(&mut self, old: Self, by_new_gateways: bool) {
        for (name, link) in old.links {
            self.links.entry(name).or_insert(link);
        }
        self.addresses.extend(old.addresses);
        self.unreachable.extend(old.unreachable);
        self.guard.extend(old.guard);
        for (prefix, gateways) in old.behind.into_iter().filter(|(prefix, _)| prefix.len == 0) {
            let all = self.behind.entry(prefix).or_default();
            let at = if by_new_gateways { all.len() } else { 0 };
            all.splice(at..at, gateways);
        }
        for (address, end) in old.ends {
            self.ends.entry(address).or_insert(end);
        }
        for (dst, nexthop) in old.back {
            self.back.entry(dst).or_insert(nexthop);
        }
        for (key, neighbour) in old.neighbours {
            self.neighbours.entry(key).or_insert(neighbour);
        }
        for (key, value) in old.sysctls {
            self.sysctls.entry(key).or_insert(value);
        }
        for (name, nic) in old.nics {
            self.nics.entry(name).or_insert(nic);
        }
        for (name, sources) in old.label_sources {
            self.label_sources.entry(name).or_default().extend(sources);
        }
    }
}
