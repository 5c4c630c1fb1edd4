//! Publishes what this node sees go down and come back: NICs of the plan in force, and other nodes' plans.

use tresse_control::Alert;

use super::links::LinkState;
use super::{Effect, Engine, View, publish};

impl Engine {
    /// Takes note of the NICs of the plan in force, after the kernel was looked at.
    pub(super) fn see_links(&mut self, view: &View, out: &mut Vec<Effect>) {
        let current = self.stored.current.as_ref().map(|current| &current.wanted.nics);
        self.links.keep(|name| current.is_some_and(|nics| nics.contains_key(name)));
        for name in current.into_iter().flat_map(|nics| nics.keys()) {
            let state = match view.observed.links.get(name) {
                None => LinkState::Absent,
                Some(link) if !link.up => LinkState::Down,
                Some(link) if !link.carrier => LinkState::NoCarrier,
                Some(_) => LinkState::Up,
            };
            if self.links.set(name, state) {
                tell(name, state, out);
            }
        }
    }

    /// Takes note of a NIC that has lost its carrier, as the kernel says: it may be back before it is looked at.
    pub(super) fn lose_carrier(&mut self, name: &str, out: &mut Vec<Effect>) {
        if self.links.has(name) && self.links.set(name, LinkState::NoCarrier) {
            tell(name, LinkState::NoCarrier, out);
        }
    }

    /// Looks which nodes have begun or ceased to go by another plan.
    pub(super) fn compare_plans(&mut self, now: u64, out: &mut Vec<Effect>) {
        if !self.elsewhere.take_news() {
            return;
        }
        let others = self.others_plans(now);
        let [ceased, begun] = self.elsewhere.compare(now, &others);
        for node in ceased {
            let words = "sends by this node's plan again, or is silent";
            publish(out, Alert::Info, "same-plan", &node, words);
        }
        for node in begun {
            let words = "sends by another plan: pairs with it may not work";
            publish(out, Alert::Warning, "other-plan", &node, words);
        }
    }
}

fn tell(name: &str, state: LinkState, out: &mut Vec<Effect>) {
    let alert = if state == LinkState::Up { Alert::Info } else { Alert::Warning };
    publish(out, alert, "link", name, state.words());
}
