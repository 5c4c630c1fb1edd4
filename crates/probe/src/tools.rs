//! The programs that measure, `ping` (iputils) and `iperf3`, and reading what they print; and the state of NICs in /sys.

use std::fs;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::talk::{Answer, NicState};

/// How long after its time a program may still run.
const GRACE: Duration = Duration::from_secs(15);
/// Bytes of IP and ICMP headers of an echo request.
const fn headers(to: IpAddr) -> u32 {
    if to.is_ipv4() { 28 } else { 48 }
}

/// Sends echo requests, a hundred a second.
pub(crate) fn echo(from: IpAddr, to: IpAddr, count: u32) -> Answer {
    let words = ["-i", "0.01", "-c", &count.to_string()].map(str::to_owned);
    let time = Duration::from_millis(u64::from(count) * 10 + 1000);
    match ping(from, to, &words, time) {
        Ok(text) => match read_ping(&text) {
            Some(answer) => answer,
            None => failed(format!("`ping` printed no summary: {}", last_line(&text))),
        },
        Err(error) => failed(error),
    }
}

/// The largest packet of at most `most` bytes that is answered.
pub(crate) fn largest(from: IpAddr, to: IpAddr, most: u32) -> Answer {
    let answers = |bytes: u32| -> Result<bool, String> {
        let payload = bytes.saturating_sub(headers(to)).to_string();
        let words = ["-M", "do", "-c", "2", "-i", "0.2", "-s", &payload].map(str::to_owned);
        let text = ping(from, to, &words, Duration::from_secs(2))?;
        Ok(matches!(read_ping(&text), Some(Answer::Echo { received: 1.., .. })))
    };
    let found = || -> Result<Option<u32>, String> {
        if answers(most)? {
            return Ok(Some(most));
        }
        // What every host takes (RFC 791, RFC 8200).
        let (mut low, mut high) = (if to.is_ipv4() { 576 } else { 1280 }, most);
        if !answers(low)? {
            return Ok(None);
        }
        while high - low > 4 {
            let middle = low.midpoint(high);
            *(if answers(middle)? { &mut low } else { &mut high }) = middle;
        }
        Ok(Some(low))
    };
    match found() {
        Ok(bytes) => Answer::Largest { bytes },
        Err(error) => failed(error),
    }
}

fn ping(from: IpAddr, to: IpAddr, words: &[String], time: Duration) -> Result<String, String> {
    let mut command = Command::new("ping");
    command.args(["-n", "-q", "-W", "1", "-I", &from.to_string()]).args(words).arg(to.to_string());
    let output = output(&mut command, time + GRACE)?;
    let (text, errors) = (text(&output.stdout), text(&output.stderr));
    // 1: no answer.
    match output.status.code() {
        Some(0 | 1) => Ok(text),
        _ => Err(format!("`ping`: {}", last_line(&errors))),
    }
}

/// Reads the last lines of `ping -q`.
fn read_ping(text: &str) -> Option<Answer> {
    let line = text.lines().find(|line| line.contains(" packets transmitted"))?;
    let number = |part: &str| part.split_whitespace().next()?.parse::<u32>().ok();
    let mut parts = line.split(", ");
    let sent = number(parts.next()?)?;
    let received = number(parts.find(|part| part.contains("received"))?)?;
    let times = text.lines().find_map(|line| line.split_once(" = "));
    let mean = times.and_then(|(_, times)| times.split('/').nth(1)?.parse::<f64>().ok());
    Some(Answer::Echo { sent, received: received.min(sent), mean_ms: mean })
}

/// For fuzzing: reads bytes as what each program printed.
pub(crate) fn read_any(bytes: &[u8]) {
    let text = text(bytes);
    drop((read_ping(&text), read_iperf(bytes), read_pause(&text)));
}

/// Starts a receiver for one sender.
pub(crate) fn serve(at: IpAddr, port: u16) -> Result<std::process::Child, String> {
    let (at, port) = (at.to_string(), port.to_string());
    let mut command = Command::new("iperf3");
    command.args(["--server", "--one-off", "--forceflush", "--bind", &at, "--port", &port]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| absent("iperf3", &error))?;
    let mut said = String::new();
    let Some(output) = &mut child.stdout else { return Err("`iperf3` has no output".into()) };
    let mut bytes = [0; 256];
    while !said.contains("listening") {
        match output.read(&mut bytes) {
            Ok(1..) if said.len() > 4096 => break,
            Ok(read @ 1..) => said.push_str(&String::from_utf8_lossy(&bytes[..read])),
            _ => {
                let _ = child.kill();
                let output = child.wait_with_output().map_err(|error| error.to_string())?;
                let errors = text(&output.stderr);
                let first = errors.lines().find(|line| !line.trim().is_empty());
                return Err(format!(
                    "`iperf3`, port {port} of {at}: {}",
                    first.unwrap_or("it ended")
                ));
            }
        }
    }
    Ok(child)
}

/// Sends to a receiver for some seconds.
pub(crate) fn send(from: IpAddr, to: IpAddr, port: u16, seconds: u32) -> Answer {
    let [from, to, port, time] =
        [from.to_string(), to.to_string(), port.to_string(), seconds.to_string()];
    let mut command = Command::new("iperf3");
    command.args(["--client", &to, "--bind", &from, "--port", &port, "--time", &time, "--json"]);
    command.args(["--connect-timeout", "3000"]);
    let time = Duration::from_secs(u64::from(seconds)) + GRACE;
    match output(&mut command, time) {
        Ok(output) => read_iperf(&output.stdout)
            .unwrap_or_else(|| failed(format!("`iperf3`: {}", last_line(&text(&output.stderr))))),
        Err(error) => failed(error),
    }
}

