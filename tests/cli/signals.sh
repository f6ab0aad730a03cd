# Signals that come at random moments while the program works: it ends with status 1 and says which signal it was, within 2 seconds; nothing
# aborts, no unfinished file stays, a training leaves a checkpoint of its last whole step. VPD_SIGNALS (1): how many of each kind for each command.
. "$VPD_SOURCE/tests/cli/common"
signals=${VPD_SIGNALS:-1}
seconds_most=${VPD_STOP_SECONDS:-4} # from the signal to the end
. "$VPD_SOURCE/tests/cli/tiny_run"

now() { echo $(($(date +%s%N) / 1000000)); }
nap() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }

# Until the program waits for signals: it has SIGUSR1 (bit 9) blocked. Before, one ends it as it ends any program. (Bash
# blocks SIGTERM and SIGINT in a child that has not begun to be the program.)
wait_for_start() { # PID
  local blocked
  while blocked=$(sed -n 's/^SigBlk:\t*//p' "/proc/$1/status" 2>/dev/null) && [ $((0x0$blocked >> 9 & 1)) = 0 ]; do sleep 0.01; done
}

# cut SIGNAL MILLISECONDS COMMAND...: into $status, $took (milliseconds from the signal on) and $folder/stderr
cut() {
  local signal=$1 delay=$2 sent
  shift 2
  "$@" >/dev/null 2>"$folder/stderr" &
  local pid=$!
  wait_for_start $pid
  nap "$delay"
  sent=$(now)
  kill -s "$signal" $pid 2>/dev/null
  wait $pid
  status=$? took=$(($(now) - sent))
}

# each NAME MILLISECONDS COMMAND...: every kind of signal, at moments up to so many milliseconds after the start.
each() {
  local name=$1 most=$2 slowest=0 hit=0 i kind
  shift 2
  for ((i = 0; i < signals; i++)); do
    for kind in INT TERM HUP USR1; do
      rm -rf "$folder/out"
      mkdir "$folder/out"
      cut $kind $((RANDOM * most / 32768)) "$@"
      [ $status = 0 ] || [ $status = 1 ] || fail "$name: SIG$kind: exit status $status: $(tail -1 "$folder/stderr")"
      [ $status = 0 ] || grep -q "stopped by SIG$kind" "$folder/stderr" || fail "$name: SIG$kind: $(tail -1 "$folder/stderr")"
      [ $status = 1 ] && hit=$((hit + 1)) && [ $took -gt $slowest ] && slowest=$took
      [ -z "$(find "$folder/out" -name '*.tmp*')" ] || fail "$name: SIG$kind: left $(find "$folder/out" -name '*.tmp*')"
    done
  done
  [ $slowest -le $((seconds_most * 1000)) ] || fail "$name: it took $slowest ms to end"
  echo "$name: $signals of each kind, $hit of $((4 * signals)) while it ran, at most $slowest ms to the end"
}

expect 0 "*" "*" "$VPD" rollout -q "$run" "$data" --steps 2 -o "$folder/rollout.h5"
each "eval" 600 "$VPD" eval -q "$run" "$data" --split train,val,test
each "rollout" 300 "$VPD" rollout -q "$run" "$data" --steps 100000 -o "$folder/out/r.h5"
each "render" 2000 "$VPD" render -q "$folder/rollout.h5" --size 16384x16384 --step 1 --no-truth -o "$folder/out/film"
each "convert" 500 "$VPD" data convert -q "$data" --size 1024x1024 --force -o "$folder/out/c.h5"
each "dry run" 1000 "$VPD" train -q -d "$data" --dry-run --set model.preset=paper
each "bench" 1000 "$VPD" bench -q step --preset paper

# Training: the newest checkpoint is that of the last line of the log.
learn() { "$VPD" train -q --data "$data" -o "$folder/out/run" --threads 1 --set train.steps=100000 --set train.motion_steps=0 --set encoder.N=300 --set model.C=8 --set model.D=6 \
  --set "encoder.widths=[4,6]" --set gnn.M=16 --set gnn.L=1 --set "renderer.widths=[8,8]" --set renderer.S=4 --set renderer.K=4 --set "train.rollout=[1]" --set "train.rollout_from=[0]" \
  --set train.rays=8 --set train.log_every=1 --set train.picture_every=0 --set train.eval_every=0 --set train.checkpoint_every=100000 "$@"; }
last_line() { sed -n 's/^{"step":\([0-9]*\),"kind":"train".*/\1/p' "$folder/out/run/metrics.jsonl" 2>/dev/null | tail -1; }
is_saved() { # WHAT
  local step name=
  step=$(last_line)
  read -r name 2>/dev/null <"$folder/out/run/checkpoints/latest"
  [ "$name" = "$(printf 'step_%08d.h5' "${step:-0}")" ] || fail "$1: the log ends at step $step, the newest checkpoint is \"$name\""
}
saved=0
for ((i = 0; i < signals; i++)); do
  for kind in INT TERM HUP USR1; do
    rm -rf "$folder/out"
    mkdir "$folder/out"
    (exec 2>"$folder/stderr"; learn) &
    pid=$!
    until [ -n "$(last_line)" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    nap $((RANDOM * 200 / 32768))
    pkill -$kind -P $pid
    wait $pid
    status=$?
    [ $status = 1 ] && grep -q "stopped by SIG$kind" "$folder/stderr" || fail "train: SIG$kind: exit status $status: $(tail -1 "$folder/stderr")"
    grep -q "go on with \"vpd train -o $folder/out/run --resume\"" "$folder/stderr" || fail "train: not how to go on: $(tail -1 "$folder/stderr")"
    is_saved "SIG$kind" && saved=$((saved + 1))
  done
done
echo "train: $signals of each kind, $saved of $((4 * signals)) saved"

# A reader that goes away is a signal too.
rm -rf "$folder/out"
mkdir "$folder/out"
learn --json 2>"$folder/stderr" | head -n 1 >"$folder/first"
[ "${PIPESTATUS[0]}" = 1 ] || fail "a closed pipe: exit status ${PIPESTATUS[0]}"
grep -q "reader of standard output has gone" "$folder/stderr" || fail "a closed pipe: $(tail -1 "$folder/stderr")"
is_saved "a closed pipe"
finish
