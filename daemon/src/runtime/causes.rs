//! Formats an error with all its causes as one text.

use crate::state::StateError;

/// Returns the messages of an error and of all its causes as one text, joined by `: `.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// The reason why a plan is not taken: it cannot be stored.
pub fn not_persisted(error: &StateError) -> String {
    format!("not persisted: {}", chain(error))
}
