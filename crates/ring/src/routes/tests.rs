use super::*;
use crate::shape::Distribution;

fn ring(members: usize, roots: &[usize], stripes: usize) -> StreamRoutes {
    let order: Vec<usize> = (0..members).collect();
    let flow = |root: &usize| vec![StreamFlow::along(&order, *root, Distribution::Ring); stripes];
    StreamRoutes::new(roots.iter().flat_map(flow).collect(), stripes)
}

/// From whom each gets a stream, as it was told.
fn reported(routes: &mut StreamRoutes) -> Vec<(usize, usize, Vec<u32>)> {
    routes.changes().into_iter().map(|stage| (stage.from, stage.to, stage.streams)).collect()
}

#[test]
fn each_is_told_once() {
    let mut routes = ring(4, &[0], 2);
    let all = vec![0, 1];
    assert_eq!(reported(&mut routes), [(0, 1, all.clone()), (1, 2, all.clone()), (2, 3, all)]);
    assert!(reported(&mut routes).is_empty());
    routes.done(0, 1);
    assert!(reported(&mut routes).is_empty());
    assert!(routes.is_whole(1) && routes.is_whole(0) && !routes.is_whole(2));
}

#[test]
fn the_one_in_front_sends_to_the_one_behind_one_that_is_gone() {
    let mut routes = ring(4, &[0], 1);
    reported(&mut routes);
    assert!(routes.leave(2).is_empty());
    // It sends nothing any more to the one that is gone, which itself is told nothing.
    assert_eq!(reported(&mut routes), [(1, 2, vec![]), (1, 3, vec![0])]);
    assert!(routes.leave(3).is_empty());
    assert_eq!(reported(&mut routes), [(1, 3, vec![])]);
}

#[test]
fn a_source_that_is_gone_is_followed_by_one_that_has_all() {
    let mut routes = ring(4, &[0], 1);
    reported(&mut routes);
    let mut none = routes.clone();
    assert_eq!(none.leave(0), [(0, 1), (0, 2), (0, 3)]);
    routes.done(0, 2);
    assert!(routes.leave(0).is_empty());
    // The third has it, from the second on the way to it, which lacks it.
    assert_eq!(reported(&mut routes), [(2, 1, vec![0])]);
    assert_eq!(routes.parents(3).into_iter().collect::<Vec<_>>(), [2]);
    assert!(routes.leave(1).is_empty() && routes.is_whole(2));
}

#[test]
fn a_member_with_all_bytes_needs_no_source() {
    let mut routes = ring(4, &[0], 1);
    reported(&mut routes);
    assert!(routes.complete(0, 1) && !routes.complete(0, 1) && !routes.complete(7, 1));
    assert!(!routes.needs(1, 0) && routes.needs(2, 1) && !routes.is_whole(1));
    // It is the one that has all, though that is not checked yet.
    assert!(routes.leave(0).is_empty() && reported(&mut routes).is_empty());
    assert_eq!(routes.leave(1), [(0, 2), (0, 3)]);
    let mut routes = ring(3, &[0], 1);
    assert!(routes.complete(0, 1) && routes.complete(0, 2) && routes.leave(0).is_empty());
    routes.done(0, 2);
    assert!(routes.is_whole(2) && !routes.is_whole(1));
}

#[test]
fn of_several_sources_one_that_is_gone_takes_its_own_part_alone() {
    let mut routes = ring(3, &[0, 1, 2], 1);
    reported(&mut routes);
    let lost = routes.leave(1);
    assert_eq!(lost, [(1, 0), (1, 2)]);
    let reported = reported(&mut routes);
    assert!(reported.contains(&(0, 2, vec![0])), "{reported:?}");
    for (part, member) in [(0, 2), (2, 0)] {
        routes.done(part, member);
    }
    assert!(routes.is_whole(0) && routes.is_whole(2));
}

#[test]
fn one_that_is_slow_comes_last() {
    let mut routes = ring(5, &[0], 1);
    reported(&mut routes);
    assert!(routes.has_behind(2) && !routes.has_behind(4));
    routes.bypass(2);
    assert_eq!(
        reported(&mut routes),
        [(1, 2, vec![]), (2, 3, vec![]), (1, 3, vec![0]), (4, 2, vec![0])]
    );
    assert!(!routes.has_behind(2));
    // Once more changes nothing.
    routes.bypass(2);
    assert!(reported(&mut routes).is_empty());
}

#[test]
fn one_that_cannot_be_reached_is_tried_by_others() {
    let order: Vec<usize> = (0..4).collect();
    let mut routes = StreamRoutes::new(vec![StreamFlow::along(&order, 0, Distribution::Ring)], 1);
    reported(&mut routes);
    // It would not get it from the one behind it.
    routes.avoid(1, 2);
    assert!(reported(&mut routes).is_empty());
    routes.avoid(2, 3);
    assert_eq!(reported(&mut routes), [(2, 3, vec![]), (1, 3, vec![0])]);
    routes.avoid(1, 3);
    routes.bypass(3);
    assert_eq!(routes.parent(0, 3), Some(0));
    // Nobody is in front of the source.
    routes.avoid(0, 3);
    assert_eq!(routes.parent(0, 3), Some(2));
}

#[test]
fn one_that_is_slow_sends_what_is_its_own_alone() {
    let mut routes = ring(4, &[0, 1, 2, 3], 1);
    reported(&mut routes);
    routes.bypass(2);
    let reported = reported(&mut routes);
    assert!(reported.contains(&(2, 3, vec![2])), "{reported:?}");
    assert!(
        reported.iter().any(|(from, to, of)| (*from, *to) == (1, 3) && of.len() == 2),
        "{reported:?}"
    );
}

#[test]
fn whatever_happens_all_that_live_get_it() {
    let mut random = 7_u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % n
    };
    for _ in 0..300 {
        let members = 2 + below(12);
        let shape = [Distribution::Ring, Distribution::Rings(3), Distribution::Tree][below(3)];
        let order: Vec<usize> = (0..members).collect();
        let roots = 1 + below(members);
        let flows = (0..roots).map(|root| StreamFlow::along(&order, root, shape)).collect();
        let mut routes = StreamRoutes::new(flows, 1);
        for _ in 0..20 {
            match below(4) {
                0 => drop(routes.leave(below(members))),
                1 => routes.bypass(below(members)),
                2 => {
                    // One whose parent has all gets all.
                    let (part, member) = (below(roots), below(members));
                    let parent = routes.flows[part].parents[member];
                    let sent = parent
                        .is_some_and(|from| !routes.wants[part][from] || routes.whole[part][from]);
                    if routes.lives(member) && sent {
                        routes.done(part, member);
                    }
                }
                _ => drop(routes.changes()),
            }
            for (part, flow) in routes.flows.iter().enumerate() {
                for member in (0..members).filter(|m| routes.lives(*m)) {
                    let (wants, whole) = (routes.wants[part][member], routes.whole[part][member]);
                    // The way from where it is ends at one that has it, and lives.
                    let root = std::iter::successors(Some(member), |at| flow.parents[*at]).take(99);
                    let root = root.last().unwrap();
                    let rooted = !routes.wants[part][root] || routes.whole[part][root];
                    assert!(!wants || whole || (rooted && root != member), "{flow:?} {member}");
                    assert!(routes.lives(root) || root == member);
                }
            }
        }
    }
}
