# SIGKILL at many moments of one training run: every time it goes on from its newest checkpoint, and in the end losses and weights are those of a
# run that nobody stopped. VPD_KILLS (8) says how many.
. "$VPD_SOURCE/tests/cli/common"
kills=${VPD_KILLS:-8}

data=$folder/data.h5
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split train:2,val:1,test:0 --frames 9 -o "$data"
cat >"$folder/config.yaml" <<E2
model: {C: 8, D: 6}
encoder: {N: 300, widths: [4, 6]}
gnn: {M: 16, L: 1}
renderer: {widths: [8, 8]}
train: {steps: $((3 * kills)), rollout: [1], rollout_from: [0], rays: 8, log_every: 1, picture_every: 0, eval_every: 0, checkpoint_every: 2}
E2
train() { "$VPD" train "$folder/config.yaml" -q -d "$data" --threads 1 "$@"; }
train_apart() { exec "$VPD" train "$folder/config.yaml" -q -d "$data" --threads 1 "$@"; } # its process is the one to kill
losses() { sed -n 's/.*"step":\([0-9]*\),"kind":"train","loss":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }
last=$(printf 'checkpoints/step_%08d.h5' $((3 * kills)))
weights() {
  "$VPD" export -q --raw "$1/$last" --safetensors "$folder/w.safetensors" || return 1
  tail -c +$(($(od -An -tu8 -N8 "$folder/w.safetensors") + 9)) "$folder/w.safetensors" | cksum
}
steps_saved() { local name; name=$(cat "$folder/killed/checkpoints/latest" 2>/dev/null) || { echo 0; return; }; name=${name#step_}; echo $((10#${name%.h5})); }

start=$(date +%s%N)
expect 0 "" "*" train -o "$folder/whole"
milliseconds=$((($(date +%s%N) - start) / 1000000))

# Each piece is killed after another time, by a golden-ratio sequence: during the start, steps, and saving (about half of this run's time).
done_kills=0 finished=0 resume=()
for ((i = 0; i < 10 * kills && done_kills < kills && !finished; i++)); do
  before=$(steps_saved)
  train_apart -o "$folder/killed" "${resume[@]}" 2>"$folder/stderr" &
  pid=$!
  wait_ms=$((20 + i * 618 % 1000 * (400 + 3 * milliseconds / kills) / 1000))
  sleep "$((wait_ms / 1000)).$(printf %03d $((wait_ms % 1000)))"
  kill -9 $pid 2>/dev/null && done_kills=$((done_kills + 1))
  wait $pid 2>/dev/null
  status=$?
  [ $status = 0 ] && finished=1
  [ $status = 0 ] || [ $status = 137 ] || { fail "kill $i: exit status $status: $(head -c 300 "$folder/stderr")"; break; }
  after=$(steps_saved)
  [ "$after" -ge "$before" ] || fail "kill $i: the newest checkpoint fell from step $before to $after"
  [ -e "$folder/killed/config.yaml" ] && [ -e "$folder/killed/checkpoints/latest" ] && resume=(--resume)
  [ ${#resume[@]} = 0 ] && rm -rf "$folder/killed"
done
echo "$done_kills kills up to step $(steps_saved) of $((3 * kills))"
[ "$done_kills" -ge $((kills / 2)) ] || fail "only $done_kills kills before the run ended"
[ $finished = 1 ] || expect 0 "" "*" train -o "$folder/killed" "${resume[@]}"
[ "$(losses "$folder/killed" | sort -n | uniq)" = "$(losses "$folder/whole")" ] || fail "losses differ: $(losses "$folder/killed" | sort -n | uniq | diff - <(losses "$folder/whole") | head -5)"
[ "$(losses "$folder/killed" | wc -l)" = "$(losses "$folder/whole" | wc -l)" ] || fail "steps stand twice in metrics.jsonl"
[ "$(weights "$folder/killed")" = "$(weights "$folder/whole")" ] || fail "weights differ"
finish
