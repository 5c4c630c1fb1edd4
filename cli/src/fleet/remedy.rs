//! What to do if a node's daemon is not reached through a launcher. The remedy follows from what
//! the launcher's program wrote.

use std::io::ErrorKind;

use tresse_control::ClientError;

use super::launcher::Launcher;
use crate::fail::{Code, Failure};

/// Words of ssh and of shells (in lower case), and the remedy. `NODE` stands for the node. The first
/// row with words that were written counts.
const SSH: &[(&[&str], &str)] = &[
    (
        &["could not resolve hostname", "name or service not known"],
        "`NODE` must be a name that ssh knows: add it to /etc/hosts, to DNS or as `Host NODE` to \
         ~/.ssh/config, or choose another --launcher",
    ),
    (
        &["host key verification failed", "remote host identification has changed"],
        "run `ssh NODE true` once by hand and accept the key, or put it into ~/.ssh/known_hosts",
    ),
    (
        &["permission denied"],
        "`ssh NODE true` must work without a password: put your public key into \
         ~/.ssh/authorized_keys there, for the user that ssh logs in as",
    ),
    (
        &["connection refused", "timed out", "no route to host", "network is unreachable"],
        "`ssh NODE true` must work: check that the node is up and runs sshd, or leave it out with \
         --except NODE",
    ),
    NOT_INSTALLED,
];

/// The same of srun.
const SRUN: &[(&[&str], &str)] = &[
    (
        &[
            "invalid node name",
            "node count specification",
            "not in this partition",
            "not available",
        ],
        "Slurm must know the node by this name: `sinfo -N` lists the nodes",
    ),
    (
        &[
            "unable to contact slurm",
            "unable to establish",
            "configuration source",
            "authentication",
        ],
        "srun must reach Slurm's controller: `scontrol ping` must answer on this machine",
    ),
    NOT_INSTALLED,
];

const NOT_INSTALLED: (&[&str], &str) = (
    &["command not found", "tresse: not found", "no such file or directory"],
    "install tresse on NODE, into a directory of the PATH that its shell has without a terminal, such as /usr/bin",
);

/// Converts the error of a call through a launcher to the failure of a verb, with a remedy that fits.
pub fn failure(error: ClientError, launcher: Launcher, node: &str) -> Failure {
    let help = match &error {
        ClientError::Node(_) => return error.into(),
        // There is no program between.
        ClientError::Unreachable { .. } if launcher == Launcher::Netns => {
            let help = "its log is beside the socket, in the file `log`";
            return Failure::new(Code::Unreachable, format!("{error}\n  help: {help}"));
        }
        ClientError::TimedOut { .. } => Some(format!(
            "is {node} up, and can it be reached? `systemctl status tressed` there shows whether its daemon works"
        )),
        ClientError::Unreachable { source, .. } if source.kind() == ErrorKind::NotFound => {
            Some(of_launcher(launcher).to_owned())
        }
        ClientError::Unreachable { .. } => None,
        // What `tresse` itself wrote there has its own remedy.
        ClientError::Protocol { message, .. }
            if message.lines().any(|line| line.starts_with("tresse: ")) =>
        {
            None
        }
        ClientError::Protocol { message, .. } => Some(reached(message, launcher, node)),
    };
    let mut message = error.to_string();
    if let ClientError::Unreachable { path, source } = &error {
        message = format!("cannot start `{}`: {source}", path.display());
    }
    if let Some(help) = help {
        message.push_str(&format!("\n  help: {help}"));
    }
    Failure::new(Code::Unreachable, message)
}

/// The remedy if the program of a launcher is not on this machine.
pub const fn of_launcher(launcher: Launcher) -> &'static str {
    match launcher {
        Launcher::Ssh => "install the OpenSSH client on this machine, or choose another --launcher",
        Launcher::Srun => {
            "srun comes with Slurm: run this on a machine of its cluster, or choose another --launcher"
        }
        Launcher::Netns => "the program `tresse` was removed while it ran: install it again",
    }
}

/// The remedy for what a program wrote that did not reach the daemon of a node.
fn reached(wrote: &str, launcher: Launcher, node: &str) -> String {
    known(wrote, launcher, node).unwrap_or_else(|| match launcher {
        Launcher::Ssh => format!("`ssh {node} tresse status` must work without a password"),
        Launcher::Srun => format!("`srun --nodelist={node} tresse status` must work"),
        Launcher::Netns => format!("`tresse lab exec {node} -- tresse status` must work"),
    })
}

/// The remedy for what the program of a launcher wrote, if it is a known failure.
pub fn known(wrote: &str, launcher: Launcher, node: &str) -> Option<String> {
    let rows = match launcher {
        Launcher::Ssh => SSH,
        Launcher::Srun => SRUN,
        Launcher::Netns => return None,
    };
    let wrote = wrote.to_lowercase();
    let has = |(words, _): &&(&[&str], &str)| words.iter().any(|word| wrote.contains(word));
    rows.iter().find(has).map(|(_, help)| help.replace("NODE", node))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(launcher: Launcher, message: &str) -> String {
        let error = ClientError::Protocol { path: "ssh n0".into(), message: message.into() };
        let failure = failure(error, launcher, "n0");
        assert_eq!(failure.code, Code::Unreachable);
        failure.message
    }

    #[test]
    fn the_remedy_fits_what_the_program_wrote() {
        for (launcher, wrote, remedy) in [
            (
                Launcher::Ssh,
                "ssh: Could not resolve hostname n0: Name or service not known",
                "a name that ssh knows",
            ),
            (Launcher::Ssh, "Host key verification failed.", "run `ssh n0 true` once by hand"),
            (Launcher::Ssh, "root@n0: Permission denied (publickey).", "authorized_keys"),
            (Launcher::Ssh, "ssh: connect to host n0 port 22: Connection refused", "runs sshd"),
            (Launcher::Ssh, "bash: line 1: tresse: command not found", "install tresse on n0"),
            (Launcher::Ssh, "the daemon closed the connection", "`ssh n0 tresse status` must work"),
            (Launcher::Srun, "srun: error: Invalid node name specified", "`sinfo -N`"),
            (Launcher::Srun, "srun: fatal: Could not establish a configuration source", "scontrol"),
            (
                Launcher::Srun,
                "srun: error: n0: task 0: No such file or directory",
                "install tresse",
            ),
            (Launcher::Netns, "the daemon closed the connection", "`tresse lab exec n0 -- "),
        ] {
            let told = told(launcher, wrote);
            assert!(told.contains(wrote) && told.contains("\n  help: "), "{told}");
            assert!(told.contains(remedy) && !told.contains("systemctl"), "{told}");
        }
    }

    #[test]
    fn a_remedy_that_the_other_end_gave_is_not_followed_by_another() {
        let wrote = "tresse: cannot reach tressed at /run/x: is it running?\n  help: start it";
        assert_eq!(told(Launcher::Ssh, wrote).matches("help: ").count(), 1);
    }

    #[test]
    fn a_launcher_that_is_not_installed_is_named() {
        let source = std::io::Error::from(ErrorKind::NotFound);
        let error = ClientError::Unreachable { path: "srun n0 tresse bridge".into(), source };
        let told = failure(error, Launcher::Srun, "n0").message;
        assert!(told.starts_with("cannot start `srun n0 tresse bridge`: "), "{told}");
        assert!(told.ends_with("or choose another --launcher"), "{told}");
    }
}
