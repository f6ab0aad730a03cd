# `vpd train` on data that have grown: with the motion of the run before, only new episodes are measured, and each loss and weight has the bits of a run
# that measured all.
. "$VPD_SOURCE/tests/cli/common"

mkdir "$folder/data"
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split train:2,val:1,test:0 --frames 9 -o "$folder/data/sample.h5"
cat >"$folder/config.yaml" <<E2
model: {C: 8, D: 6}
encoder: {N: 300, widths: [4, 6]}
gnn: {M: 16, L: 1}
renderer: {widths: [8, 8], S: 4, K: 4}
train: {steps: 4, motion_steps: 2, rollout: [1, 2], rollout_from: [0, 0.5], rays: 8, log_every: 1, picture_every: 0, keep: 9}
E2
train() { "$VPD" train "$folder/config.yaml" -d "$folder/data" --threads 1 "$@"; }
last=checkpoints/step_00000004.h5
losses() { sed -n 's/.*"step":\([0-9]*\),"kind":"\([a-z]*\)".*"\(loss\|score\)":\([^,]*\),.*/\1 \2 \4/p' "$1/metrics.jsonl"; }
# The same bits as those of the run `fresh`.
same_as_fresh() {
  [ "$(losses "$folder/fresh" | wc -l)" = 5 ] && [ "$(losses "$1")" = "$(losses "$folder/fresh")" ] || fail "losses of $1: $(losses "$1" | diff - <(losses "$folder/fresh"))"
  [ "$(weights "$1/$last")" = "$(weights "$folder/fresh/$last")" ] || fail "weights of $1 differ"
}
begin_with_motion() { mkdir "$folder/$1" && cp "$folder/$2/motion.bin" "$folder/$1"; } # RUN OF_RUN

expect 0 "" "*" train -q -o "$folder/first"
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_more.h5" --split train:2,val:0,test:0 --frames 9 -o "$folder/data/more.h5"
expect 0 "" "*" train -q -o "$folder/fresh"
[ "$(losses "$folder/first")" = "$(losses "$folder/fresh")" ] && fail "more data change nothing"

begin_with_motion grown first
expect 0 "*" "*" train -q -o "$folder/grown" --dry-run
cmp -s "$folder/first/motion.bin" "$folder/grown/motion.bin" || fail "a dry run changed motion.bin"
expect 0 "*" "grown/motion.bin: motion of 2 of 4 episodes is kept, that of the others is measured" train -o "$folder/grown"
same_as_fresh "$folder/grown"

begin_with_motion touched grown
touch "$folder/data/more.h5"
expect 0 "*" "touched/motion.bin: motion of 2 of 4 episodes is kept" train -o "$folder/touched"
same_as_fresh "$folder/touched"

# Fewer episodes: nothing is said, measured or written.
begin_with_motion less touched
mv "$folder/data/more.h5" "$folder"
expect 0 "*" "*" train -o "$folder/less"
grep -q "motion.bin" "$folder/stderr" && fail "something is said of motion.bin: $(cat "$folder/stderr")"
[ "$(losses "$folder/less")" = "$(losses "$folder/first")" ] || fail "losses without the new file: $(losses "$folder/less" | diff - <(losses "$folder/first"))"
cmp -s "$folder/less/motion.bin" "$folder/touched/motion.bin" || fail "motion.bin changed though nothing is new"
finish
