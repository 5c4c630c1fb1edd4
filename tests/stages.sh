# Read by scripts that run many tests: every stage runs, and a table at the end says how long each took
# and whether all went well.
#
#   stage NAME COMMAND...   runs a stage: a program and its arguments. Exit code 77: it cannot run on this
#                           machine, which fails where CI=true. After STAGE_LIMIT seconds it is ended, with all
#                           that it started in its process group, and has failed.
#   stages_end              the table; fails where a stage failed, or was put off
#   stage_kill              ends the stage that runs: what SIGINT, SIGTERM and SIGHUP do, and traps of scripts
#   $tests                  runs tests; the same packages in every call: others would have other features, and
#                           compile anew
#
# `STAGES_DONE`, a file, holds the names of stages that went well: they are not run again. Stages that would
# begin more than STAGES_MINUTES after the first one are put off. With both, run after run goes on.
#
# A lane is such a script that runs beside another one, with `LANE=name` in its environment: it shows what
# a stage said when that has ended. `STAGES`, one file for all lanes, holds a line for each stage. What the
# stages that failed said last is shown once more before the table, and its last lines after it, as logs are
# often cut at their beginning.

if [ -z "${STAGES:-}" ]; then
    STAGES=$(mktemp) STAGES_BEGAN=$(date +%s)
    export STAGES STAGES_BEGAN
fi

tests='cargo test --workspace --locked'

stage() {
    stage_name=$1
    shift
    stage_began=$(date +%s)
    if [ -n "${STAGES_DONE:-}" ] && grep -qxF "$stage_name" "$STAGES_DONE"; then
        printf '%s|0|ok in an earlier run|%s\n' "$stage_name" "${LANE:-}" >>"$STAGES"
        return
    fi
    if [ $((stage_began - STAGES_BEGAN)) -gt $((${STAGES_MINUTES:-1440} * 60)) ]; then
        printf '%s|0|put off: run it again|%s\n' "$stage_name" "${LANE:-}" >>"$STAGES"
        return 1
    fi
    echo "== stage $stage_name${LANE:+ (beside)}"
    stage_said=$STAGES.${LANE:-here}
    : >"$stage_said"
    # Waiting, unlike a program in the foreground, lets traps act at once.
    timeout --kill-after 30 "${STAGE_LIMIT:-2400}" "$@" >"$stage_said" 2>&1 &
    stage_pid=$!
    stage_tail=
    if [ -z "${LANE:-}" ]; then
        tail --lines +1 --follow --pid "$stage_pid" --sleep-interval 0.2 "$stage_said" &
        stage_tail=$!
    fi
    wait "$stage_pid"
    stage_code=$?
    stage_pid=
    if [ -n "$stage_tail" ]; then
        wait "$stage_tail"
    else
        echo "== stage $stage_name said"
        cat "$stage_said"
    fi
    case $stage_code in
    0) stage_result=ok ;;
    77) if [ "${CI:-}" = true ]; then stage_result='FAILED: not run'; else stage_result='not run'; fi ;;
    *)
        stage_result=FAILED
        # What timeout(1) says where it had to end a program, politely or not.
        case $stage_code in 124 | 137) stage_result='FAILED: not done in time' ;; esac
        printf '\n== stage %s failed; it ended with\n' "$stage_name" >>"$STAGES.failed"
        tail -n 60 "$stage_said" >>"$STAGES.failed"
        printf '%s:\n' "$stage_name" >>"$STAGES.last"
        tail -n 5 "$stage_said" | cut -c -300 >>"$STAGES.last"
        ;;
    esac
    rm -f "$stage_said"
    stage_seconds=$(($(date +%s) - stage_began))
    printf '%s|%s|%s|%s\n' "$stage_name" "$stage_seconds" "$stage_result" "${LANE:-}" >>"$STAGES"
    echo "== stage $stage_name: $stage_result after $stage_seconds s"
    [ "$stage_code" = 0 ] || return 1
    [ -z "${STAGES_DONE:-}" ] || echo "$stage_name" >>"$STAGES_DONE"
}

stage_kill() {
    [ -n "${stage_pid:-}" ] || return 0
    kill -TERM "$stage_pid" 2>/dev/null
    if [ -n "${LANE:-}" ]; then
        echo "== stage $stage_name is ended; it said last"
        tail -n 20 "$stage_said"
    fi
}
trap 'stage_kill; exit 130' INT TERM HUP

stages_end() {
    [ ! -e "$STAGES.failed" ] || cat "$STAGES.failed"
    printf '\n%-28s %7s  %s\n' stage seconds result
    while IFS='|' read -r name seconds result lane; do
        printf '%-28s %7s  %s%s\n' "$name" "$seconds" "$result" "${lane:+, beside}"
    done <"$STAGES"
    printf '%-28s %7s\n' 'all, by the clock' $(($(date +%s) - STAGES_BEGAN))
    stage_failed=$(grep -c '|FAILED' "$STAGES")
    stage_later=$(grep -c '|put off' "$STAGES")
    [ ! -e "$STAGES.last" ] || cat "$STAGES.last" >&2
    rm -f "$STAGES" "$STAGES.failed" "$STAGES.last"
    [ "$stage_failed" = 0 ] || {
        echo "$stage_failed of them failed" >&2
        return 1
    }
    [ "$stage_later" = 0 ] || {
        echo "$stage_later of them put off: the same command goes on" >&2
        return 75
    }
}
