//! Paths that break again soon.

use super::*;

/// Whatever broke before, in which direction, for how long, and how long ago.
#[test]
fn a_path_that_breaks_again_is_noticed_as_soon_as_the_first_time() {
    const WAYS: [&[(usize, u32)]; 3] = [&[(0, 1)], &[(1, 1)], &[(0, 1), (1, 1)]];
    for first in WAYS {
        for second in WAYS {
            for broken in [400, 2500, 4000] {
                for healed in (0..4500).step_by(250) {
                    let mut pair = Pair::new();
                    pair.run(3000);
                    pair.cut.extend(first);
                    pair.run(broken);
                    pair.cut.clear();
                    pair.run(healed);
                    pair.cut.extend(second);
                    pair.run(500);
                    for _ in 0..60 {
                        pair.run(100);
                        for (node, _) in second {
                            let PathEvent { down, held, .. } = &pair.seen[*node];
                            let of = &id(*node, 0);
                            assert!(
                                down.contains(of) && !held.contains(of),
                                "{first:?} for {broken} ms, whole for {healed} ms, then {second:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Nothing goes by a node whose plan is withdrawn: the other end takes that for a failure at once.
#[test]
fn an_end_without_a_plan_breaks_its_paths() {
    let mut pair = Pair::new();
    pair.run(3000);
    let mut out = Vec::new();
    pair.tables[1].set(Watching::default(), pair.now, &mut out);
    pair.deliver(1, out);
    // Its addresses are gone with the plan: nothing answers.
    (pair.dead, pair.stopped) = ([1].into(), [1].into());
    pair.run(10);
    assert_eq!(pair.down()[0].len(), 2);
    pair.run(5000);
    assert_eq!(pair.down()[0].len(), 2);
}
