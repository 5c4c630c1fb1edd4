//! What runs on a node: reads jobs, does them one after the other, and answers each. All it starts ends with it.

use std::io::{self, BufRead, Read as _, Write};
use std::process::Child;

use crate::talk::{Answer, Job};
use crate::tools;

/// No job is longer, in bytes.
const LONGEST: u64 = 64 * 1024;
/// NICs of one job, and seconds of sending: nobody needs more.
const NICS: usize = 64;
/// See [`NICS`].
const SECONDS: u32 = 60;
/// Echo requests of one job.
const REQUESTS: u32 = 1000;

/// The receivers that run; killed when dropped.
#[derive(Default)]
struct Receivers(Vec<Child>);

impl Receivers {
    fn add(&mut self, child: Child) {
        self.0.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        self.0.push(child);
    }
}

impl Drop for Receivers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Does the jobs that come by `input`, until it ends.
///
/// # Errors
/// Reading or writing fails, or a line is no job.
pub fn run(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut receivers = Receivers::default();
    loop {
        let mut line = Vec::new();
        if (&mut input).take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let job = serde_json::from_slice(&line)?;
        let answer = answer(job, &mut receivers);
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
}

fn answer(job: Job, receivers: &mut Receivers) -> Answer {
    match job {
        Job::Look { nics } => {
            let is_name = |name: &&String| !name.contains('/') && !name.starts_with('.');
            let nics = nics.iter().take(NICS).filter(is_name).map(|name| tools::nic(name));
            Answer::Nics { nics: nics.collect() }
        }
        Job::Echo { from, to, count } => tools::echo(from, to, count.min(REQUESTS)),
        Job::Largest { from, to, most } => tools::largest(from, to, most),
        Job::Serve { at, port } => match tools::serve(at, port) {
            Ok(child) => {
                receivers.add(child);
                Answer::Serving
            }
            Err(why) => tools::failed(why),
        },
        Job::Send { from, to, port, seconds } => tools::send(from, to, port, seconds.min(SECONDS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_answered_line_by_line_and_what_is_none_ends_it() {
        let mut out = Vec::new();
        let jobs = b"{\"do\":\"look\",\"nics\":[\"lo\",\"../etc\"]}\n";
        run(&jobs[..], &mut out).unwrap();
        let answer: Answer = serde_json::from_slice(&out).unwrap();
        let Answer::Nics { nics } = answer else { panic!("{answer:?}") };
        assert_eq!(nics.iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>(), ["lo"]);
        assert_eq!(nics[0].mtu, Some(65_536));
        assert!(run(&b"{\"do\":\"exec\"}\n"[..], Vec::new()).is_err());
        let long = vec![b'a'; 100_000];
        assert!(run(&long[..], Vec::new()).is_err());
    }
}
