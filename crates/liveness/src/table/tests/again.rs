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
