//! The cluster file: no text panics, problems point into the text, have advice and nothing that acts on
//! a terminal, formatting keeps the meaning.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tresse_fabric::cluster;
use tresse_fabric::plan::Plan;

fuzz_target!(|text: &str| {
    match cluster::parse(text, "cluster.toml") {
        Err(problems) => {
            assert!(!problems.problems.is_empty());
            for problem in &problems.problems {
                assert!(text.get(problem.span.clone()).is_some());
                let help = problem.help.as_deref().expect("a problem has advice");
                assert!(!format!("{problem}{help}").contains(char::is_control));
            }
        }
        Ok(parsed) => {
            let formatted = cluster::format(text);
            assert_eq!(cluster::parse(&formatted, "cluster.toml").as_ref(), Ok(&parsed));
            // Large fabrics plan slowly under a sanitizer and teach nothing new.
            if parsed.switches.len() <= 64 {
                let _ = Plan::build(parsed);
            }
        }
    }
});
