//! Judges what was measured of a target, beside the plan and an earlier run, and names the likely cause.

use serde::{Deserialize, Serialize};
use tresse_plan::Plan;

use crate::measure::Measured;
use crate::talk::NicState;
use crate::targets::{Kind, Target};

/// A mean round trip is longer than before if it is this many times as long, and a millisecond more.
const LONGER: f64 = 3.0;

/// What an earlier run measured of one target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    /// Throughput, the lower of both directions, in Mbit/s.
    pub mbits: Option<f64>,
    /// Mean round trip in milliseconds.
    pub round_trip_ms: Option<f64>,
}

/// A verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As the plan promises.
    Ok,
    /// It could not be measured.
    Unknown,
    /// Less throughput than promised, or than before.
    Slow,
    /// The plan's packets do not get through unfragmented.
    Mtu,
    /// Echo requests or their answers were lost.
    Lossy,
    /// Nothing was answered.
    Silent,
}

impl Verdict {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "not measured",
            Self::Slow => "SLOW",
            Self::Mtu => "MTU",
            Self::Lossy => "LOSSY",
            Self::Silent => "SILENT",
        }
    }
}

/// What was found of a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What kind of thing it is.
    pub kind: Kind,
    /// Its name.
    pub object: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Echo requests that were sent and those that were not answered.
    pub sent: Option<u32>,
    /// See `sent`.
    pub lost: Option<u32>,
    /// Mean round trip in milliseconds.
    pub round_trip_ms: Option<f64>,
    /// The largest packet that got through, in bytes; 0: none did.
    pub largest: Option<u32>,
    /// Throughput there and back, in Mbit/s.
    pub mbits: [Option<f64>; 2],
    /// What the plan promises, in Mbit/s.
    pub promised_mbits: f64,
    /// What the earlier run had, the lower of both directions, in Mbit/s.
    pub before_mbits: Option<f64>,
    /// The likely cause, and the remedy.
    pub cause: Option<String>,
}

impl Finding {
    /// Judges what was measured. Throughput below `least` of what is promised, or of what it was `before`, is slow.
    #[must_use]
    pub fn of(
        plan: &Plan,
        target: &Target,
        measured: &Measured,
        before: Option<Earlier>,
        least: f64,
    ) -> Self {
        let promised = target.promised();
        let lost = measured.asked.map(|(sent, received)| sent.saturating_sub(received));
        let slowest = measured.throughput.iter().flatten().copied().reduce(f64::min);
        let of_before = before.and_then(|before| before.mbits);
        let is_slow = |floor: f64| slowest.is_some_and(|slowest| slowest < least * floor);
        let slower = of_before.filter(|before| is_slow(before * 1e6));
        let longer = before.and_then(|before| before.round_trip_ms).filter(|before| {
            measured.round_trip_ms.is_some_and(|now| now > before * LONGER && now > before + 1.0)
        });
        let small = measured.largest.filter(|largest| largest.is_none_or(|of| of < target.mtu));
        let judge = Judge { plan, target, measured };
        let (verdict, cause) = match (measured.asked, lost) {
            // Its node does not use such a NIC at all.
            (Some((_, 0)), _) if judge.small_nic().is_some() => (Verdict::Mtu, judge.small_nic()),
            (Some((_, 0)), _) => (Verdict::Silent, Some(judge.silent())),
            (_, Some(lost)) if lost > 0 => (Verdict::Lossy, Some(judge.lossy())),
            _ if small.is_some() => (Verdict::Mtu, Some(judge.mtu(small.flatten()))),
            _ if is_slow(promised) => (Verdict::Slow, Some(judge.slow())),
            _ if slower.is_some() => {
                let was = slower.unwrap_or_default();
                (Verdict::Slow, Some(format!("it had {was:.0} Mbit/s before; {}", judge.slow())))
            }
            _ if longer.is_some() => {
                let was = longer.unwrap_or_default();
                let cause = format!("the round trip was {was:.3} ms before: is it in use?");
                (Verdict::Slow, Some(cause))
            }
            _ if measured.errors.is_empty() => (Verdict::Ok, None),
            _ => (Verdict::Unknown, Some(measured.errors.join("; "))),
        };
        Self {
            kind: target.kind,
            object: target.name.clone(),
            verdict,
            sent: measured.asked.map(|(sent, _)| sent),
            lost,
            round_trip_ms: measured.round_trip_ms,
            largest: measured.largest.map(Option::unwrap_or_default),
            mbits: measured.throughput.map(|of| of.map(|bits| bits / 1e6)),
            promised_mbits: promised / 1e6,
            before_mbits: of_before,
            cause,
        }
    }
}

