//! Draws the cost and the bisection bandwidth, per node, of the architectures that `tresse compare`
//! compares, against the number of nodes, in two diagrams side by side.
//!
//! All axes are logarithmic. A curve ends where its architecture cannot grow any more.

use tresse_design::cost::{CostModel, Row};

use tresse_plot::{Axis, Curve, Diagram, Picture};

const WIDTH: u32 = 560;
const HEIGHT: u32 = 420;
const LEGEND: u32 = 150;

/// Returns a picture of two diagrams, cost per node and bisection bandwidth per node, with a curve
/// for each architecture, for clusters from 2 to `nodes` nodes (to 16 if `nodes`
/// is less).
pub fn picture(model: &CostModel, nodes: u64) -> Picture {
    let sizes = sizes(nodes.max(16));
    let table: Vec<Vec<Row>> = sizes.iter().map(|n| model.rows(*n)).collect();
    let cost = diagram("Cost per node", &sizes, curves(&sizes, &table, |row| row.cost));
    let bisection = curves(&sizes, &table, |row| row.bisection);
    let bisection = diagram("Bisection, MB/s per node", &sizes, bisection);
    Picture { size: [2 * WIDTH, HEIGHT], diagrams: vec![cost, bisection] }
}

/// One curve for each architecture.
fn curves(sizes: &[u64], table: &[Vec<Row>], value: fn(&Row) -> f64) -> Vec<Curve> {
    let curve = |i: usize| {
        let points = sizes.iter().zip(table).filter(|(_, rows)| rows[i].possible);
        let points = points.map(|(n, rows)| (*n as f64, value(&rows[i]))).filter(|(_, y)| *y > 0.0);
        Curve { name: table[0][i].architecture.into(), points: points.collect() }
    };
    (0..table[0].len()).map(curve).collect()
}

fn diagram(title: &str, sizes: &[u64], curves: Vec<Curve>) -> Diagram {
    let (first, last) = (sizes[0] as f64, sizes[sizes.len() - 1] as f64);
    let marked = |n: &&u64| n.is_power_of_two() && n.trailing_zeros().is_multiple_of(2);
    let marks = sizes.iter().filter(marked).map(|n| (*n as f64, n.to_string())).collect();
    let values = curves.iter().flat_map(|curve| &curve.points).map(|(_, value)| *value);
    Diagram {
        legend: LEGEND,
        x: Axis::logarithmic("nodes", first, last, marks),
        y: Axis::decades(title, values, |value| value.to_string()),
        curves,
    }
}

/// Numbers of nodes from 2 to `last`, four for each power of two.
fn sizes(last: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> = (4..)
        .map(|i| (2f64.powf(f64::from(i) / 4.0)).round() as u64)
        .take_while(|n| *n < last)
        .collect();
    sizes.push(last);
    sizes.dedup();
    sizes
}
