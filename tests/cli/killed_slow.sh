# SIGKILL at many moments of one training run: every time it goes on from its newest checkpoint, and in the end losses and weights are those of a
# run that nobody stopped. VPD_KILLS (8) says how many; the run is three steps long for two of them, and saves every second step.
. "$VPD_SOURCE/tests/cli/common"
kills=${VPD_KILLS:-8}
steps=$((3 * kills / 2))

data=$folder/data.h5
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split train:2,val:1,test:0 --frames 9 -o "$data"
cat >"$folder/config.yaml" <<E2
model: {C: 8, D: 6}
encoder: {N: 300, widths: [4, 6]}
gnn: {M: 16, L: 1}
renderer: {widths: [8, 8], S: 4, K: 4}
train: {steps: $steps, motion_steps: 0, rollout: [1], rollout_from: [0], rays: 8, log_every: 1, picture_every: 0, eval_every: 0, checkpoint_every: 2}
E2
train() { "$VPD" train "$folder/config.yaml" -q -d "$data" --threads 1 "$@"; }
train_apart() { exec "$VPD" train "$folder/config.yaml" -q -d "$data" --threads 1 "$@"; } # its process is the one to kill
losses() { sed -n 's/.*"step":\([0-9]*\),"kind":"train","loss":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }
last=$(printf 'checkpoints/step_%08d.h5' $steps)
steps_saved() { # into $saved, without a process: it is asked every 10 ms
  local name=
  read -r name 2>/dev/null <"$folder/killed/checkpoints/latest"
  name=${name#step_} name=${name%.h5} saved=$((10#0${name}))
}
writes_file() { compgen -G "$folder/killed/checkpoints/*.$pid-*.tmp" >/dev/null; } # an unfinished file of the piece is there
pause() { sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"; }

start=$(date +%s%N)
expect 0 "" "*" train -o "$folder/whole"
milliseconds=$((($(date +%s%N) - start) / 1000000))

# Of four pieces one is killed at some moment of its first half second (start, reading of the checkpoint), one while it writes a file, two once they
# have saved, at some moment of the two steps and the save that follow: all of the run is covered. Moments by a golden-ratio sequence.
interval=$((milliseconds * 2 / steps))
done_kills=0 finished=0 in_save=0 resume=()
for ((i = 0; i < 10 * kills && done_kills < kills && !finished; i++)); do
  steps_saved; before=$saved
  train_apart -o "$folder/killed" "${resume[@]}" 2>"$folder/stderr" &
  pid=$!
  share=$((i * 618 % 1000))
  case $((i % 4)) in
    0) pause $((share / 2)) ;;
    1) until writes_file || ! kill -0 $pid 2>/dev/null; do :; done ;;
    *)
      while [ "$saved" = "$before" ] && kill -0 $pid 2>/dev/null; do sleep 0.01; steps_saved; done
      pause $((share * interval / 1000))
      ;;
  esac
  kill -9 $pid 2>/dev/null && done_kills=$((done_kills + 1))
  wait $pid 2>/dev/null
  status=$?
  [ $status = 0 ] && finished=1
  [ $status = 0 ] || [ $status = 137 ] || { fail "kill $i: exit status $status: $(head -c 300 "$folder/stderr")"; break; }
  steps_saved; after=$saved
  [ "$after" -ge "$before" ] || fail "kill $i: the newest checkpoint fell from step $before to $after"
  writes_file && in_save=$((in_save + 1))
  [ -e "$folder/killed/config.yaml" ] && [ -e "$folder/killed/checkpoints/latest" ] && resume=(--resume)
done
steps_saved
echo "$done_kills kills up to step $saved of $steps, $in_save of them while a checkpoint was being written"
[ "$done_kills" -ge $((kills / 2)) ] || fail "only $done_kills kills before the run ended"
[ $finished = 1 ] || expect 0 "" "*" train -o "$folder/killed" "${resume[@]}"
[ "$(losses "$folder/killed" | sort -n | uniq)" = "$(losses "$folder/whole")" ] || fail "losses differ: $(losses "$folder/killed" | sort -n | uniq | diff - <(losses "$folder/whole") | head -5)"
[ "$(losses "$folder/killed" | wc -l)" = "$(losses "$folder/whole" | wc -l)" ] || fail "steps stand twice in metrics.jsonl"
[ "$(weights "$folder/killed/$last")" = "$(weights "$folder/whole/$last")" ] || fail "weights differ"
finish