/// Blames what is not ok on the way of others: a way through a node, or a pair at once, is slow where a cable of it is, and was
/// not measured where one is silent. `targets` and `findings` are in the same order.
pub fn blame<'a>(targets: impl Iterator<Item = &'a Target>, findings: &mut [Finding]) {
    let targets: Vec<&Target> = targets.take(findings.len()).collect();
    let is_bad = |finding: &Finding| finding.verdict > Verdict::Unknown;
    let bad: Vec<(&Target, Verdict)> = targets
        .iter()
        .zip(&*findings)
        .filter(|(target, finding)| target.kind == Kind::Cable && is_bad(finding))
        .map(|(target, finding)| (*target, finding.verdict))
        .collect();
    for (target, finding) in targets.iter().zip(findings) {
        if !matches!(target.kind, Kind::Through | Kind::Together) {
            continue;
        }
        let mut way = vec![target.a.node];
        way.extend(&target.by);
        way.push(target.b.node);
        let crosses = |(cable, _): &&(&Target, Verdict)| {
            let ends = [cable.a.node, cable.b.node];
            way.windows(2).any(|hop| hop == ends || [hop[1], hop[0]] == ends)
        };
        let crossed: Vec<_> = bad.iter().filter(crosses).collect();
        let silent = crossed.iter().find(|(_, verdict)| *verdict == Verdict::Silent);
        if let Some((cable, _)) = silent {
            // What was measured went another way.
            finding.verdict = Verdict::Unknown;
            finding.cause = Some(format!("the cable {} on its way is SILENT", cable.name));
        } else if let Some((cable, verdict)) = crossed.first().filter(|_| is_bad(finding)) {
            let word = verdict.word();
            finding.cause = Some(format!("the cable {} on its way is {word}", cable.name));
        }
    }
}

struct Judge<'a> {
    plan: &'a Plan,
    target: &'a Target,
    measured: &'a Measured,
}

impl Judge<'_> {
    /// The NICs at both ends, by `node:nic`, each before and after.
    fn nics(&self) -> impl Iterator<Item = (String, &NicState, &NicState)> {
        let ends = [&self.target.a, &self.target.b].into_iter().zip(&self.measured.nics);
        ends.filter_map(|(end, states)| {
            let (before, after) = states.as_ref()?;
            let node = &self.plan.cluster().node(end.node);
            Some((format!("{}:{}", node.name, after.name), before, after))
        })
    }

    fn silent(&self) -> String {
        let reached = match self.target.kind {
            Kind::Cable => {
                let node = &self.plan.cluster().node(self.target.a.node).name;
                format!("the cable is broken, or leads elsewhere: `tresse cables` on {node}")
            }
            _ => "the path is broken".to_owned(),
        };
        format!("no answer came: {reached}; `tresse status --all` names what is at fault")
    }

    fn lossy(&self) -> String {
        for (name, before, after) in self.nics() {
            let broken = after.broken.saturating_sub(before.broken);
            if broken > 0 {
                return format!("{name} received {broken} broken frames: the cable or transceiver");
            }
            let dropped = after.dropped.saturating_sub(before.dropped);
            if dropped > 0 {
                return format!(
                    "{name} had no room for {dropped} frames: a larger ring (`ethtool -G`), or its processor is busy"
                );
            }
        }
        match self.duplex() {
            Some(cause) => cause,
            None => {
                "its NICs counted no errors: a switch or node between, or the fabric is full".into()
            }
        }
    }

    /// A NIC at an end whose MTU is less than the plan has.
    fn small_nic(&self) -> Option<String> {
        let wanted = self.target.mtu;
        let small = |(name, _, after): (String, _, &NicState)| {
            let mtu = after.mtu.filter(|mtu| *mtu < wanted)?;
            let nic = &after.name;
            Some(format!("{name} has an MTU of {mtu}: `ip link set {nic} mtu {wanted}`"))
        };
        self.nics().find_map(small)
    }

    fn mtu(&self, largest: Option<u32>) -> String {
        if let Some(cause) = self.small_nic() {
            return cause;
        }
        let wanted = self.target.mtu;
        let got = largest.map_or("none".to_owned(), |largest| format!("{largest} bytes"));
        format!(
            "packets of {wanted} bytes do not get through, {got} do: a switch or NIC on the way there or back takes no larger frames \
             (`mtu`, `max_frame`)"
        )
    }

    fn slow(&self) -> String {
        if let Some(cause) = self.duplex() {
            return cause;
        }
        for (name, _, after) in self.nics() {
            let planned = self.target.rate / 1_000_000;
            if let Some(speed) = after.speed.filter(|speed| *speed < planned) {
                return format!(
                    "{name} runs at {speed} Mbit/s, and the plan has {planned}: the cable or the other end"
                );
            }
        }
        match self.target.kind {
            Kind::Through => {
                let by = self.target.by.first().map(|node| self.plan.cluster().node(*node));
                let by = by.map_or("the node between", |node| node.name.as_str());
                format!(
                    "if the cables at {by} are ok, {by} forwards slowly: switch off what joins packets there (`ethtool -K NIC \
                     gro off lro off`), or look at its processor"
                )
            }
            Kind::Together => "if the pair alone is ok, something on the way is shared that the plan does not know: the \
                               bus of a NIC, a switch's backplane, a processor"
                .into(),
            Kind::Cable | Kind::Path => {
                let [there, back] = self.measured.throughput.map(Option::unwrap_or_default);
                let paused = self.nics().find(|(_, _, after)| after.pause == Some(true));
                match paused {
                    Some((name, ..)) if there.min(back) < 0.5 * there.max(back) => format!(
                        "one direction alone, and {name} obeys pause frames: `ethtool -A NIC rx off tx off` at both ends"
                    ),
                    _ if there.min(back) < 0.5 * there.max(back) => {
                        "one direction alone: the receiver's processor, or the transceiver".into()
                    }
                    Some((name, ..)) => format!(
                        "{name} obeys pause frames: try `ethtool -A NIC rx off tx off` at both ends"
                    ),
                    None => "the processors at both ends, their PCI slots, or other traffic".into(),
                }
            }
        }
    }

    fn duplex(&self) -> Option<String> {
        let half = self.nics().find(|(_, _, after)| after.duplex.as_deref() == Some("half"));
        half.map(|(name, ..)| format!("{name} is half duplex: let both ends negotiate"))
    }
}

