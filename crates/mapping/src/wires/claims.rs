//! Which of the cables that LLDP tables claim are believed. Every neighbour that a port hears is a claim. A port has
//! one cable, so two claims that share a port and no more contradict each other: one is of an entry that is out of
//! date, of a text that was cut off, or something between the switches passes LLDP on. The stronger claim is believed;
//! of two that are equally strong neither is. What is not believed is named.

use std::collections::{BTreeMap, BTreeSet};

use crate::cable::{PortAt, SeenBy, SeenCable};
use crate::port;

/// How much speaks for a claim, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Each end hears the other's switch, and neither names another port than that.
    Agreed,
    /// The other end hears this switch too, but does not name this port.
    Answered,
    /// The other end does not hear this switch.
    Alone,
}

/// A neighbour that a port hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// The port that hears it.
    pub(super) hears: PortAt,
    /// The port that is heard; its name is empty if nothing tells it.
    pub(super) heard: PortAt,
    pub(super) strength: Strength,
    /// Whether the switch that is heard tells its neighbours.
    pub(super) tells: bool,
}

/// The claims that are believed, and all that is to be said of the others.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) cables: Vec<SeenCable>,
    pub(super) unseen: Vec<String>,
    /// Ports that hear a switch and have no cable that is believed.
    pub(super) doubted: BTreeSet<PortAt>,
}

/// What becomes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Believed,
    /// Another claim of the same strength contradicts it.
    Tied,
    /// The stronger claim of this index contradicts it.
    Against(usize),
}

/// Decides between claims. O(claims log claims), as few claims share a port.
pub(super) fn settle(claims: Vec<Claim>) -> Settled {
    let claims = Claims::of(claims);
    let all = &claims.all;
    let mut fates = vec![Fate::Open; all.len()];
    for strength in [Strength::Agreed, Strength::Answered, Strength::Alone] {
        let of: Vec<usize> = (0..all.len()).filter(|k| all[*k].strength == strength).collect();
        for &k in &of {
            let taken = |o: &usize| matches!(fates[*o], Fate::Believed | Fate::Tied);
            let mut against: Vec<usize> = claims.against(k).into_iter().filter(taken).collect();
            against.sort_by_key(|o| fates[*o] != Fate::Believed);
            if let Some(other) = against.first() {
                fates[k] = Fate::Against(*other);
            }
        }
        let open = |k: &usize| all[*k].strength == strength && fates[*k] == Fate::Open;
        let decided: Vec<(usize, Fate)> = of
            .iter()
            .filter(|k| open(k))
            .map(|k| match claims.against(*k).iter().any(open) {
                true => (*k, Fate::Tied),
                false => (*k, Fate::Believed),
            })
            .collect();
        decided.into_iter().for_each(|(k, fate)| fates[k] = fate);
    }
    let mut settled = Settled::default();
    for (k, claim) in all.iter().enumerate() {
        match fates[k] {
            Fate::Believed => settled.believe(claim),
            Fate::Against(other) => {
                settled.doubt(claim);
                let why = match fates[other] {
                    Fate::Believed => "is believed",
                    _ => "is not believed either, but has more for it",
                };
                settled.unseen.push(format!(
                    "{claim} is left out: a port has one cable, and {} {why}; an entry may be out of date (read the tables \
                     again after two minutes) or cut off",
                    all[other]
                ));
            }
            Fate::Tied | Fate::Open => {
                settled.doubt(claim);
                let tied = claims.against(k).into_iter();
                let tied: Vec<usize> = tied.filter(|o| fates[*o] == Fate::Tied).collect();
                settled.name_tied(all, k, &tied);
            }
        }
    }
    settled
}

impl Settled {
    /// Names a claim beside those that are as strong.
    fn name_tied(&mut self, all: &[Claim], k: usize, tied: &[usize]) {
        let claim = &all[k];
        let beside = tied.iter().filter(|o| all[**o].hears == claim.hears);
        let names: BTreeSet<&str> =
            beside.map(|o| &*all[*o].heard.switch).chain([&*claim.heard.switch]).collect();
        if names.len() > 1 {
            let names: Vec<&str> = names.into_iter().collect();
            self.unseen.push(format!(
                "{} hears {} at once: what stands between them passes LLDP on, and is not seen, or an entry is out of date (read \
                 the tables again after two minutes); no cable of this port is believed",
                claim.hears.words(),
                names.join(", ")
            ));
        }
        let at_once = |o: &Claim| o.hears == claim.hears && o.heard.switch != claim.heard.switch;
        // One of them is enough, whichever of the two comes first.
        if let Some(other) = tied.iter().find(|o| !at_once(&all[**o])) {
            let [first, second] = [k.min(*other), k.max(*other)].map(|at| &all[at]);
            self.unseen.push(format!(
                "{first} and {second} are left out: a port has one cable, and as much speaks for the one as for the other; an \
                 entry may be out of date (read the tables again after two minutes) or cut off"
            ));
        }
    }

