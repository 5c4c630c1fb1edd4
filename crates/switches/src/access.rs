//! The file that says which switches are asked by SNMP, and how they are accessed. Secrets stand in it, readable by its
//! owner alone, or in the environment; never on a command line, which other users of the machine see.
//!
//! ```toml
//! community = "public"            # SNMPv2c; or SNMPv3:
//! user = "tresse"
//! auth = "sha256"                 # md5 sha1 sha224 sha256 sha384 sha512
//! auth_password = "..."
//! privacy = "aes128"              # des 3des aes128 aes192-cisco aes256-cisco ...
//! privacy_password = "..."
//! [switches]                      # names as in the cluster file
//! s0 = "192.0.2.10"
//! s1 = "192.0.2.11:1161"
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use async_snmp::{Auth, AuthProtocol, PrivProtocol, UsmConfig};
use serde::Deserialize;

/// The environment variables that take the place of keys of the file: the community and the two passwords.
const VARIABLES: [&str; 3] =
    ["TRESSE_SNMP_COMMUNITY", "TRESSE_SNMP_AUTH_PASSWORD", "TRESSE_SNMP_PRIVACY_PASSWORD"];
/// The longest file in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Which switches to ask, and how they are accessed.
pub struct SnmpAccess {
    pub(crate) auth: Auth,
    /// Addresses by name.
    pub(crate) switches: BTreeMap<String, String>,
}

/// Why the file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It has secrets that others can read.
    #[error("{0}: it has secrets, and others may read it\n  help: chmod 600 {0}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
    /// It is wrong.
    #[error("{}: {message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what is expected.
        message: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    community: Option<String>,
    user: Option<String>,
    auth: Option<String>,
    auth_password: Option<String>,
    privacy: Option<String>,
    privacy_password: Option<String>,
    switches: BTreeMap<String, String>,
}

impl SnmpAccess {
    /// Reads the file, and the environment for what the file leaves out.
    ///
    /// # Errors
    /// As [`AccessError`] lists.
    pub fn read(path: &Path) -> Result<Self, AccessError> {
        let unreadable = |source| AccessError::Unreadable { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if metadata.len() > MOST_BYTES {
            return Err(unreadable(io::Error::other("longer than 1 MiB")));
        }
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let closed = metadata.permissions().mode() & 0o077 == 0;
        let variables = VARIABLES.map(|name| std::env::var(name).ok());
        Self::parse(&text, path, closed, variables)
    }

    fn parse(
        text: &str,
        path: &Path,
        closed: bool,
        variables: [Option<String>; 3],
    ) -> Result<Self, AccessError> {
        let wrong = |message: String| AccessError::Wrong { path: path.to_owned(), message };
        let file: File = toml::from_str(text).map_err(|e| wrong(e.message().to_owned()))?;
        let secrets = [&file.community, &file.auth_password, &file.privacy_password];
        if !closed && secrets.iter().any(|secret| secret.is_some()) {
            return Err(AccessError::Open { path: path.to_owned() });
        }
        if file.switches.is_empty() {
            return Err(wrong("no switch: list them below [switches], s0 = \"192.0.2.10\"".into()));
        }
        let [community, auth_password, privacy_password] = variables;
        let community = community.or(file.community);
        let auth_password = auth_password.or(file.auth_password);
        let privacy_password = privacy_password.or(file.privacy_password);
        let auth = match (file.user, community) {
            (None, Some(community)) => Auth::v2c(community),
            (None, None) => {
                return Err(wrong(format!(
                    "neither `user` (SNMPv3) nor `community` (SNMPv2c), here or in {}",
                    VARIABLES[0]
                )));
            }
            (Some(user), _) => {
                let user = UsmConfig::new(user);
                let weak = |e: &dyn std::fmt::Display| wrong(format!("SNMPv3: {e}"));
                let auth = file.auth.map(|name| name.parse::<AuthProtocol>()).transpose();
                let privacy = file.privacy.map(|name| name.parse::<PrivProtocol>()).transpose();
                let (auth, privacy) = (auth.map_err(|e| weak(&e))?, privacy.map_err(|e| weak(&e))?);
                let needs = |key: &str| wrong(format!("SNMPv3: `{key}` needs `{key}_password`"));
                match (auth, privacy) {
                    (None, None) => user.into(),
                    (None, Some(_)) => return Err(wrong("SNMPv3: `privacy` needs `auth`".into())),
                    (Some(auth), None) => {
                        let password = auth_password.ok_or_else(|| needs("auth"))?;
                        user.auth(auth, password).map_err(|e| weak(&e))?.into()
                    }
                    (Some(auth), Some(privacy)) => {
                        let password = auth_password.ok_or_else(|| needs("auth"))?;
                        let secret = privacy_password.ok_or_else(|| needs("privacy"))?;
                        let user = user.auth_priv(auth, password, privacy, secret);
                        user.map_err(|e| weak(&e))?.into()
                    }
                }
            }
        };
        Ok(Self { auth, switches: file.switches })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, closed: bool, community: Option<&str>) -> Result<SnmpAccess, String> {
        let variables = [community.map(str::to_owned), None, None];
        SnmpAccess::parse(text, Path::new("f"), closed, variables).map_err(|e| e.to_string())
    }

    #[test]
    fn secrets_are_kept_from_others() {
        let switches = "[switches]\ns0 = \"192.0.2.1\"\n";
        let open = format!("community = \"c\"\n{switches}");
        assert_eq!(parse(&open, true, None).unwrap().switches["s0"], "192.0.2.1");
        assert!(parse(&open, false, None).err().unwrap().contains("chmod 600 f"));
        assert!(parse(switches, false, Some("c")).is_ok());
        let none = parse(switches, false, None).err().unwrap();
        assert!(none.contains("TRESSE_SNMP_COMMUNITY"), "{none}");
        let third = "user = \"u\"\nauth = \"sha256\"\nauth_password = \"long enough\"\nprivacy = \"aes128\"\n";
        let missing = parse(&format!("{third}{switches}"), true, None).err().unwrap();
        assert!(missing.contains("privacy_password"), "{missing}");
        let whole = format!("{third}privacy_password = \"also long enough\"\n{switches}");
        assert!(parse(&whole, true, None).is_ok());
        for (text, word) in [
            ("user = \"u\"\nauth = \"sha3\"\n[switches]\na = \"b\"\n", "sha3"),
            (
                "user = \"u\"\nauth = \"md5\"\nauth_password = \"short\"\n[switches]\na = \"b\"\n",
                "SNMPv3",
            ),
            ("communty = \"u\"\n", "communty"),
            ("[switches]\n", "no switch"),
        ] {
            let error = parse(text, true, None).err().unwrap();
            assert!(error.contains(word), "{error}");
        }
    }
}