#[cfg(test)]
mod tests {
    use tresse_topology::cluster::{Cluster, Strategy, TopologyShape};

    use super::*;
    use crate::targets::Targets;

    fn judged(change: impl FnOnce(&mut Measured), before: Option<Earlier>) -> (Verdict, String) {
        let cluster = Cluster::generated(TopologyShape::Ring { nodes: 4 }, 1, 1, Strategy::Xy, 2);
        let plan = Plan::build(cluster).unwrap();
        let targets = Targets::of(&plan, |_| true);
        let state = NicState { name: "eth0".into(), mtu: Some(1500), ..NicState::default() };
        let mut measured = Measured {
            asked: Some((100, 100)),
            round_trip_ms: Some(0.1),
            largest: Some(Some(1500)),
            throughput: [Some(930e6), Some(925e6)],
            errors: Vec::new(),
            nics: [Some((state.clone(), state.clone())), Some((state.clone(), state))],
        };
        change(&mut measured);
        let finding = Finding::of(&plan, &targets.cables[0], &measured, before, 0.8);
        (finding.verdict, finding.cause.unwrap_or_default())
    }

    fn after(measured: &mut Measured) -> &mut NicState {
        &mut measured.nics[1].as_mut().unwrap().1
    }

    #[test]
    fn each_fault_has_its_verdict_and_cause() {
        let before = |mbits| Some(Earlier { mbits: Some(mbits), round_trip_ms: Some(0.1) });
        assert_eq!(judged(|_| {}, before(940.0)), (Verdict::Ok, String::new()));
        let found = |change: fn(&mut Measured)| judged(change, None);
        assert_eq!(found(|m| m.asked = Some((100, 0))).0, Verdict::Silent);
        let (verdict, cause) = found(|m| {
            m.asked = Some((100, 97));
            after(m).broken = 4;
        });
        assert_eq!(verdict, Verdict::Lossy);
        assert!(cause.contains("received 4 broken frames"), "{cause}");
        let (verdict, cause) = found(|m| {
            m.largest = Some(Some(1400));
            after(m).mtu = Some(1400);
        });
        assert_eq!(verdict, Verdict::Mtu);
        assert!(cause.contains("has an MTU of 1400"), "{cause}");
        assert!(found(|m| m.largest = Some(None)).1.contains("none do"));
        let (verdict, cause) = found(|m| {
            m.asked = Some((100, 0));
            after(m).mtu = Some(1400);
        });
        assert!(verdict == Verdict::Mtu && cause.contains("mtu 1500"), "{cause}");
        let (verdict, cause) = found(|m| {
            m.throughput[0] = Some(90e6);
            after(m).speed = Some(100);
        });
        assert_eq!(verdict, Verdict::Slow);
        assert!(cause.contains("runs at 100 Mbit/s, and the plan has 1000"), "{cause}");
        let (_, cause) = found(|m| {
            m.throughput[1] = Some(90e6);
            after(m).duplex = Some("half".into());
        });
        assert!(cause.contains("half duplex"), "{cause}");
        let (_, cause) = found(|m| {
            m.throughput[1] = Some(90e6);
            after(m).pause = Some(true);
        });
        assert!(cause.contains("one direction alone") && cause.contains("pause"), "{cause}");
        assert_eq!(
            found(|m| m.errors.push("`iperf3` is not installed".into())).0,
            Verdict::Unknown
        );
        let (verdict, cause) = judged(|_| {}, before(1500.0));
        assert!(verdict == Verdict::Slow && cause.contains("1500 Mbit/s before"), "{cause}");
        let (verdict, cause) = judged(|m| m.round_trip_ms = Some(5.0), before(930.0));
        assert!(verdict == Verdict::Slow && cause.contains("0.100 ms before"), "{cause}");
    }
}
