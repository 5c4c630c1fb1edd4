//! One call, decoded: what a client got wrong is answered, by the errors of `org.varlink.service`.
//!
//! zlink decodes method and parameters in one go and only tells that it failed, and calls every
//! method that it does not know `unknown`; so names and types are looked at before. Source:
//! varlink.org, "Method Call" and `org.varlink.service`.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use zlink::Call;
use zlink::names::InterfaceName;
use zlink::service::Service;
use zlink::tokio::unix::Stream;
use zlink::varlink_service::Error;

use super::service::Node;

/// A call of a method that exists, with parameters of its types.
pub(super) type NodeCall = Call<<Node as Service<Stream>>::MethodCall<'static>>;

/// A parameter's name, and whether a value (null where it is missing) is one of its type.
type Parameter = (&'static str, fn(&Value) -> bool);

/// The interface that every Varlink service has.
const SERVICE: &str = "org.varlink.service";
/// Its method that names an interface.
const DESCRIPTION: &str = "GetInterfaceDescription";

/// Every method by interface; a test holds it against the interface's own description.
const METHODS: [(&str, &str, &[Parameter]); 19] = [
    (SERVICE, "GetInfo", &[]),
    (SERVICE, DESCRIPTION, &[("interface", fits::<String>)]),
    (tresse_control::INTERFACE, "GetStatus", &[]),
    (tresse_control::INTERFACE, "ListPaths", &[("to", fits::<Option<String>>)]),
    (tresse_control::INTERFACE, "ListNeighbours", &[]),
    (tresse_control::INTERFACE, "Introduce", &[]),
    (tresse_control::INTERFACE, "GetCounters", &[]),
    (tresse_control::INTERFACE, "Diff", &[]),
    (
        tresse_control::INTERFACE,
        "Apply",
        &[
            ("cluster", fits::<String>),
            ("lock", fits::<Option<String>>),
            ("dry_run", fits::<Option<bool>>),
            ("confirm_seconds", fits::<Option<u32>>),
            ("force", fits::<Option<bool>>),
            ("force_interfaces", fits::<Option<Vec<String>>>),
        ],
    ),
    (tresse_control::INTERFACE, "Confirm", &[]),
    (tresse_control::INTERFACE, "Rollback", &[]),
    (tresse_control::INTERFACE, "Withdraw", &[("force", fits::<Option<bool>>)]),
    (tresse_control::INTERFACE, "Reload", &[]),
    (tresse_control::INTERFACE, "Unfuse", &[("vid", fits::<u16>)]),
    (
        tresse_control::INTERFACE,
        "Drain",
        &[
            ("object", fits::<String>),
            ("dry_run", fits::<Option<bool>>),
            ("force", fits::<Option<bool>>),
        ],
    ),
    (tresse_control::INTERFACE, "Undrain", &[("object", fits::<String>)]),
    (
        tresse_control::INTERFACE,
        "Pin",
        &[("to", fits::<String>), ("rank", fits::<u32>), ("dry_run", fits::<Option<bool>>)],
    ),
    (tresse_control::INTERFACE, "Unpin", &[("to", fits::<String>)]),
    (tresse_control::INTERFACE, "Monitor", &[]),
];

/// A message as it came.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    method: String,
    #[serde(default)]
    parameters: Value,
    oneway: Option<bool>,
    more: Option<bool>,
    upgrade: Option<bool>,
}

impl Message {
    /// Reads one message.
    ///
    /// # Errors
    /// It is no Varlink call: there is nothing to answer.
    pub(super) fn parse(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }

    /// Does the client want no answer?
    pub(super) fn oneway(&self) -> bool {
        self.oneway == Some(true)
    }

    /// May it have more than one answer?
    pub(super) fn streams(&self) -> bool {
        self.more == Some(true)
    }

    /// The typed call.
    ///
    /// # Errors
    /// InterfaceNotFound, MethodNotFound or InvalidParameter with the name; a parameter that the
    /// method does not have is refused too: a misspelt `dry_run` must not install anything.
    pub(super) fn call(self) -> Result<NodeCall, Error<'static>> {
        let Self { method, parameters, oneway, more, upgrade } = self;
        let (interface, name) = method.rsplit_once('.').unwrap_or((&method, ""));
        if !METHODS.iter().any(|(i, ..)| *i == interface) {
            return Err(no_interface(interface.into()));
        }
        let known = METHODS.iter().find(|(i, n, _)| (*i, *n) == (interface, name));
        let Some((.., wanted)) = known else {
            return Err(Error::MethodNotFound { method: Cow::Owned(method) });
        };
        let given = match parameters {
            Value::Null => Map::new(),
            Value::Object(given) => given,
            _ => return Err(invalid("parameters")),
        };
        for (name, fits) in *wanted {
            if !fits(given.get(*name).unwrap_or(&Value::Null)) {
                return Err(invalid(name));
            }
        }
        if let Some(other) = given.keys().find(|key| !wanted.iter().any(|(name, _)| name == key)) {
            return Err(invalid(other));
        }
        if let (SERVICE, DESCRIPTION, Some(Value::String(asked))) =
            (interface, name, given.get("interface"))
            && InterfaceName::try_from(asked.as_str()).is_err()
        {
            return Err(no_interface(asked.clone()));
        }
        let mut call = Map::new();
        call.insert("method".into(), method.into());
        // Methods without parameters take none, not even an empty object.
        if !given.is_empty() || !wanted.is_empty() {
            call.insert("parameters".into(), given.into());
        }
        let typed = Deserialize::deserialize(Value::Object(call));
        let call = Call::new(typed.map_err(|_| invalid("parameters"))?);
        Ok(call
            .set_oneway(oneway == Some(true))
            .set_more(more == Some(true))
            .set_upgrade(upgrade == Some(true)))
    }
}

fn fits<T: DeserializeOwned>(value: &Value) -> bool {
    T::deserialize(value).is_ok()
}

fn invalid(parameter: &str) -> Error<'static> {
    Error::InvalidParameter { parameter: Cow::Owned(parameter.into()) }
}

const fn no_interface(interface: String) -> Error<'static> {
    Error::InterfaceNotFound { interface: Cow::Owned(interface) }
}

#[cfg(test)]
pub(super) fn table() -> Vec<(String, Vec<&'static str>)> {
    let names = |parameters: &[Parameter]| parameters.iter().map(|(name, _)| *name).collect();
    METHODS.iter().map(|(i, n, p)| (format!("{i}.{n}"), names(p))).collect()
}
