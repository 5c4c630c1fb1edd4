//! `tresse weight`: shares this node's traffic to another node among its paths by given weights.

use clap::Args;
use tresse_control::{self as control, WeightLine};

use super::answer;
use crate::connection::NodeArgs;
use crate::fail::{Code, Failure};

/// Arguments of `tresse weight`, which shares the traffic to a peer among its paths.
#[derive(Debug, Args)]
pub struct Weight {
    #[command(flatten)]
    node: NodeArgs,
    /// The node at the other end.
    to: String,
    /// RANK:WEIGHT, such as 0:1 1:3: three quarters of the flows by the path of rank 1. 0 takes a path
    /// out as long as another works; 255 is the most. Ranks that are not named keep their weight.
    #[arg(required = true, value_name = "RANK:WEIGHT", value_parser = rank_weight)]
    weights: Vec<WeightLine>,
    /// Print what would move, and do nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Weight {
    /// Sets the weights.
    pub fn run(&self, json: bool) -> Result<Code, Failure> {
        for (at, line) in self.weights.iter().enumerate() {
            if self.weights[..at].iter().any(|other| other.rank == line.rank) {
                let message = format!("rank {} is given two weights: name it once", line.rank);
                return Err(Failure::new(Code::Usage, message));
            }
        }
        let how = control::Weight { to: &self.to, weights: &self.weights, dry_run: self.dry_run };
        let steered = self.node.connect()?.weight(&how)?;
        let verb = if self.dry_run { "would share" } else { "shares" };
        let done = format!("traffic to {} {verb} its paths by these weights", self.to);
        answer::steered(&steered, &done, self.dry_run, json)
    }
}

/// Parses `1:3`: rank 1, weight 3.
fn rank_weight(text: &str) -> Result<WeightLine, String> {
    let wrong = || "write RANK:WEIGHT, such as 1:3".to_owned();
    let (rank, weight) = text.split_once(':').ok_or_else(wrong)?;
    let (rank, weight) = (rank.parse().map_err(|_| wrong())?, weight.parse().map_err(|_| wrong())?);
    if weight > 255 {
        return Err("weights go up to 255".into());
    }
    Ok(WeightLine { rank, weight })
}
