//! The methods of the Varlink interface `org.tresse.Node`. Each method is defined once, by its
//! name, parameters, reply and description. From this definition the macro `methods` generates the
//! call that a client sends, the parser that the daemon uses, and the interface description that
//! varlinkctl(1) shows.
//!
//! A method also has its [`Access`], that is, who may call it.
//!
//! To add a method, add a line to `methods`, a reply type to the module `reply`, and a match arm to
//! the daemon's dispatch of calls.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use zlink::idl::{Comment, Interface, Method, Parameter};
use zlink::introspect::{CustomType as _, ReplyError as _, Type};
use zlink::names::{FieldName, InterfaceName, TypeName};
use zlink::varlink_service::Error;

use crate::reply::{
    Applied, ApplyRequest, Counters, DetourList, Difference, EventList, FailureList, Introduced,
    MonitorReply, NeighbourList, PathList, PlanFiles, Status, Steered, Withdrawn,
};
use crate::types::{
    Alert, AroundLine, BrokenLine, CounterLine, CutLine, DetourLine, Event, ForeignLine, FusedLine,
    GatewayLine, HeardLine, LldpLine, MoveLine, NicLine, OperationLine, OtherLine, PathLine,
    PendingLine, Problem, SegmentLine, ShareLine, StateLine, UseLine, WaitLine, WeightLine,
};
use crate::{INTERFACE, NodeError};

/// Who may call a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Every local user: the method changes nothing and costs little.
    Anyone,
    /// Root and the members of group `tresse`.
    Group,
}

/// Makes [`Call`], its parser and the interface description from the list of methods.
macro_rules! methods {
    ($(
        $(#[doc = $doc:literal])+
        $access:ident $name:ident $({ $($parameter:ident: $type:ty),+ $(,)? })? -> $reply:ty;
    )+) => {
        /// One call of a method of `org.tresse.Node`, with its parameters.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(untagged)]
        pub enum Call {
            $(
                $(#[doc = $doc])+
                $name $({
                    $(
                        #[doc = concat!("Parameter `", stringify!($parameter), "`.")]
                        $parameter: $type,
                    )+
                })?,
            )+
        }

        impl Call {
            /// The full name of the method, `org.tresse.Node.GetStatus`.
            #[must_use]
            pub const fn method(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => concat!("org.tresse.Node.", stringify!($name)),)+
                }
            }

            /// Who may call the method.
            #[must_use]
            pub const fn access(&self) -> Access {
                match self {
                    $(Self::$name { .. } => Access::$access,)+
                }
            }

            /// Does the method have parameters?
            #[must_use]
            pub const fn has_parameters(&self) -> bool {
                match self {
                    $(Self::$name { .. } => {
                        !concat!("" $($(, stringify!($parameter))+)?).is_empty()
                    })+
                }
            }

            /// Parses the parameters of the method `name` (without the interface's name).
            ///
            /// # Errors
            /// MethodNotFound, or InvalidParameter with the name of the first parameter that has
            /// the wrong type or that the method does not have: a misspelt `dry_run` must not
            /// install anything.
            pub fn parse(name: &str, parameters: Value) -> Result<Self, Error<'static>> {
                let mut given = object(parameters)?;
                let given = &mut given;
                match name {
                    $(
                        stringify!($name) => {
                            let call = Self::$name $({
                                $($parameter: take(given, stringify!($parameter))?,)+
                            })?;
                            nothing_left(given)?;
                            Ok(call)
                        }
                    )+
                    _ => {
                        let method = Cow::Owned(format!("{INTERFACE}.{name}"));
                        Err(Error::MethodNotFound { method })
                    }
                }
            }
        }

        // Each method is a constant of its own, because one constant expression cannot build the
        // whole list.
        const METHODS: &[&Method<'static>] = &[$({
            const PARAMETERS: &[&Parameter<'static>] = &[$($(
                &Parameter::new(
                    FieldName::from_static_str_unchecked(stringify!($parameter)),
                    <$type as Type>::TYPE,
                    &[],
                ),
            )+)?];
            const METHOD: &Method<'static> = &Method::new(
                TypeName::from_static_str_unchecked(stringify!($name)),
                PARAMETERS,
                fields(<$reply as Type>::TYPE),
                &[$(&Comment::new($doc)),+],
            );
            METHOD
        },)+];
    };
}

