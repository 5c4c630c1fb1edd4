//! Finds all circles (circular dependencies) in the crates of the workspace, and counts the lines of
//! each package.

use std::collections::{BTreeMap, BTreeSet};

use crate::arrows::Arrows;
use crate::circles::{Circle, circles};
use crate::sizes;
use crate::workspace::{Package, Workspace};

/// All circles (circular dependencies) found in the crates of the workspace, and the number of lines of
/// each package.
pub struct Survey {
    /// The circles, sorted by their places.
    pub circles: BTreeMap<Place, Circle>,
    /// Lines of each package without its tests.
    pub lines: BTreeMap<String, usize>,
}

/// Identifies a circle (circular dependency): the package, whether it is among files or among modules,
/// and which ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Name of the package.
    pub package: String,
    /// `files` or `modules`.
    pub kind: String,
    /// Its files or modules.
    pub members: BTreeSet<String>,
}

impl Survey {
    /// Parses all crates of the workspace.
    pub fn of(workspace: &Workspace) -> Survey {
        let mut survey = Survey { circles: BTreeMap::new(), lines: BTreeMap::new() };
        for package in &workspace.packages {
            survey.add(package);
        }
        survey
    }

    fn add(&mut self, package: &Package) {
        let sources = package.crates();
        let roots = package.roots.iter().map(AsRef::as_ref);
        let lines = sizes::lines(package, roots.zip(&sources));
        self.lines.insert(package.name.clone(), lines);
        for source in &sources {
            for (kind, arrows) in
                [("files", Arrows::of_files(source)), ("modules", Arrows::of_modules(source))]
            {
                for circle in circles(&arrows) {
                    let place = Place {
                        package: package.name.clone(),
                        kind: kind.to_owned(),
                        members: circle.members.clone(),
                    };
                    self.circles.insert(place, circle);
                }
            }
        }
    }
}