/// Reads what `iperf3 --json` prints.
fn read_iperf(json: &[u8]) -> Option<Answer> {
    let said: Value = serde_json::from_slice(json).ok()?;
    if let Some(error) = said["error"].as_str() {
        return Some(failed(format!("`iperf3`: {error}")));
    }
    let bits_per_second = said["end"]["sum_received"]["bits_per_second"].as_f64()?;
    let resent = said["end"]["sum_sent"]["retransmits"].as_u64().unwrap_or(0);
    Some(Answer::Sent { bits_per_second, resent })
}

/// The state of a NIC.
pub(crate) fn nic(name: &str) -> NicState {
    let directory = Path::new("/sys/class/net").join(name);
    let text = |file: &str| {
        let text = fs::read_to_string(directory.join(file)).ok()?;
        Some(text.trim().to_owned())
    };
    let number = |file: &str| text(file)?.parse::<u64>().ok();
    let count = |file: &str| number(&format!("statistics/{file}")).unwrap_or(0);
    NicState {
        name: name.to_owned(),
        // -1: not known.
        speed: number("speed").filter(|speed| *speed > 0),
        duplex: text("duplex").filter(|duplex| duplex != "unknown"),
        mtu: number("mtu").and_then(|mtu| mtu.try_into().ok()),
        pause: pause(name),
        bytes: count("rx_bytes") + count("tx_bytes"),
        broken: count("rx_crc_errors") + count("rx_frame_errors") + count("rx_length_errors"),
        dropped: count("rx_missed_errors") + count("rx_over_errors") + count("rx_fifo_errors"),
    }
}

/// Whether a NIC obeys pause frames, by `ethtool` if that is there.
fn pause(name: &str) -> Option<bool> {
    let mut command = Command::new("ethtool");
    let output = output(command.args(["--show-pause", name]), GRACE).ok()?;
    read_pause(&text(&output.stdout))
}

fn read_pause(text: &str) -> Option<bool> {
    let of = text.lines().find_map(|line| line.strip_prefix("RX:"));
    of.map(|word| word.trim() == "on")
}

/// Runs a program in the C locale, at most for so long.
fn output(command: &mut Command, time: Duration) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| absent(&name, &error))?;
    let id = child.id();
    let until = Instant::now() + time;
    // What it prints must be read while it runs.
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let printed = scope.spawn(move || read(&mut stdout));
        let errors = scope.spawn(move || read(&mut stderr));
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(format!("`{name}` (process {id}) took longer than {time:?}"));
                }
                Err(error) => break Err(format!("`{name}`: {error}")),
            }
        };
        let stdout = printed.join().unwrap_or_default();
        let stderr = errors.join().unwrap_or_default();
        Ok(Output { status: status?, stdout, stderr })
    })
}

fn read(from: &mut Option<impl io::Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // What was read before an error is kept.
        let _ = from.read_to_end(&mut bytes);
    }
    bytes
}

fn absent(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("`{name}` is not installed (Debian: iputils-ping, iperf3)")
        }
        _ => format!("cannot start `{name}`: {error}"),
    }
}

pub(crate) const fn failed(why: String) -> Answer {
    Answer::Failed { why }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_ping_are_read() {
        let text = "PING 10.77.0.2 (10.77.0.2) from 10.77.0.1 : 56(84) bytes of data.\n\n\
            --- 10.77.0.2 ping statistics ---\n\
            200 packets transmitted, 198 received, 1% packet loss, time 1990ms\n\
            rtt min/avg/max/mdev = 0.021/0.034/0.077/0.011 ms\n";
        let expected = Answer::Echo { sent: 200, received: 198, mean_ms: Some(0.034) };
        assert_eq!(read_ping(text), Some(expected));
        let silent = "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 9ms\n";
        let expected = Answer::Echo { sent: 3, received: 0, mean_ms: None };
        assert_eq!(read_ping(silent), Some(expected));
        assert_eq!(read_ping("ping: unknown host"), None);
    }

    #[test]
    fn results_of_iperf3_are_read() {
        let good =
            br#"{"end":{"sum_sent":{"retransmits":3},"sum_received":{"bits_per_second":9.4e8}}}"#;
        let expected = Answer::Sent { bits_per_second: 9.4e8, resent: 3 };
        assert_eq!(read_iperf(good), Some(expected));
        let bad = br#"{"error":"unable to connect to server"}"#;
        assert!(matches!(read_iperf(bad), Some(Answer::Failed { why }) if why.contains("unable")));
        assert_eq!(read_iperf(b"{}"), None);
        assert_eq!(read_iperf(b"not json"), None);
    }

    #[test]
    fn pause_frames_are_read() {
        let text = "Pause parameters for eth0:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\n";
        assert_eq!(read_pause(text), Some(true));
        assert_eq!(read_pause(&text.replace("RX:\t\ton", "RX:\t\toff")), Some(false));
        assert_eq!(read_pause(""), None);
    }
}