methods! {
    /// State of this node: plan, drift, failures, sessions.
    Anyone GetStatus -> Status;
    /// The files of the plan in force, as they were applied.
    Anyone GetPlan -> PlanFiles;
    /// Paths from this node, sorted by destination and rank.
    Anyone ListPaths { to: Option<String> } -> PathList;
    /// What is believed broken, and what that does to the paths from this node.
    Anyone ListFailures -> FailureList;
    /// Detours that are used as they are needed: is that on, and by which paths does this node send now?
    Anyone ListDetours -> DetourList;
    /// The devices heard on each NIC of this host: by LLDP, and by announcements of the fabric.
    Anyone ListNeighbours -> NeighbourList;
    /// Send an LLDP frame from every NIC of this host, to the other end of its cable and to all
    /// stations beyond. Other nodes list it for half a minute. Used by `tresse discover`.
    Group Introduce -> Introduced;
    /// Counters since the daemon started.
    Anyone GetCounters -> Counters;
    /// The last events, at most so many: a thousand are kept, also across restarts.
    Anyone GetEvents { last: Option<u32> } -> EventList;
    /// Operations that would make the kernel equal to the slice.
    Anyone Diff -> Difference;
    /// Install the plan of a cluster file, or list the operations that this would take (dry_run).
    /// With confirm_seconds the plan is rolled back unless Confirm is called within that time.
    // A dry run is not for anyone either: planning any cluster file would keep the daemon busy.
    Group Apply {
        cluster: String,
        lock: Option<String>,
        dry_run: Option<bool>,
        confirm_seconds: Option<u32>,
        force: Option<bool>,
        force_interfaces: Option<Vec<String>>,
    } -> Applied;
    /// Keep the plan that the last Apply installed.
    Group Confirm -> ();
    /// The same, if that plan is still the one of this generation. Else there is nothing to confirm.
    Group ConfirmPlan { generation: String } -> ();
    /// Return to the plan before.
    Group Rollback -> Applied;
    /// Remove everything that was installed and forget the plan.
    Group Withdraw { force: Option<bool> } -> Withdrawn;
    /// Read the configured cluster file again and apply it.
    Group Reload -> Applied;
    /// Use a fused VLAN again, after a new canary.
    Group Unfuse { vid: u16 } -> ();
    /// Keep this node's paths off a switch, a node, a link, a port or a NIC, or list the effects of
    /// that (dry_run). Refused if a destination would have no other path, unless force is set.
    Group Drain { object: String, dry_run: Option<bool>, force: Option<bool> } -> Steered;
    /// Use a drained part again, or list the effects of that (dry_run).
    Group Undrain { object: String, dry_run: Option<bool> } -> Steered;
    /// Use only one path to a node, given by its rank, as long as that path is sound.
    Group Pin { to: String, rank: u32, dry_run: Option<bool> } -> Steered;
    /// Share the traffic to a node among its paths by these weights, 0 to 255. Ranks that are not
    /// listed keep their weight. Replaces a pin.
    Group Weight { to: String, weights: Vec<WeightLine>, dry_run: Option<bool> } -> Steered;
    /// Use detours as they are needed, or as the plan says alone. Kept across restarts.
    Group SetDetours { used: bool } -> ();
    /// Use all paths to a node again as planned: ends a pin, and weights.
    Group Unpin { to: String, dry_run: Option<bool> } -> Steered;
    /// Stream of events from now on; the first is `hello`. A gap in `seq` means that the client was
    /// too slow.
    #[doc = "[Supports 'more' flag]"]
    Anyone Monitor -> MonitorReply;
}

impl From<ApplyRequest> for Call {
    fn from(request: ApplyRequest) -> Self {
        let ApplyRequest { cluster, lock, dry_run, confirm_seconds, force, force_interfaces } =
            request;
        Self::Apply { cluster, lock, dry_run, confirm_seconds, force, force_interfaces }
    }
}

/// The Varlink description of the interface `org.tresse.Node`: its types, methods and errors, as
/// varlinkctl(1) shows them.
pub const DESCRIPTION: &Interface<'static> = &Interface::new(
    InterfaceName::from_static_str_unchecked(INTERFACE),
    METHODS,
    &[
        Alert::CUSTOM_TYPE,
        AroundLine::CUSTOM_TYPE,
        BrokenLine::CUSTOM_TYPE,
        CounterLine::CUSTOM_TYPE,
        CutLine::CUSTOM_TYPE,
        DetourLine::CUSTOM_TYPE,
        Event::CUSTOM_TYPE,
        ForeignLine::CUSTOM_TYPE,
        FusedLine::CUSTOM_TYPE,
        HeardLine::CUSTOM_TYPE,
        LldpLine::CUSTOM_TYPE,
        MoveLine::CUSTOM_TYPE,
        NicLine::CUSTOM_TYPE,
        OperationLine::CUSTOM_TYPE,
        OtherLine::CUSTOM_TYPE,
        GatewayLine::CUSTOM_TYPE,
        PathLine::CUSTOM_TYPE,
        PendingLine::CUSTOM_TYPE,
        Problem::CUSTOM_TYPE,
        SegmentLine::CUSTOM_TYPE,
        ShareLine::CUSTOM_TYPE,
        StateLine::CUSTOM_TYPE,
        UseLine::CUSTOM_TYPE,
        WaitLine::CUSTOM_TYPE,
        WeightLine::CUSTOM_TYPE,
    ],
    NodeError::VARIANTS,
    &[],
);

