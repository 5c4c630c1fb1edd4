//! A schedule as a C header: for each node what it sends and receives by each NIC in each phase, and its table of NIC
//! tuples (flat-neighborhood-network-compiler, section 3.3).

use std::fmt::Write as _;

use tresse_base::wiring::Wiring;

use crate::schedule::Schedule;
use crate::tuple::Tuples;

/// The text of the header; `None` if a tuple has more than 64 bits. `names`: of all nodes; `pattern`: what the schedule is for,
/// in words.
#[must_use]
pub fn text(names: &[&str], wiring: &Wiring, schedule: &Schedule, pattern: &str) -> Option<String> {
    let nodes = names.len();
    let rows = wiring.rows(nodes);
    let nics = rows.iter().map(Vec::len).max().unwrap_or_default();
    let phases = schedule.phases.len();
    let tables = (0..nodes as u32).map(|node| Tuples::of(wiring, nodes, node));
    let tables: Vec<Tuples> = tables.collect::<Option<_>>()?;
    let pattern = pattern.replace("*/", "* /");
    let (bits, bytes) = (tables.first()?.packed().1, tables.iter().map(Tuples::bytes).max());
    let width = 8 * bytes.unwrap_or_default() / nodes;
    let mut out = format!(
        "/* tresse schedule, pattern {pattern}: {phases} phases, none has fewer than {}. */\n\
         #ifndef TRESSE_SCHEDULE_H\n#define TRESSE_SCHEDULE_H\n#include <stdint.h>\n\n\
         #define TRESSE_NODES {nodes}\n#define TRESSE_NICS {nics}\n#define TRESSE_PHASES {phases}\n\n\
         /* For each NIC of the source, from 0: the NIC of the destination on the same switch, from 1; 0: none. */\n\
         #define TRESSE_NIC(tuple, nic) ((tuple) >> ((nic) * {bits}) & {})\n\n",
        schedule.bound,
        (1 << bits) - 1
    );
    let rows_of = |out: &mut String, rows: &mut dyn Iterator<Item = String>| {
        for row in rows {
            let _ = writeln!(out, "    {row},");
        }
        out.push_str("};\n\n");
    };
    let list =
        |of: &mut dyn Iterator<Item = String>| format!("{{{}}}", of.collect::<Vec<_>>().join(", "));
    out.push_str("static const char *const tresse_node[TRESSE_NODES] = {\n");
    rows_of(&mut out, &mut names.iter().map(|name| format!("\"{name}\"")));
    out.push_str("/* By source and destination. */\n");
    let _ =
        writeln!(out, "static const uint{width}_t tresse_tuple[TRESSE_NODES][TRESSE_NODES] = {{");
    rows_of(
        &mut out,
        &mut tables.iter().map(|of| list(&mut of.packed().0.iter().map(u64::to_string))),
    );
    let peers = peers(schedule, &rows, nics);
    for (what, side) in [("send_to", 0), ("receive_from", 1)] {
        out.push_str("/* By node, phase and NIC: the other node, or -1. */\n");
        let _ = writeln!(
            out,
            "static const int32_t tresse_{what}[TRESSE_NODES][TRESSE_PHASES ? TRESSE_PHASES : 1][TRESSE_NICS] = {{"
        );
        let phase = |nics: &Vec<[i64; 2]>| list(&mut nics.iter().map(|of| of[side].to_string()));
        let node = |phases: &Vec<Vec<[i64; 2]>>| list(&mut phases.iter().map(phase));
        rows_of(&mut out, &mut peers.iter().map(node));
    }
    out.push_str("#endif\n");
    Some(out)
}

/// By node, phase and NIC: to whom it sends, and from whom it receives; -1: nobody.
fn peers(schedule: &Schedule, rows: &[Vec<u32>], nics: usize) -> Vec<Vec<Vec<[i64; 2]>>> {
    let phases = schedule.phases.len().max(1);
    let mut peers = vec![vec![vec![[-1; 2]; nics]; phases]; rows.len()];
    for (number, phase) in schedule.phases.iter().enumerate() {
        for sent in phase {
            let ends = [(sent.from, sent.to), (sent.to, sent.from)];
            for (side, (node, other)) in ends.into_iter().enumerate() {
                if let Ok(nic) = rows[node as usize].binary_search(&sent.switch) {
                    peers[node as usize][number][nic][side] = i64::from(other);
                }
            }
        }
    }
    peers
}
