# `vpd train`: a stopped run goes on bit for bit, a killed one loses at most the steps since its checkpoint, and wrong input is one sentence.
. "$VPD_SOURCE/tests/cli/common"

data=$folder/data.h5
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split train:2,val:1,test:0 --frames 9 -o "$data"
cat >"$folder/config.yaml" <<E2
model: {C: 8, D: 6}
encoder: {N: 300, widths: [4, 6]}
gnn: {M: 16, L: 1}
renderer: {widths: [8, 8], S: 4, K: 4}
train: {steps: 8, motion_steps: 0, rollout: [1, 2], rollout_from: [0, 0.5], rays: 8, log_every: 1, picture_every: 0, checkpoint_every: 2}
E2
train() { "$VPD" train "$folder/config.yaml" -q -d "$data" --threads 2 "$@"; }
# Losses by step, without times and speeds.
losses() { sed -n 's/.*"step":\([0-9]*\),"kind":"train","loss":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }

expect 0 "" "*" train -o "$folder/whole"
[ "$(losses "$folder/whole" | wc -l)" = 8 ] || fail "8 lines of losses expected: $(losses "$folder/whole")"
[ "$(grep -c '"waiting":\(0\.[0-9]\|[0-9.]*e-\)' "$folder/whole/metrics.jsonl")" = 8 ] || fail "8 shares of time that steps waited for data expected"

# Stopped by a signal after 3 steps or so: a checkpoint of the last whole step, exit status 1, the same losses after --resume.
lines() { local n; n=$(losses "$1" 2>/dev/null | wc -l); echo "${n:-0}"; }
"$VPD" train "$folder/config.yaml" -q -d "$data" --threads 2 -o "$folder/stopped" 2>"$folder/stderr" &
pid=$!
while [ "$(lines "$folder/stopped")" -lt 3 ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -TERM $pid 2>/dev/null
wait $pid
[ $? = 1 ] || fail "a stopped run must exit with 1: $(cat "$folder/stderr")"
grep -q "stopped by SIGTERM after step [3-8], which is saved; go on with \"vpd train -o $folder/stopped --resume\"" "$folder/stderr" ||
  fail "the message must name the signal, the step and how to go on: $(cat "$folder/stderr")"
expect 0 "" "*" train -o "$folder/stopped" --resume
[ "$(losses "$folder/stopped")" = "$(losses "$folder/whole")" ] || fail "losses differ after a stop: $(losses "$folder/stopped" | diff - <(losses "$folder/whole"))"
[ "$(weights "$folder/stopped/checkpoints/step_00000008.h5")" = "$(weights "$folder/whole/checkpoints/step_00000008.h5")" ] || fail "weights differ after a stop"

# Killed before the first checkpoint that is due: goes on from the weights that it began with.
"$VPD" train "$folder/config.yaml" -q -d "$data" --threads 2 --set train.checkpoint_every=100 -o "$folder/early" 2>"$folder/stderr" &
pid=$!
while [ "$(lines "$folder/early")" -lt 1 ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
expect 0 "" "*" train -o "$folder/early" --resume
[ "$(losses "$folder/early")" = "$(losses "$folder/whole")" ] || fail "losses differ after an early kill: $(losses "$folder/early" | diff - <(losses "$folder/whole"))"

# Killed: goes on from the newest checkpoint.
"$VPD" train "$folder/config.yaml" -q -d "$data" --threads 2 -o "$folder/killed" 2>/dev/null &
pid=$!
while [ ! -e "$folder/killed/checkpoints/latest" ] && kill -0 $pid 2>/dev/null; do sleep 0.02; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
expect 0 "" "*" train -o "$folder/killed" --resume
[ "$(losses "$folder/killed")" = "$(losses "$folder/whole")" ] || fail "losses differ after a kill"

# The planted difference: another seed.
expect 0 "" "*" train -o "$folder/other" --set train.seed=2
[ "$(losses "$folder/other")" = "$(losses "$folder/whole")" ] && fail "another seed gives the same losses"
[ "$(weights "$folder/other/checkpoints/step_00000008.h5")" = "$(weights "$folder/whole/checkpoints/step_00000008.h5")" ] && fail "another seed gives the same weights"

# Motion alone first, in a turned world, then with images: finite losses, the same twice, and a stop in either phase changes no bit.
motion() { train --set train.motion_steps=4 --set train.turn=z --set train.steps=7 --set train.keep=9 "$@"; }
expect 0 "" "*" motion -o "$folder/motion"
expect 0 "" "*" motion -o "$folder/again"
[ "$(weights "$folder/motion/checkpoints/step_00000007.h5")" = "$(weights "$folder/again/checkpoints/step_00000007.h5")" ] || fail "two runs of motion differ"
[ "$(losses "$folder/motion" | wc -l)" = 7 ] || fail "7 lines of losses expected"
losses "$folder/motion" | grep -qi "nan\|inf\|null" && fail "losses are not finite: $(losses "$folder/motion")"
psnr() { grep -c "\"step\":[$2],\"kind\":\"train\".*psnr_" "$1/metrics.jsonl"; }
[ "$(psnr "$folder/motion" 1-4)" = 0 ] || fail "PSNR in the log of motion alone"
[ "$(psnr "$folder/motion" 5-7)" = 3 ] || fail "no PSNR in the log behind it"
for last in 2 4 6; do
  mkdir -p "$folder/from$last/checkpoints"
  cp "$folder/motion/checkpoints/step_0000000$last.h5" "$folder/from$last/checkpoints"
  echo "step_0000000$last.h5" >"$folder/from$last/checkpoints/latest"
  expect 0 "" "*" motion -o "$folder/from$last" --resume
  [ "$(weights "$folder/from$last/checkpoints/step_00000007.h5")" = "$(weights "$folder/motion/checkpoints/step_00000007.h5")" ] || fail "weights differ when going on from step $last"
done
expect 0 "" "*" motion -o "$folder/unturned" --set train.turn=none
[ "$(weights "$folder/motion/checkpoints/step_00000007.h5")" = "$(weights "$folder/unturned/checkpoints/step_00000007.h5")" ] && fail "turns change nothing"

# Other uses.
expect 0 "seconds_per_step" "*" train --dry-run
expect 0 "seconds_per_step" "; 8 steps with pictures: " "$VPD" train "$folder/config.yaml" -d "$data" --threads 2 --dry-run -o "$folder/dry"
[ "$(cat "$folder/stdout" "$folder/stderr" | grep -c "^data.extent ")" = 1 ] || fail "a dry run does not print lengths once: $(cat "$folder/stdout" "$folder/stderr")"
[ -e "$folder/dry" ] && fail "a dry run left something behind"
# What a run refuses, a dry run refuses.
dry() { "$VPD" train "$folder/config.yaml" -q -d "$data" --threads 2 --dry-run -o "$1"; }
mkdir "$folder/taken"
echo "mine: 1" >"$folder/taken/config.yaml"
expect 2 "" "this folder holds a run already; continue it with --resume" dry "$folder/whole"
expect 2 "" "config.yaml: this file exists and is not" dry "$folder/taken"
expect 2 "" "$data: cannot create the folder" dry "$data"
expect 2 "" "$data/a/b: cannot create the folder" dry "$data/a/b"
expect 0 "" "*" train -o "$folder/tuned" --init "$folder/whole" --set train.steps=1 --set train.freeze=encoder
# The renderer's radius belongs to a number of particles.
radius_from() { # PARTICLES
  "$VPD" train "$folder/config.yaml" -q -d "$data" --threads 2 --init "$folder/whole" --set encoder.N="$1" --dry-run | sed -n 's/^renderer.radius .*(\(.*\))$/\1/p'
}
[ "$(radius_from 300)" = checkpoint ] || fail "the radius for as many particles is not the checkpoint's: $(radius_from 300)"
[ "$(radius_from 100)" = data ] || fail "the radius for fewer particles is not measured: $(radius_from 100)"
# A run's config.yaml as the config of another: what was measured is measured again, what was given stays.
template() { "$VPD" train "$folder/$1/config.yaml" -o "$folder/dry" -q -d "$data" --threads 2 --set encoder.N=100 --dry-run | grep '^\(renderer.radius\|data.extent\) '; }
grep -q '^#   renderer.radius *0\.[0-9]* m$' "$folder/whole/config.yaml" || fail "config.yaml does not tell the radius"
[ "$(template whole | grep -c '(data)$')" = 2 ] || fail "lengths of a run's config are not measured again: $(template whole)"
expect 0 "" "*" train -o "$folder/given" --set train.steps=1 --set renderer.radius=0.25
template given | grep -q '^renderer.radius  *0\.25 .*(config file)$' || fail "a radius that was given does not stay: $(template given)"
# Dynamics of one run and the rest of another, both ways; nothing is trained.
started() {
  expect 0 "" "*" train -o "$folder/$1" --init "$folder/$2" --set train.steps=1 --set train.freeze=encoder,gnn,renderer --set train.init_motion="$3"
  weights "$folder/$1/checkpoints/step_00000001.h5" >"$folder/$1.weights"
}
started from_whole whole ""
started from_other other ""
started mixed whole "$folder/other"
started mixed_back mixed "$folder/whole"
started dynamics_alone other "$folder/mixed"
cmp -s "$folder/mixed.weights" "$folder/from_whole.weights" && fail "train.init_motion changes nothing"
cmp -s "$folder/mixed.weights" "$folder/from_other.weights" && fail "train.init_motion changes everything"
cmp "$folder/mixed_back.weights" "$folder/from_whole.weights" || fail "train.init_motion changes more than dynamics"
cmp "$folder/dynamics_alone.weights" "$folder/from_other.weights" || fail "train.init_motion does not change all of the dynamics"
# The other one's encoder and renderer may have any sizes.
expect 0 "" "*" train -o "$folder/drawn" --set train.steps=1 --set encoder.widths=[6,8] --set renderer.widths=[4,4]
expect 0 "" "*" train -o "$folder/of_drawn" --init "$folder/whole" --set train.steps=1 --set train.init_motion="$folder/drawn"
expect 2 "" "model.C" train -o "$folder/x" --init "$folder/whole" --set train.init_motion="$folder/drawn" --set model.C=9
expect 0 "" "*" train -o "$folder/shorter" --set train.steps=1 --set data.extent=1
expect 2 "" "gnn.length_scale" train -o "$folder/x" --init "$folder/whole" --set train.init_motion="$folder/shorter"

# A run goes on with its own config; what is given goes over it, and what may not change is named.
expect 0 "" "is complete" "$VPD" train -o "$folder/whole" --resume --threads 2
expect 0 "" "*" "$VPD" train -q -o "$folder/whole" --resume --set train.steps=9 --threads 2
[ "$(losses "$folder/whole" | wc -l)" = 9 ] || fail "9 lines of losses expected: $(losses "$folder/whole")"
expect 2 "" "(1 difference): model.C: 8 the checkpoint, 9 the config; a run keeps its model, so leave these options out" "$VPD" train -q -o "$folder/whole" --resume --set model.C=9
expect 2 "" "data.extent: expected 2 m" "$VPD" train -q -o "$folder/whole" --resume --set data.extent=3 --set train.steps=20
expect 2 "" "expected the folder of a run to resume, found none" "$VPD" train -o "$folder/nothing" --resume
[ -e "$folder/nothing" ] && fail "a resume of nothing made a folder"
expect 2 "" "name it with -o" "$VPD" train --resume

# An average may begin later.
expect 0 "" "*" train -o "$folder/later" --set train.steps=1 --set train.ema=0
expect 0 "" "*" "$VPD" train -q -o "$folder/later" --resume --set train.steps=2 --set train.ema=0.5 --threads 2

# A preset gives way to what is said, in any order; a dry run says where values come from.
"$VPD" train "$folder/config.yaml" -q -d "$data" --threads 2 --set encoder.N=200 --set model.preset=small --set train.steps=1 --dry-run >"$folder/dry.txt" || fail "no dry run"
for line in "model.preset small (command line)" "encoder.N 200 particles (command line)" "model.C 8 (config file)" "gnn.L 1 rounds (config file)" "renderer.radius * (data)"; do
  tr -s " " <"$folder/dry.txt" | grep -q "^${line//\*/.*}" || fail "a line \"$line\" expected in: $(cat "$folder/dry.txt")"
done
grep -q "encoder.sampling" "$folder/dry.txt" && fail "a default in the list of what is none"
"$VPD" train -q -d "$data" --threads 2 --set model.preset=tiny --set encoder.N=200 --set train.steps=0 --dry-run >"$folder/dry.txt" || fail "no dry run"
grep -q "model.C *64 *(preset)" "$folder/dry.txt" || fail "no preset in: $(cat "$folder/dry.txt")"

# Wrong input: exit status 2 and one sentence.
expect 2 "" "train.out" train
expect 2 "" "train.motion_steps: expected 0, found 2; only bodies (gnn.graph=bodies, model.T of 2 or more) learn motion before pictures" train -o "$folder/x" --set train.motion_steps=2 --set gnn.graph=flat
expect 2 "" "did you mean" train -o "$folder/x" --set train.stepz=3
expect 2 "" "at least" train -o "$folder/x" --set "train.rollout=[40]" --set "train.rollout_from=[0]"
expect 2 "" "differences" train -o "$folder/whole" --resume --set model.C=16 --set gnn.L=2
expect 2 "" "this folder holds a run already" "$VPD" train "$folder/config.yaml" -d "$data" -o "$folder/whole"
grep -q "memory: about" "$folder/stderr" && fail "memory is told before the folder is looked at: $(cat "$folder/stderr")"
expect 2 "" "data.path" "$VPD" train "$folder/config.yaml" -o "$folder/x"
expect 2 "" "*" train -o "$folder/x" --init "$data"
expect 2 "" "*" "$VPD" train "$folder/config.yaml" -d "$folder/missing.h5" -o "$folder/x"
expect 2 "" "*" train -o /proc/nowhere

# What is refused leaves nothing behind: neither a folder nor, in a folder that was there, a file.
mkdir "$folder/empty"
for out in absent empty; do
  expect 2 "" "missing.h5" "$VPD" train "$folder/config.yaml" -d "$folder/missing.h5" -o "$folder/$out"
  expect 2 "" "gnn.length_scale" train -o "$folder/$out" --init "$folder/whole" --set train.init_motion="$folder/shorter"
done
[ -e "$folder/absent" ] && fail "a refused run left $(find "$folder/absent")"
[ -d "$folder/empty" ] && [ -z "$(ls "$folder/empty")" ] || fail "a refused run left $(find "$folder/empty")"
finish