/// Returns the fields of a reply, for the interface description.
const fn fields(
    reply: &'static zlink::idl::Type<'static>,
) -> &'static [&'static Parameter<'static>] {
    match reply.as_object() {
        Some(fields) => match fields.as_borrowed() {
            Some(fields) => fields,
            None => &[],
        },
        None => &[],
    }
}

/// Returns the parameters of a call as a map from name to value. The map is empty if the call has
/// no parameters (null).
///
/// # Errors
/// InvalidParameter with the name `parameters` if they are not a JSON object.
pub fn object(parameters: Value) -> Result<Map<String, Value>, Error<'static>> {
    match parameters {
        Value::Null => Ok(Map::new()),
        Value::Object(given) => Ok(given),
        _ => Err(invalid("parameters")),
    }
}

/// Removes the parameter `name` from `given`, the parameters of a call, and decodes its value. A
/// missing parameter is decoded from null, which is the value `None` of an optional one.
///
/// # Errors
/// InvalidParameter with that name if the value has another type than `T`.
pub fn take<T: DeserializeOwned>(
    given: &mut Map<String, Value>,
    name: &str,
) -> Result<T, Error<'static>> {
    let value = given.remove(name).unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|_| invalid(name))
}

/// Checks that every parameter of a call has been taken out of `given`. A parameter that is left is
/// unknown to the called method.
///
/// # Errors
/// InvalidParameter with the name of the first parameter that is left.
pub fn nothing_left(given: &Map<String, Value>) -> Result<(), Error<'static>> {
    given.keys().next().map_or(Ok(()), |name| Err(invalid(name)))
}

fn invalid(parameter: &str) -> Error<'static> {
    Error::InvalidParameter { parameter: Cow::Owned(parameter.into()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_client_sends_is_what_the_daemon_reads() {
        let calls = [
            Call::GetStatus,
            Call::ListPaths { to: None },
            Call::Unfuse { vid: 100 },
            Call::SetDetours { used: false },
            Call::Pin { to: "n1".into(), rank: 2, dry_run: Some(true) },
            Call::Weight {
                to: "n1".into(),
                weights: vec![WeightLine { rank: 0, weight: 1 }, WeightLine { rank: 1, weight: 3 }],
                dry_run: None,
            },
            Call::Apply {
                cluster: "text".into(),
                lock: None,
                dry_run: None,
                confirm_seconds: Some(60),
                force: None,
                force_interfaces: Some(vec!["eth0".into()]),
            },
        ];
        for call in calls {
            let name = call.method().strip_prefix("org.tresse.Node.").unwrap();
            let parameters = serde_json::to_value(&call).unwrap();
            assert_eq!(Call::parse(name, parameters).unwrap(), call);
        }
    }

    #[test]
    fn a_parameter_that_is_wrong_is_named() {
        let wrong = |name: &str, parameters: Value| match Call::parse(name, parameters) {
            Err(Error::InvalidParameter { parameter }) => parameter.into_owned(),
            other => panic!("{other:?}"),
        };
        assert_eq!(wrong("Unfuse", json!({})), "vid");
        assert_eq!(wrong("Unfuse", json!({ "vid": 65_536 })), "vid");
        assert_eq!(wrong("Unfuse", json!([1])), "parameters");
        assert_eq!(wrong("Drain", json!({ "object": "s0", "dryrun": true })), "dryrun");
        let weights = json!([{ "rank": 0, "weight": -1 }]);
        assert_eq!(wrong("Weight", json!({ "to": "n1", "weights": weights })), "weights");
        assert_eq!(wrong("Weight", json!({ "to": "n1" })), "weights");
        assert_eq!(wrong("GetStatus", json!({ "verbose": true })), "verbose");
        let unknown = Call::parse("Nonsense", json!({}));
        assert!(
            matches!(unknown, Err(Error::MethodNotFound { method }) if method == "org.tresse.Node.Nonsense")
        );
    }

    #[test]
    fn the_description_can_be_read_back() {
        let text = DESCRIPTION.to_string();
        let read = Interface::try_from(text.as_str()).unwrap();
        assert_eq!(read.methods().count(), METHODS.len());
    }
}
