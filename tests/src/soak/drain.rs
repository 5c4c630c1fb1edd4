//! A round of the soak test: one part of the fabric (a switch, cable or NIC) is drained on all nodes, so
//! that no path uses it. Then it breaks, and no datagram may be lost.

use std::time::Duration;

use tresse_base::random::Random;
use tresse_control::Drain;

use crate::lab::Lab;

/// Frames that are under way when the last node has drained are there by then.
const UNDER_WAY: Duration = Duration::from_millis(300);

impl Lab {
    /// Drains something that cuts nobody off, breaks it, heals it and uses it again; what that was.
    ///
    /// # Errors
    /// What refused.
    pub fn drain_and_break(&self, random: &mut Random) -> Result<String, String> {
        let mut objects = self.breakable();
        random.shuffle(&mut objects);
        let nodes = self.nodes();
        for object in objects {
            if !self.spares(&object, &nodes)? {
                continue;
            }
            for node in &nodes {
                self.drain(node, &object, false)?;
            }
            self.note(format!("{object} is drained"));
            std::thread::sleep(UNDER_WAY);
            let silent = random.below(2) == 0;
            let mut args = vec!["fail", &object];
            args.extend(silent.then_some("--silent"));
            self.verb(&args)?;
            std::thread::sleep(Duration::from_millis(500 + random.below(2000) as u64));
            self.answers()?;
            self.verb(&["heal", &object])?;
            self.settled()?;
            for node in &nodes {
                self.client(node)?.undrain(&object, false).map_err(|e| format!("{node}: {e}"))?;
            }
            self.note(format!("{object} is used again"));
            return Ok(format!(
                "{object} drained{}",
                if silent { ", broken silently" } else { ", broken" }
            ));
        }
        Ok("nothing that can be drained".into())
    }

    /// Has every node other ways to all whom it reaches across it?
    fn spares(&self, object: &str, nodes: &[String]) -> Result<bool, String> {
        for node in nodes {
            if !self.drain(node, object, true)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Drains it on one node, or asks; are there other ways?
    fn drain(&self, node: &str, object: &str, dry_run: bool) -> Result<bool, String> {
        let how = Drain { object, dry_run, force: false };
        let steered = self.client(node)?.drain(&how).map_err(|e| format!("{node}: {e}"))?;
        Ok(steered.cut.is_empty())
    }
}
