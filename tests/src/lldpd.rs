//! Runs lldpd in the network namespace of a switch, and beside it the SNMP agent of net-snmp, which answers for it.

use std::fs::{File, write};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// An lldpd of a switch, with its SNMP agent if wanted; ended when dropped.
#[derive(Debug)]
pub struct Lldpd {
    socket: PathBuf,
    children: Vec<Child>,
}

impl Lldpd {
    /// Starts it in a namespace, as the switch `name`, on interfaces `p1`, `p2`, ... Its files are in `directory`.
    ///
    /// Without the `lldpcli` of its own (`-L ''`): lldpd is paused until that one has resumed it, and any other
    /// `configure` meanwhile, which writes back all that it has read, pauses it again for ever.
    ///
    /// # Errors
    /// It is not installed.
    pub fn start(netns: &str, name: &str, directory: &Path) -> io::Result<Self> {
        let socket = directory.join(format!("{name}.lldpd"));
        let mut lldpd = Self { socket, children: Vec::new() };
        let agent = directory.join(format!("{name}.agentx"));
        let agent =
            if agent.exists() { format!("-x -X {}", agent.display()) } else { String::new() };
        let command = format!(
            "hostname {name}; exec lldpd -d {agent} -u {} -I 'p*' -L ''",
            lldpd.socket.display()
        );
        let log = File::create(directory.join(format!("{name}.lldpd.log")))?;
        let words = ["netns", "exec", netns, "unshare", "-u", "sh", "-c", &command];
        lldpd.spawn(Command::new("ip").args(words), log)?;
        Ok(lldpd)
    }

    /// Starts an SNMP agent for a switch, before its lldpd: community `community`, and the user `tresse` of SNMPv3.
    ///
    /// # Errors
    /// It is not installed.
    pub fn agent(netns: &str, name: &str, directory: &Path, community: &str) -> io::Result<Self> {
        let at = |ending: &str| directory.join(format!("{name}.{ending}"));
        let config = format!(
            "agentAddress udp:161\nmaster agentx\nagentXSocket {}\nrocommunity {community}\n\
             createUser tresse SHA-256 \"authentication\" AES \"encryption\"\nrouser tresse authPriv\n",
            at("agentx").display()
        );
        write(at("snmpd.conf"), config)?;
        let mut agent = Self { socket: at("agentx"), children: Vec::new() };
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", netns, "snmpd", "-f", "-Lo", "-C", "-c"])
            .arg(at("snmpd.conf"));
        command.env("SNMP_PERSISTENT_DIR", at("persistent"));
        agent.spawn(&mut command, File::create(at("snmpd.log"))?)?;
        Ok(agent)
    }

    fn spawn(&mut self, command: &mut Command, log: File) -> io::Result<()> {
        let errors = log.try_clone()?;
        self.children.push(command.stdin(Stdio::null()).stdout(log).stderr(errors).spawn()?);
        Ok(())
    }

    /// Whether it has its socket.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.socket.exists()
    }

    /// Runs `lldpcli` with these words; what it prints.
    ///
    /// # Errors
    /// It does not run, or fails: what it said.
    pub fn cli(&self, words: &str) -> Result<String, String> {
        let mut command = Command::new("lldpcli");
        let output = command.arg("-u").arg(&self.socket).args(words.split(' ')).output();
        let output = output.map_err(|e| format!("lldpcli: {e}"))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(said);
        }
        String::from_utf8(output.stdout).map_err(|e| e.to_string())
    }
}

impl Drop for Lldpd {
    /// lldpd ends its second process when it is asked to end.
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            let _ = child.wait();
        }
    }
}
