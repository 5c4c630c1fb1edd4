//! Finds the running lab that a verb works on.

use tresse_lab::state::{Directory, Record, StateError};

use crate::fail::{Code, Failure};

/// The running lab that a verb works on.
pub struct Found {
    pub directory: Directory,
    pub record: Record,
}

impl Found {
    /// The lab of this name, or the only one.
    pub fn new(name: Option<&str>) -> Result<Self, Failure> {
        let directory = Directory::find(name).map_err(state)?;
        let record = directory.load_up().map_err(state)?;
        Ok(Self { directory, record })
    }
}

/// Converts an error of a lab's state into a failure. A lab that does not exist is an error of the
/// command line.
pub fn state(error: StateError) -> Failure {
    let code = match error {
        StateError::Io { .. } | StateError::Format { .. } | StateError::Unfinished { .. } => {
            Code::Fault
        }
        _ => Code::Usage,
    };
    Failure::new(code, error)
}
