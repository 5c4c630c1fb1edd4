//! The lab that a verb is about.

use tresse_lab::state::{Directory, Record, StateError};

use crate::fail::{Code, Failure};

/// A finished lab.
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

/// A lab that is not there is a wrong command line.
pub fn state(error: StateError) -> Failure {
    let code = match error {
        StateError::Io { .. } | StateError::Format { .. } | StateError::Unfinished { .. } => {
            Code::Fault
        }
        _ => Code::Usage,
    };
    Failure::new(code, error)
}
