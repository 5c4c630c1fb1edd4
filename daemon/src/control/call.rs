//! Decodes one Varlink message of a client into a call. A call with an unknown interface, method or
//! parameter, or with a parameter of the wrong type, is answered with an error of the interface
//! `org.varlink.service`. Source: varlink.org, "Method Call" and `org.varlink.service`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use tresse_control::Call;
use tresse_control::call::{nothing_left, object, take};
use zlink::varlink_service::Error;

/// The interface that every Varlink service implements.
pub(super) const SERVICE: &str = "org.varlink.service";

/// A decoded call.
#[derive(Debug)]
pub(super) enum Asked {
    /// A method of this node.
    Node(Call),
    /// The name and version of this service.
    Info,
    /// The description of an interface, given by its name.
    Description(String),
}

/// A message as received: a Varlink call that is not yet checked.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    method: String,
    #[serde(default)]
    parameters: Value,
    oneway: Option<bool>,
    more: Option<bool>,
}

impl Message {
    /// Decodes one message.
    ///
    /// # Errors
    /// If it is not a Varlink call; then there is nothing to reply to.
    pub(crate) fn parse(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }

    /// Does the client want no reply?
    pub(crate) fn oneway(&self) -> bool {
        self.oneway == Some(true)
    }

    /// Does the client accept more than one reply?
    pub(crate) fn streams(&self) -> bool {
        self.more == Some(true)
    }

    /// Checks interface, method and parameters.
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
