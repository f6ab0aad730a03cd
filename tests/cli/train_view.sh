#!/usr/bin/env bash
# vpd train --view: a page that looks at a run changes no loss and no weight; pause, save and stop; runs of a folder.
# SPDX-License-Identifier: Apache-2.0
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/view_client"
data=$folder/data.h5 runs=$folder/runs
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split train:2,val:1,test:0 --frames 9 -o "$data"
cat >"$folder/config.yaml" <<E2
model: {C: 8, D: 6}
encoder: {N: 300, widths: [4, 6]}
gnn: {M: 16, L: 1}
renderer: {widths: [8, 8], S: 4, K: 4}
train: {steps: 40, motion_steps: 20, rollout: [1, 2], rollout_from: [0, 0.5], rays: 8, log_every: 1, picture_every: 15, eval_every: 10}
E2
train() { "$VPD" train "$folder/config.yaml" -d "$data" --threads 1 "$@"; }
expect 0 "*" "*" train -q -o "$runs/alone"
# Everything but times.
results() { sed 's/,"steps_per_second".*//' "$1/metrics.jsonl"; }

train -o "$runs/seen" --view >"$folder/seen.out" 2>"$folder/seen.err" &
run=$!
trap 'kill "$run" 2>/dev/null; rm -rf "$folder"' EXIT
find_address "$folder/seen.err" "ssh -L"
log_in
post=("POST /api/wish" "$here" "$cookie" "Content-Type: application/json" "Origin: http://127.0.0.1:$port")
steps() { grep -c '"train"' "$runs/seen/metrics.jsonl" 2>/dev/null; }
gets 200 "pause" "${post[@]}" -- '{"wish": "pause"}'
for ((i = 0; i < 300; i++)); do
  [ "$(steps)" -gt 0 ] 2>/dev/null && break
  sleep 0.1
done
sleep 0.3
paused=$(steps)
gets 200 "save" "${post[@]}" -- '{"wish": "save"}'
sleep 0.7
[ "$(steps)" = "$paused" ] || fail "a paused run goes on"
ls "$runs/seen/checkpoints" | grep -q "step_0*$paused.h5" || fail "step $paused is not saved: $(ls "$runs/seen/checkpoints")"
gets 200 "the facts" "GET /api/facts" "$here" "$cookie"
body | grep -q '"own":true,"paused":true,"saves":1,"runs":\[{"name":"seen","active":true' || fail "the facts: $(body)"
for ((i = 0; i < 100; i++)); do
  [ -s "$runs/seen/pictures/rollout.h5" ] && break
  sleep 0.1
done
for which in rollout truth; do gets 200 "the $which" "GET /api/scene?run=seen&which=$which" "$here" "$cookie"; done
gets 200 "go on" "${post[@]}" -- '{"wish": "go"}'
gets 422 "another wish" "${post[@]}" -- '{"wish": "fly"}'
gets 422 "no wish" "${post[@]}" -- '['
gets 404 "a job" "POST /api/jobs" "${post[@]:1}" -- '{}'
gets 404 "a scene's page" "GET /api/result?id=1&from=0" "$here" "$cookie"
gets 401 "a wish without a cookie" "POST /api/wish" "$here" "Content-Type: application/json" "Origin: http://127.0.0.1:$port" -- '{"wish": "stop"}'
while kill -0 "$run" 2>/dev/null; do # somebody looks
  patience=5 request "GET /api/facts" "$here" "$cookie"
  patience=5 request "GET /api/scene?run=seen&which=truth" "$here" "$cookie"
  sleep 0.2
done
wait "$run" || fail "the run with a viewer failed: $(cat "$folder/seen.err")"
diff <(results "$runs/alone") <(results "$runs/seen") || fail "a viewer changes the losses"
[ "$(weights "$runs/alone/checkpoints/step_00000040.h5")" = "$(weights "$runs/seen/checkpoints/step_00000040.h5")" ] || fail "a viewer changes the weights"
results "$runs/alone" | grep -q '"eval".*motion_error' || fail "no evaluation to compare"

# Saved and stopped from the page.
train -o "$runs/stopped" --view >"$folder/stopped.out" 2>"$folder/stopped.err" &
run=$!
find_address "$folder/stopped.err" "ssh -L"
log_in
while kill -0 "$run" 2>/dev/null && [ ! -s "$runs/stopped/metrics.jsonl" ]; do sleep 0.05; done
gets 200 "stop" "POST /api/wish" "$here" "$cookie" "Content-Type: application/json" "Origin: http://127.0.0.1:$port" -- '{"wish": "stop"}'
wait "$run"
[ $? = 1 ] && grep -q "stopped on request after step [0-9]*, which is saved" "$folder/stopped.err" || fail "the stop: $(cat "$folder/stopped.err")"

# The runs of a folder, and what no request may read.
mkdir "$runs/empty"
echo secret >"$folder/metrics.jsonl"
"$VPD" view "$runs" --port "$port" >"$folder/runs.out" 2>"$folder/runs.err" &
run=$!
find_address "$folder/runs.out" "Ctrl-C"
log_in
gets 200 "the runs" "GET /api/facts" "$here" "$cookie"
body | grep -q '"own":false.*"name":"alone","active":false.*"name":"seen".*"name":"stopped"' || fail "the runs: $(body)"
body | grep -q '"empty"' && fail "an empty folder is a run"
gets 200 "the log" "GET /api/metrics?run=alone&from=0" "$here" "$cookie"
body | cmp - "$runs/alone/metrics.jsonl" || fail "the log is another"
gets 200 "the end of the log" "GET /api/metrics?run=alone&from=$(stat -c %s "$runs/alone/metrics.jsonl")" "$here" "$cookie"
gets 200 "the options" "GET /api/options?run=alone" "$here" "$cookie"
body | grep -q "motion_steps: 20" || fail "the options: $(body | head -c 300)"
gets 200 "the film" "GET /api/picture?run=alone" "$here" "$cookie"
gets 200 "the rollout" "GET /api/scene?run=alone" "$here" "$cookie"
for name in .. . "" %2e%2e ../runs/alone /etc alone/checkpoints empty; do gets 422 "the run $name" "GET /api/metrics?run=$name&from=0" "$here" "$cookie"; done
gets 422 "a wish" "POST /api/wish" "$here" "$cookie" "Content-Type: application/json" "Origin: http://127.0.0.1:$port" -- '{"wish": "stop"}'
rm -r "$runs/alone"
gets 422 "a run that is gone" "GET /api/metrics?run=alone&from=0" "$here" "$cookie"
gets 200 "the runs that are left" "GET /api/facts" "$here" "$cookie"
kill "$run"
wait "$run" || fail "SIGTERM: exit status $?"

expect 2 "" "there is no run in this folder" "$VPD" view "$runs/empty"
expect 2 "" "expected a folder for the run" "$VPD" train "$folder/config.yaml" -d "$data" --view
finish
