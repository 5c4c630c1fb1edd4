//! The macro `line!`, by which every dialect writes its text.

/// Appends one formatted line to a `String`.
macro_rules! line {
    ($out:expr) => { $out.push('\n') };
    ($out:expr, $($text:tt)*) => {{
        use std::fmt::Write as _;
        writeln!($out, $($text)*).expect("writing to a string cannot fail");
    }};
}