    fn believe(&mut self, claim: &Claim) {
        let by = match claim.strength {
            Strength::Agreed => SeenBy::BothEnds,
            Strength::Answered | Strength::Alone => SeenBy::OneEnd,
        };
        let (a, b) = (claim.hears.words(), claim.heard.words());
        match claim.strength {
            Strength::Answered => self.unseen.push(format!(
                "{a} hears {b}, which hears {} too and does not name this port: one end alone says so",
                claim.hears.switch
            )),
            Strength::Alone if claim.tells => self.unseen.push(format!(
                "{a} hears {b}, which does not hear it: the tables are of different times, or one direction is cut"
            )),
            Strength::Agreed | Strength::Alone => {}
        }
        self.cables.push(SeenCable { a: claim.hears.clone(), b: claim.heard.clone(), by });
    }

    fn doubt(&mut self, claim: &Claim) {
        self.doubted.insert(claim.hears.clone());
        if claim.strength == Strength::Agreed {
            self.doubted.insert(claim.heard.clone());
        }
    }
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (a, b) = (self.hears.words(), self.heard.words());
        match self.strength {
            Strength::Agreed => write!(f, "the cable from {a} to {b} (both ends say so)"),
            Strength::Answered => write!(
                f,
                "the cable from {a} to {b} (one end says so, and the other hears {})",
                self.hears.switch
            ),
            Strength::Alone => write!(f, "the cable from {a} to {b} (one end alone says so)"),
        }
    }
}

/// Claims of different cables, the strongest first.
struct Claims {
    all: Vec<Claim>,
    /// Claims by switch and by the number in the port's name.
    at: BTreeMap<(String, String), Vec<usize>>,
}

impl Claims {
    fn of(mut claims: Vec<Claim>) -> Self {
        for claim in &mut claims {
            // Both ends have made it: the first one is listed first.
            if claim.strength == Strength::Agreed && claim.heard < claim.hears {
                std::mem::swap(&mut claim.hears, &mut claim.heard);
            }
        }
        // Of two claims of one cable that which names more.
        let vague = |claim: &Claim| {
            (
                claim.heard.port.is_empty(),
                port::mac(&claim.heard.port).is_some(),
                claim.hears.clone(),
            )
        };
        claims.sort_by(|x, y| {
            x.strength
                .cmp(&y.strength)
                .then_with(|| (vague(x), &x.heard).cmp(&(vague(y), &y.heard)))
        });
        let mut all = Self { all: Vec::new(), at: BTreeMap::new() };
        for claim in claims {
            if all.near(&claim).into_iter().any(|k| is_same(&all.all[k], &claim)) {
                continue;
            }
            for key in [bucket(&claim.hears), bucket(&claim.heard)] {
                all.at.entry(key).or_default().push(all.all.len());
            }
            all.all.push(claim);
        }
        all
    }

    /// Claims that may share a port with this one.
    fn near(&self, claim: &Claim) -> BTreeSet<usize> {
        let keys = [bucket(&claim.hears), bucket(&claim.heard)];
        keys.iter().filter_map(|key| self.at.get(key)).flatten().copied().collect()
    }

    /// The other claims that share a port with this one.
    fn against(&self, k: usize) -> Vec<usize> {
        let ends = |k: usize| [&self.all[k].hears, &self.all[k].heard];
        let shares =
            |o: &usize| *o != k && ends(*o).iter().any(|x| ends(k).iter().any(|y| is_port(x, y)));
        self.near(&self.all[k]).into_iter().filter(shares).collect()
    }
}

/// Ports that are the same are in the same bucket.
fn bucket(end: &PortAt) -> (String, String) {
    (end.switch.clone(), port::number_part(&end.port).to_ascii_lowercase())
}

