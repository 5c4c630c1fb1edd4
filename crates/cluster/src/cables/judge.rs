//! Compares, for each NIC of the cluster file, the place where its cable should end with the place where the received
//! frames show that it ends. Writes the verdict on the cable and a message for the operator.

use tresse_topology::cluster::Cluster;

use super::heard::{HostInterface, Sign};
use super::place::{By, Place, Reader};
use super::report::{Extra, NicReport, Verdict};
use super::seen::Seen;

pub(super) struct Judge<'a> {
    pub cluster: &'a Cluster,
    pub reader: &'a Reader<'a>,
    pub seen: &'a [Seen<'a>],
}

impl Judge<'_> {
    /// Returns the report on one NIC.
    pub fn nic(&self, seen: &Seen<'_>) -> NicReport {
        let nic = self.reader.nic(seen.end);
        let view = |place: &Place| self.reader.view(place);
        let mut report = NicReport {
            nic: nic.name.clone(),
            interface: seen.interface.map(|i| i.name.clone()),
            expected: view(&seen.expected),
            found: seen.found.as_ref().map(|(place, _)| view(place)),
            by: seen.found.as_ref().map(|(_, by)| *by),
            verdict: Verdict::Ok,
            with: Vec::new(),
            silent: Vec::new(),
            message: String::new(),
        };
        match &seen.found {
            None => (report.verdict, report.message) = self.nothing(seen),
            Some((_, by)) if seen.fits() => {
                if *by == By::Announcements {
                    report.silent = self.silent(seen);
                }
            }
            Some((found, _)) => {
                let owners = self.owners(seen, found);
                report.verdict = if owners.is_some() { Verdict::Swapped } else { Verdict::Extra };
                report.with = owners.unwrap_or_default();
                let here = view(found);
                report.message = match (report.verdict, &report.with[..]) {
                    (Verdict::Extra, _) => format!("at {here}, where the file has no cable"),
                    (_, []) => format!("at {here}"),
                    (_, with) => format!("at {here}, swapped with {}", with.join(" or ")),
                };
            }
        }
        report
    }

    /// Returns the verdict on a NIC if nothing shows where its cable ends.
    fn nothing(&self, seen: &Seen<'_>) -> (Verdict, String) {
        let Some(interface) = seen.interface else {
            let mac = self.reader.nic(seen.end).mac;
            return (
                Verdict::Missing,
                format!("no interface of this name, nor with the MAC {mac}"),
            );
        };
        if !interface.carrier {
            return (Verdict::Missing, "no carrier".into());
        }
        if !self.reader.is_near() && !self.reader.heard(interface).is_empty() {
            let why = "no switch of the file is heard by LLDP, and announcements that cross an uplink do \
                       not tell which this is";
            return (Verdict::Unknown, why.into());
        }
        let foreign = interface.signs.iter().find_map(|sign| match sign {
            Sign::Announcement { mac, foreign: true } => Some(mac),
            _ => None,
        });
        if let Some(mac) = foreign {
            let words = format!("{mac} of another fabric is heard, and nobody of this one");
            return (Verdict::Missing, words);
        }
        let others = self.reader.others(seen.end, &seen.expected);
        if !self.cluster.is_untagged() || others.is_empty() {
            let why =
                "no switch of the file is heard by LLDP, and announcements do not tell its ports";
            return (Verdict::Unknown, why.into());
        }
        if !interface.patient {
            return (Verdict::Unknown, "nothing received yet: ask again later".into());
        }
        (Verdict::Missing, "carrier, but nothing is received".into())
    }

    /// Returns the NICs of the same switch, or of the same line there, that are not heard.
    fn silent(&self, seen: &Seen<'_>) -> Vec<String> {
        let heard = seen.interface.map(|i| self.reader.heard(i)).unwrap_or_default();
        let others = self.reader.others(seen.end, &seen.expected).into_iter();
        others.filter(|end| !heard.contains(end)).map(|end| self.reader.name(end)).collect()
    }

    /// Returns the cables that the file has at this place; `None` if there is none.
    fn owners(&self, seen: &Seen<'_>, found: &Place) -> Option<Vec<String>> {
        let Place::Port { switch, port: None, line } = found else {
            return Some(vec![self.reader.owner(found)?]);
        };
        let own = self
            .seen
            .iter()
            .filter(|other| other.end != seen.end && other.expected.fits(found) && !other.fits());
        let own: Vec<String> = own.map(|other| self.reader.name(other.end)).collect();
        if !own.is_empty() {
            return Some(own);
        }
        // A node that is not on its own switch or line may be where this cable should end.
        let heard = seen.interface.map(|i| self.reader.heard(i)).unwrap_or_default();
        let gone = self.reader.at(*switch, *line).filter(|end| !heard.contains(end));
        let gone: Vec<String> =
            gone.filter(|end| end.node != seen.end.node).map(|end| self.reader.name(end)).collect();
        Some(if gone.len() == 1 { gone } else { Vec::new() })
    }

    /// Returns what a correctly cabled NIC hears that does not belong there; with an uplink, what is heard and is
    /// not in the file at all.
    pub fn strangers(&self, seen: &Seen<'_>) -> Vec<Extra> {
        let fits = seen.fits() || !self.reader.is_near() && seen.found.is_none();
        let Some(interface) = seen.interface.filter(|_| fits) else { return Vec::new() };
        let extra = |message| Extra { interface: interface.name.clone(), message };
        let announced = interface.signs.iter().filter_map(|sign| match sign {
            Sign::Announcement { mac, foreign } => Some((*mac, *foreign)),
            Sign::Lldp { .. } => None,
        });
        let named = interface.signs.iter().filter_map(|sign| self.reader.nobody(sign));
        let named = named.map(|name| extra(format!("{name} is heard, which is not in the file")));
        announced
            .filter_map(|(mac, foreign)| match self.reader.with_mac(mac) {
                _ if foreign => Some(extra(format!("{mac} of another fabric is heard"))),
                None => Some(extra(format!("{mac} is heard, which is no NIC of the file"))),
                Some(_) if !self.reader.is_near() => None,
                Some(end) => {
                    let place = self.reader.beside(end);
                    let name = self.reader.name(end);
                    let belongs = self.reader.view(&self.reader.expected(end));
                    (!seen.expected.fits(&place) && end != seen.end)
                        .then(|| extra(format!("{name} is heard, which belongs at {belongs}")))
                }
            })
            .chain(named)
            .collect()
    }

    /// Reports an interface that is not in the file but hears the fabric.
    pub fn spare(&self, interface: &HostInterface) -> Option<Extra> {
        let (place, _) = self.reader.read(interface, None)?;
        let here = match place {
            Place::Unknown(_) => return None,
            place => self.reader.view(&place),
        };
        let message = format!("at {here}, but no NIC of this node in the file");
        Some(Extra { interface: interface.name.clone(), message })
    }
}
