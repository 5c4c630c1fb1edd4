//! Moves the cables of a running lab before a change of plan, as operators do it: paths keep off a cable
//! before it is unplugged.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tresse_lab::blueprint::{Blueprint, Cable, End};
use tresse_lab::recable::{Moves, recable};

use crate::lab::{Lab, Planned};

/// How long a hand needs for moving a cable.
const HAND: Duration = Duration::from_secs(2);
/// How long sessions may take to come up.
const SESSIONS: Duration = Duration::from_secs(60);

/// What was done to a lab so that its cables are those of another plan.
#[derive(Debug, Default)]
pub struct Moved {
    /// Cables that were drained on all nodes before they were unplugged.
    drained: Vec<String>,
    /// Whether a cable in use was unplugged without that: what it carried just then is lost.
    pub cut: bool,
    /// Switch ports of new cables, which are in no VLAN.
    pub ports: BTreeSet<(String, u32)>,
}

impl Moved {
    /// Drains and unplugs the cables that are in the way of those of the plan `next`, and plugs in
    /// these.
    ///
    /// # Errors
    /// What refused.
    pub fn to(lab: &Lab, next: &Planned) -> Result<Self, String> {
        let blueprint =
            |planned: &Planned| Blueprint::of(&planned.plan, false).map_err(|e| e.to_string());
        let (now, wanted) = (blueprint(lab.now())?, blueprint(next)?);
        let record = lab.directory().load_up().map_err(|e| e.to_string())?;
        let moves = Moves::between(&record.blueprint.cables, &wanted);
        let planned = |cable: &&Cable| now.cables.iter().any(|it| name(it) == name(cable));
        let mut drained: Vec<String> = moves.unplug.iter().filter(planned).map(name).collect();
        let mut cut = false;
        if lab.now().plan.cluster().switches.is_empty() {
            // Where nodes route, a second drained part may cost packets until all nodes know of it.
            cut = drained.len() > 1;
            drained.truncate(1);
        }
        for object in &drained {
            drain(lab, object)?;
        }
        let moves = recable(lab.directory(), &wanted, HAND).map_err(|e| e.to_string())?;
        if !moves.plug.is_empty() {
            lab.note(format!(
                "{} cables unplugged, {} plugged in",
                moves.unplug.len(),
                moves.plug.len()
            ));
        }
        let ends = moves.plug.iter().flat_map(|cable| [&cable.a, &cable.b]);
        let port =
            |end: &End| Some((end.place.clone(), end.interface.strip_prefix('p')?.parse().ok()?));
        Ok(Self { drained, cut, ports: ends.filter(|end| end.switch).filter_map(port).collect() })
    }

    /// Undrains, now that every node has the plan with the new cables.
    ///
    /// # Errors
    /// What refused.
    pub fn finish(self, lab: &Lab) -> Result<(), String> {
        self.drained.iter().try_for_each(|object| lab.on_all(lab.now(), &["undrain", object]))
    }
}

/// Drains a part on all nodes. Where sessions of a lab that has just come up, or of a machine that stood still, are
/// not up yet, a node counts the other paths as broken and refuses.
fn drain(lab: &Lab, object: &str) -> Result<(), String> {
    let until = Instant::now() + SESSIONS;
    loop {
        match lab.on_all(lab.now(), &["drain", object]) {
            Err(_) if Instant::now() < until => std::thread::sleep(HAND),
            answer => return answer.map(drop),
        }
    }
}

/// A cable as operators name it: by the port or NIC at its first end.
fn name(cable: &Cable) -> String {
    let End { place, interface, switch, .. } = &cable.a;
    let port = if *switch { interface.trim_start_matches('p') } else { interface };
    format!("{place}:{port}")
}
