# Read by the trials in the container of boot.sh: what both of them say and wait for.

# Ends the trial with the reason, and with what the daemon said.
bad() {
    echo "FAILED $*"
    systemctl status --no-pager tressed || true
    journalctl --no-pager -u tressed | tail -n 30
    exit 1
}
# Waits up to 20 s for a command to succeed.
until_seen() {
    for _ in $(seq 100); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.2
    done
    return 1
}
