//! Where the tables of switches come from, and the wires that they show.

use std::io;
use std::path::Path;

use tresse_mapping::host::DiscoveredHost;
use tresse_mapping::wires::Wires;
use tresse_mapping::without::{Without, WithoutError};

use crate::access::{AccessError, SnmpAccess};
use crate::directory::{self, DirectoryError};
use crate::snmp::{self, Asked};

/// Where the tables come from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A directory with a file for each switch.
    Pasted(&'a Path),
    /// The switches that this file lists, by SNMP.
    Snmp(&'a Path),
    /// Nowhere: there are none.
    None,
}

/// Why there are no wires.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The directory is of no use.
    #[error(transparent)]
    Pasted(#[from] DirectoryError),
    /// The file is of no use.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// No thread or socket can be had.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No switch answers.
    #[error("{}", failed.join("\n"))]
    Silent {
        /// In words, who did not, and why.
        failed: Vec<String>,
    },
    /// What is to be left out is not there.
    #[error("--without {0}")]
    Without(#[from] WithoutError),
}

impl Source<'_> {
    /// What the tables show, beside what the nodes hear; switches have the names in `known` where these fit.
    ///
    /// # Errors
    /// As [`SourceError`] lists.
    pub fn wires(
        self,
        hosts: &[DiscoveredHost],
        known: Vec<String>,
        without: &Without,
    ) -> Result<Wires, SourceError> {
        let asked = match self {
            Self::Pasted(path) => Asked { tables: directory::pasted(path)?, failed: Vec::new() },
            Self::Snmp(path) => snmp::ask(&SnmpAccess::read(path)?)?,
            Self::None => Asked::default(),
        };
        if asked.tables.is_empty() && !asked.failed.is_empty() {
            return Err(SourceError::Silent { failed: asked.failed });
        }
        let mut wires = Wires::without(asked.tables, hosts, known, without)?;
        wires.unseen.extend(asked.failed);
        Ok(wires)
    }
}
