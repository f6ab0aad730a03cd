#!/usr/bin/env bash
# The page of vpd view in headless Chromium: drags, clicks, keys, edits, sizes from 390 pixels to 4K, and a server that is gone.
# SPDX-License-Identifier: Apache-2.0
. "$VPD_SOURCE/tests/cli/common"
for python in "${VPD_PYTHON:-}" "$VPD_SOURCE/build/browser/bin/python" python3; do
  [ "$python" ] && "$python" -c 'import playwright' 2>/dev/null && break
  python=
done
[ "$python" ] || skip "no Python has Playwright (scripts/install-browser; VPD_PYTHON names another Python)"
command -v chromium >/dev/null || skip "no Chromium here (apt install chromium)"
. "$VPD_SOURCE/tests/cli/view_client"
data=$VPD_SOURCE/data/mujoco_blocks_sample.h5
expect 0 "*" "*" "$VPD" data subset -q "$data" --split train:1,val:1,test:0 --frames 9 -o "$folder/data.h5"
for name in one two; do
  expect 0 "*" "*" "$VPD" train -q -d "$folder/data.h5" -o "$folder/runs/$name" --set encoder.N=300 --set model.C=8 --set model.D=6 \
    --set "encoder.widths=[4,6]" --set gnn.M=16 --set gnn.L=1 --set "renderer.widths=[8,8]" --set renderer.S=4 --set renderer.K=4 --set "train.rollout=[1]" --set "train.rollout_from=[0]" \
    --set train.rays=8 --set train.steps=20 --set train.motion_steps=10 --set train.log_every=2 --set train.picture_every=10
done
export XDG_RUNTIME_DIR=$folder/runtime # keys of pages that outlive their server
mkdir -m 700 "$XDG_RUNTIME_DIR"
viewers=()
trap 'kill "${viewers[@]}" 2>/dev/null; rm -rf "$folder"' EXIT
"$VPD" view "$folder/runs" >"$folder/runs.out" 2>"$folder/runs.err" &
viewers+=($!)
find_address "$folder/runs.out" "Ctrl-C"
runs=$url
expect 0 "*" "*" "$VPD" sim run -q "$VPD_SOURCE/scenes/objects.yaml" -o "$folder/objects.h5"
export VPD_SIMULATED=$folder/objects.h5
"$VPD" view "$folder/objects.h5" >"$folder/simulated.out" 2>"$folder/simulated.err" &
viewers+=($!)
find_address "$folder/simulated.out" "Ctrl-C"
simulated=$url
"$VPD" view "$VPD_SOURCE/demo/carried.h5" "$data" >"$folder/scene.out" 2>"$folder/scene.err" &
viewers+=($!)
find_address "$folder/scene.out" "Ctrl-C"
timeout 600 "$python" "$VPD_SOURCE/tests/cli/view_browser" "$url" "${viewers[2]}" "$runs" "$simulated" ${VPD_PICTURES:+"$VPD_PICTURES"} 
status=$?
[ $status = 77 ] && [ "$wrong" = 0 ] && exit 77
[ $status = 0 ] || fail "status $status"
finish
