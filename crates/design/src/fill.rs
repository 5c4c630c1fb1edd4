//! Adds cables between the NICs and switch ports that a wiring leaves free.

use tresse_base::wiring::Wiring;

use crate::problem::WiringProblem;

/// Cables unused NICs to free switch ports, each to a switch on which its PC has no other NIC. The
/// PC with the fewest such switches comes first. O(PCs^2 x switches).
pub fn fill(wiring: &mut Wiring, problem: &WiringProblem) {
    let mut rows = wiring.rows(problem.pcs());
    wiring.switches.resize(problem.ports.len(), Vec::new());
    loop {
        let free = |wiring: &Wiring, s: usize| {
            (problem.ports[s] as usize).saturating_sub(wiring.switches[s].len())
        };
        let open = |pc: usize, rows: &[Vec<u32>]| -> Vec<usize> {
            if rows[pc].len() >= problem.nics[pc] as usize {
                return Vec::new();
            }
            (0..problem.ports.len())
                .filter(|s| free(wiring, *s) > 0 && !rows[pc].contains(&(*s as u32)))
                .collect()
        };
        let next = (0..problem.pcs())
            .map(|pc| (open(pc, &rows), pc))
            .filter(|(open, _)| !open.is_empty())
            .min_by_key(|(open, pc)| (open.len(), *pc));
        let Some((open, pc)) = next else { break };
        // The fullest switch gives the most links (section 4.1: all but one full).
        let Some(s) = open.into_iter().max_by_key(|s| (wiring.switches[*s].len(), *s)) else {
            break;
        };
        rows[pc].push(s as u32);
        wiring.switches[s].push(pc as u32);
    }
    wiring.switches.iter_mut().for_each(|members| members.sort_unstable());
}
