//! Predicts how many frames known traffic causes on each directed link and VLAN of a lab, and compares
//! these numbers with those that the switches counted.

use std::collections::BTreeMap;

use serde::Deserialize;
use tresse_base::id::NodeId;
use tresse_plan::Plan;

/// Number of frames by (name of the sending node or switch, name of the receiving one, VID).
pub type Frames = BTreeMap<(String, String, u16), u64>;

/// One line of `tresse lab counters --json`: how many frames one directed link has carried on one VLAN.
#[derive(Debug, Deserialize)]
pub struct CounterLine {
    /// The place that sent.
    pub from: String,
    /// The place at the other end.
    pub to: String,
    /// The VID.
    pub vlan: u16,
    /// Frames other than announcements.
    pub frames: u64,
    /// Announcements.
    pub control_frames: u64,
}

/// Reads the output of `tresse lab counters --json` and returns how many frames were counted per
/// directed link and VLAN, without announcements. Links on which no frame was counted are left out.
///
/// # Errors
/// A line that is not a counter.
pub fn counted(json_lines: &str) -> Result<Frames, serde_json::Error> {
    let mut frames = Frames::new();
    for line in json_lines.lines() {
        let c: CounterLine = serde_json::from_str(line)?;
        if c.frames > 0 {
            *frames.entry((c.from, c.to, c.vlan)).or_default() += c.frames;
        }
    }
    Ok(frames)
}

/// Returns how many frames each directed link carries on each VLAN, by the plan's primary paths, if
/// every ordered pair in `pings` exchanges one echo request and one reply.
#[must_use]
pub fn predicted(plan: &Plan, pings: impl IntoIterator<Item = (NodeId, NodeId)>) -> Frames {
    let mut frames = Frames::new();
    for (a, b) in pings {
        add_frame(plan, a, b, &mut frames);
        add_frame(plan, b, a, &mut frames);
    }
    frames
}

fn add_frame(plan: &Plan, src: NodeId, dst: NodeId, frames: &mut Frames) {
    let cluster = plan.cluster();
    for segment in plan.primary(src, dst) {
        let vid = plan.vid(segment.tree).0;
        let mut channels = Vec::new();
        plan.walk(&segment, &mut channels);
        let mut places = vec![cluster.node(segment.from).name.clone()];
        places.push(cluster.switch(plan.sender(&segment).switch).name.clone());
        for channel in channels {
            places.push(cluster.switches[plan.graph().head(channel) as usize].name.clone());
        }
        places.push(cluster.node(segment.to).name.clone());
        for hop in places.windows(2) {
            *frames.entry((hop[0].clone(), hop[1].clone(), vid)).or_default() += 1;
        }
    }
}

/// Returns a line of text for every directed link and VLAN on which the predicted and the counted number
/// of frames differ: `FROM -> TO vlan VID: planned NUMBER, counted NUMBER`.
#[must_use]
pub fn differences(planned: &Frames, counted: &Frames) -> Vec<String> {
    let mut keys: Vec<_> = planned.keys().chain(counted.keys()).collect();
    keys.sort();
    keys.dedup();
    let of = |frames: &Frames, key| frames.get(key).copied().unwrap_or(0);
    keys.into_iter()
        .filter(|k| of(planned, *k) != of(counted, *k))
        .map(|k| {
            let (p, c) = (of(planned, k), of(counted, k));
            format!("{} -> {} vlan {}: planned {p}, counted {c}", k.0, k.1, k.2)
        })
        .collect()
}
