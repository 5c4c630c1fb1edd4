//! Finds the running lab on which a verb of `tresse lab` works: the one of the given name, or the
//! only one.

use std::error::Error;
use std::io::{self, ErrorKind};

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
    match error {
        StateError::Io { .. } | StateError::Format { .. } | StateError::Unfinished { .. } => {
            fault(error)
        }
        _ => Failure::new(Code::Usage, error),
    }
}

/// Converts an error of working on a lab into a failure of the verb: not permitted, if the kernel
/// or the file system refuses it to this user, else a fault.
pub fn fault(error: impl Error + 'static) -> Failure {
    let code = if is_denied(&error) { Code::NotPermitted } else { Code::Fault };
    Failure::new(code, error)
}

/// Whether the error comes from a call that this user may not make.
pub fn is_denied(error: &(dyn Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| (**error).source());
    causes.any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|io| io.kind() == ErrorKind::PermissionDenied)
    })
}

#[cfg(test)]
mod tests {
    use tresse_lab::down::DownError;
    use tresse_lab::fault::FaultError;
    use tresse_lab::load::LoadError;
    use tresse_lab::netns::NetnsError;
    use tresse_lab::ping::PingError;
    use tresse_lab::up::UpError;

    use super::*;

    fn denied() -> io::Error {
        io::Error::from_raw_os_error(13)
    }

    fn lock(source: io::Error) -> StateError {
        StateError::Io { path: "/run/tresse-lab/a/lock".into(), source }
    }

    fn netns() -> NetnsError {
        // The kernel refuses setns with EPERM, not with EACCES.
        let source = io::Error::from_raw_os_error(1);
        NetnsError::Call { verb: "enter", name: "tresse-a-n0".into(), source }
    }

    #[test]
    fn what_needs_root_is_not_permitted_without_it() {
        for failure in [
            state(lock(denied())),
            fault(DownError::from(lock(denied()))),
            fault(DownError::from(netns())),
            fault(FaultError::from(lock(denied()))),
            fault(PingError::from(netns())),
            fault(LoadError::from(netns())),
            fault(UpError::from(lock(denied()))),
            fault(netns()),
        ] {
            assert_eq!(failure.code, Code::NotPermitted, "{failure:?}");
            assert!(failure.message.ends_with(": labs need root: use sudo"), "{failure:?}");
        }
        let full = state(lock(ErrorKind::StorageFull.into()));
        assert!(full.code == Code::Fault && !full.message.contains("sudo"), "{full:?}");
        assert_eq!(state(StateError::None).code, Code::Usage);
    }
}
