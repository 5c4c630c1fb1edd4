//! Finds the running lab on which a verb of `tresse lab` works: the one of the given name, or the
//! only one.

use tresse_lab::state::{Directory, LabState, StateError};

use crate::fail::{Code, Failure};

/// The running lab on which a verb of `tresse lab` works: the directory of its state, and the
/// record of what was built.
pub struct Found {
    pub directory: Directory,
    pub record: LabState,
}

impl Found {
    /// The lab of this name, or the only one.
    pub fn new(name: Option<&str>) -> Result<Self, Failure> {
        let directory = Directory::find(name).map_err(state)?;
        let record = directory.load_up().map_err(state)?;
        Ok(Self { directory, record })
    }
}

/// Converts an error of finding or reading a lab into a failure of the verb. That a lab does not
/// exist counts as an error of the command line.
pub fn state(error: StateError) -> Failure {
    let code = match error {
        StateError::Io { .. } | StateError::Format { .. } | StateError::Unfinished { .. } => {
            Code::Fault
        }
        _ => Code::Usage,
    };
    Failure::new(code, error)
}
