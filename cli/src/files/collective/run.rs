//! Runs a job of moving files, from the start of its members to the report.

use super::arguments::{CollectiveArgs, RingArgs};
use super::job::Job;
use super::members::Members;
use super::party::Party;
use super::report;
use crate::fail::{Code, Failure};

/// Moves the files of a job and prints the report. Returns [`Code::Fault`] if a node does not get
/// everything.
pub fn run(
    args: &CollectiveArgs,
    ring: &RingArgs,
    party: &Party,
    job: &Job,
    json: bool,
) -> Result<Code, Failure> {
    job.check(party)?;
    let mut members = Members::start(args, ring, party, job, json)?;
    let outcomes = members.finish();
    report::report(party, job, &outcomes, &members.took(), json)
}
