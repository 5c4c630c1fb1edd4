//! One message of a client, decoded: what a client got wrong is answered, by the errors of
//! `org.varlink.service`. Source: varlink.org, "Method Call" and `org.varlink.service`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use tresse_control::Call;
use tresse_control::call::{nothing_left, object, take};
use zlink::varlink_service::Error;

/// The interface that every Varlink service has.
pub(super) const SERVICE: &str = "org.varlink.service";

/// What a client asks for.
#[derive(Debug)]
pub(super) enum Asked {
    /// A method of this node.
    Node(Call),
    /// Who answers here.
    Info,
    /// The description of an interface.
    Description(String),
}

/// A message as it came.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    method: String,
    #[serde(default)]
    parameters: Value,
    oneway: Option<bool>,
    more: Option<bool>,
}

impl Message {
    /// Reads one message.
    ///
    /// # Errors
    /// It is no Varlink call: there is nothing to answer.
    pub(crate) fn parse(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }

    /// Does the client want no answer?
    pub(crate) fn oneway(&self) -> bool {
        self.oneway == Some(true)
    }

    /// May it have more than one answer?
    pub(crate) fn streams(&self) -> bool {
        self.more == Some(true)
    }

    /// What it asks for.
    ///
    /// # Errors
    /// InterfaceNotFound, MethodNotFound or InvalidParameter, with the name.
    pub(super) fn asked(self) -> Result<Asked, Error<'static>> {
        let Self { method, parameters, .. } = self;
        let (interface, name) = method.rsplit_once('.').unwrap_or((&method, ""));
        match (interface, name) {
            (tresse_control::INTERFACE, name) => Call::parse(name, parameters).map(Asked::Node),
            (SERVICE, "GetInfo") => nothing_left(&object(parameters)?).map(|()| Asked::Info),
            (SERVICE, "GetInterfaceDescription") => {
                let mut given = object(parameters)?;
                let interface = take(&mut given, "interface")?;
                nothing_left(&given).map(|()| Asked::Description(interface))
            }
            (SERVICE, _) => Err(Error::MethodNotFound { method: Cow::Owned(method) }),
            (other, _) => Err(no_interface(other.into())),
        }
    }
}

pub(super) const fn no_interface(interface: String) -> Error<'static> {
    Error::InterfaceNotFound { interface: Cow::Owned(interface) }
}
