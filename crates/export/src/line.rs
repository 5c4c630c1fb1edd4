//! The macro `line!`, with which the exports append a line to their text.

/// Appends one formatted line to a `String`.
macro_rules! line {
    ($out:expr) => { $out.push('\n') };
    ($out:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        writeln!($out, $($text)*).expect("writing to a string cannot fail");
    }};
}