/// Whether both are the same port, and it is known which.
fn is_port(x: &PortAt, y: &PortAt) -> bool {
    x.switch == y.switch && !x.port.is_empty() && port::same(&x.port, &y.port)
}

/// Whether two claims are of one cable.
fn is_same(x: &Claim, y: &Claim) -> bool {
    let back = is_port(&x.hears, &y.heard) && is_port(&x.heard, &y.hears);
    // One may name the far port by its MAC or not at all.
    let (p, q) = (&x.heard.port, &y.heard.port);
    let fits = port::same(p, q)
        || p.is_empty() != q.is_empty()
        || port::mac(p).is_some() != port::mac(q).is_some();
    back || is_port(&x.hears, &y.hears) && x.heard.switch == y.heard.switch && fits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(hears: (&str, &str), heard: (&str, &str), strength: Strength) -> Claim {
        let at = |(switch, port): (&str, &str)| PortAt { switch: switch.into(), port: port.into() };
        Claim { hears: at(hears), heard: at(heard), strength, tells: true }
    }

    fn cables(settled: &Settled) -> Vec<String> {
        let words = |cable: &SeenCable| format!("{} - {}", cable.a.words(), cable.b.words());
        settled.cables.iter().map(words).collect()
    }

    use Strength::{Agreed, Alone, Answered};

    #[test]
    fn the_stronger_claim_is_believed_and_both_are_named() {
        // The entry of s1 is out of date: its port p1 was joined to s0 port p1 before.
        let settled = settle(vec![
            claim(("s0", "p1"), ("s2", "p4"), Agreed),
            claim(("s2", "p4"), ("s0", "p1"), Agreed),
            claim(("s1", "p1"), ("s0", "p1"), Alone),
        ]);
        assert_eq!(cables(&settled), ["s0 port p1 - s2 port p4"]);
        assert_eq!(settled.unseen.len(), 1, "{:?}", settled.unseen);
        let words = &settled.unseen[0];
        assert!(words.starts_with(
            "the cable from s1 port p1 to s0 port p1 (one end alone says so) is left out"
        ));
        assert!(
            words.contains("s0 port p1 to s2 port p4 (both ends say so) is believed"),
            "{words}"
        );
        assert_eq!(settled.doubted.len(), 1);
    }

    #[test]
    fn of_equal_claims_neither_is_believed() {
        let settled = settle(vec![
            claim(("s0", "p1"), ("s2", "p4"), Agreed),
            claim(("s0", "p1"), ("s1", "p1"), Agreed),
            // Weaker than both, at the same port.
            claim(("s3", "p1"), ("s0", "p1"), Alone),
            claim(("s0", "p2"), ("s3", "p2"), Alone),
            claim(("s1", "p5"), ("s3", "p2"), Alone),
        ]);
        assert!(settled.cables.is_empty(), "{:?}", settled.cables);
        let text = settled.unseen.join("\n");
        assert!(text.contains("s0 port p1 hears s1, s2 at once"), "{text}");
        assert!(text.contains("s3 port p1 to s0 port p1 (one end alone says so) is left out"));
        assert!(text.contains("as much speaks for the one as for the other"), "{text}");
    }

    /// The port of s2 was cut off in the text of s1: `Gi1/0/2` of `Gi1/0/24`.
    #[test]
    fn what_was_cut_off_loses_against_what_fits() {
        let settled = settle(vec![
            claim(("s1", "Gi1/0/23"), ("s2", "Gi1/0/2"), Alone),
            claim(("s2", "Gi1/0/24"), ("s1", "Gi1/0/23"), Answered),
        ]);
        assert_eq!(cables(&settled), ["s2 port Gi1/0/24 - s1 port Gi1/0/23"]);
        let text = settled.unseen.join("\n");
        assert!(text.contains("does not name this port") && text.contains("or cut off"), "{text}");
    }

    #[test]
    fn one_cable_in_two_spellings_is_one() {
        let settled = settle(vec![
            claim(("s1", "Gi1/0/23"), ("core", "Gi1/0/24"), Alone),
            claim(("s1", "GigabitEthernet1/0/23"), ("core", "GigabitEthernet1/0/24"), Alone),
            claim(("s1", "Gi1/0/23"), ("core", "02:54:00:00:00:01"), Alone),
            claim(("s1", "Gi1/0/23"), ("core", ""), Alone),
        ]);
        assert_eq!(cables(&settled), ["s1 port Gi1/0/23 - core port Gi1/0/24"]);
    }
}
