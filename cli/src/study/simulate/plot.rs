//! Draws the results of a simulation: latency against accepted traffic, one curve per plan.

use super::answer::Curve;
use crate::fail::{Code, Failure};
use tresse_plot::{self as plot, Axis, Diagram, Picture};

const SIZE: [u32; 2] = [720, 420];
const LEGEND: u32 = 120;

/// Returns the picture of mean latency in microseconds (logarithmic axis) against accepted traffic
/// (linear axis), with one curve per plan.
pub fn picture(curves: &[Curve]) -> Result<Picture, Failure> {
    let named = |curve: &Curve| plot::Curve {
        name: curve.name().into(),
        // A latency below 1 ns has no place on the axis.
        points: curve.points().map(|(accepted, ns)| (accepted, ns.max(1.0))).collect(),
    };
    let curves: Vec<plot::Curve> = curves.iter().map(named).collect();
    let points = curves.iter().flat_map(|curve| &curve.points);
    if points.clone().next().is_none() {
        let words = "--plot: no message arrived at any load, so there is nothing to draw";
        return Err(Failure::new(Code::Fault, words));
    }
    let most = points.clone().map(|(accepted, _)| *accepted).fold(0.01, f64::max);
    let us = |ns: f64| (ns / 1000.0).to_string();
    let diagram = Diagram {
        legend: LEGEND,
        x: Axis::linear("accepted, of a node link's rate", most * 1.05),
        y: Axis::decades("Mean latency, us", points.map(|(_, ns)| *ns), us),
        curves,
    };
    Ok(Picture { size: SIZE, diagrams: vec![diagram] })
}
