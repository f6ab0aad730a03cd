# Faults of a job of several processes: one is killed, one is slow, the disk of rank 0 is full, mpirun gets a signal. The last checkpoint stays whole.
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/ranks_job"

tiny_job "steps: 1000000, motion_steps: 0, batch: 2, rollout: [1], rollout_from: [0], rays: 8, log_every: 1, picture_every: 0, checkpoint_every: 2"
steps() { cat "$1/metrics.jsonl" 2>/dev/null | grep -c '"kind":"train"'; }
wait_for_step() { # FOLDER STEP PROCESS
  while [ "$(steps "$1")" -lt "$2" ] && kill -0 "$3" 2>/dev/null; do sleep 0.05; done
}
rank_of() { # MPIRUN RANK
  for child in $(pgrep -P "$1"); do
    tr '\0' '\n' <"/proc/$child/environ" | grep -q "^OMPI_COMM_WORLD_RANK=$2\$" && echo "$child"
  done
}
goes_on() { # FOLDER
  local last
  last=$(sed 's/^step_0*//; s/\.h5$//' "$1/checkpoints/latest")
  expect 0 "" "*" "$VPD" train -q --threads 1 -o "$1" --resume --set train.steps=$((last + 1))
}

# Killed: mpirun ends the other, and the run goes on from the last checkpoint.
mpirun -n 2 "$VPD" $run -o "$folder/killed" 2>"$folder/stderr" >&2 &
pid=$!
wait_for_step "$folder/killed" 5 $pid
kill -9 "$(rank_of $pid 1)"
wait $pid && fail "a job with a killed process must not exit with 0"
grep -q "rank 1 .*signal 9" "$folder/stderr" || fail "the rank that was killed is not named: $(head -c 600 "$folder/stderr")"
pgrep -P $pid >/dev/null && fail "processes are left"
goes_on "$folder/killed"

# Slow: the rank that computes half as fast, because it is halted again and again, is named.
mpirun -q -n 2 "$VPD" $run -o "$folder/slow" 2>"$folder/stderr" &
pid=$!
wait_for_step "$folder/slow" 1 $pid
slow=$(rank_of $pid 1)
for ((i = 0; i < 300; i++)); do
  kill -0 "$slow" || break
  grep -q "warning: rank 1 (" "$folder/stderr" && break
  kill -STOP "$slow"; sleep 0.08; kill -CONT "$slow"; sleep 0.02
done
grep -q "warning: rank 1 (" "$folder/stderr" || fail "the slow rank is not named: $(head -c 600 "$folder/stderr")"

# USR1 to mpirun: all stop as one, and the last step is saved.
kill -USR1 $pid
wait $pid && fail "a stopped run must not exit with 0"
[ "$(grep -c "stopped by SIGUSR1 after step [0-9]*, which is saved" "$folder/stderr")" = 1 ] || fail "one sentence expected: $(head -c 600 "$folder/stderr")"
goes_on "$folder/slow"

# TERM to mpirun, which the ranks hear late (docs/cluster.md): they save, too.
OMPI_MCA_odls_base_sigkill_timeout=5 mpirun -q -n 2 "$VPD" $run -o "$folder/term" 2>"$folder/stderr" &
pid=$!
wait_for_step "$folder/term" 3 $pid
kill -TERM $pid
wait $pid && fail "a stopped run must not exit with 0"
[ "$(grep -c "stopped by SIGTERM after step [0-9]*, which is saved" "$folder/stderr")" = 1 ] || fail "one sentence expected: $(head -c 600 "$folder/stderr")"
goes_on "$folder/term"

# A full disk: rank 0 alone writes, and all end with its sentence; the checkpoint before is whole.
mkdir "$folder/disk"
bytes=$(stat -c %s "$folder/killed/checkpoints/$(cat "$folder/killed/checkpoints/latest")")
if mount -t tmpfs -o size=$((bytes * 5 / 2)) tmpfs "$folder/disk" 2>/dev/null; then
  trap 'umount "$folder/disk"; rm -rf "$folder"' EXIT
  expect 1 "" "No space left on device" ranks 2 "$VPD" $run -o "$folder/disk/run"
  [ "$(grep -c '^vpd: ' "$folder/stderr")" = 1 ] || fail "one line expected: $(cat "$folder/stderr")"
  cp -r "$folder/disk/run" "$folder/full" && goes_on "$folder/full"
else
  echo "the full disk is left out: no tmpfs can be mounted here"
fi
finish
