#!/usr/bin/env bash
# The page of vpd view in headless Chromium: drags, clicks, keys, edits, sizes from 390 pixels to 4K, and a server that is gone.
# SPDX-License-Identifier: Apache-2.0
. "$VPD_SOURCE/tests/cli/common"
python=${VPD_PYTHON:-python3}
"$python" -c 'import playwright' 2>/dev/null || skip "no Playwright for $python (pip install playwright; VPD_PYTHON names another Python)"
command -v chromium >/dev/null || skip "no Chromium here (apt install chromium)"
"$VPD" view "$VPD_SOURCE/demo/carried.h5" "$VPD_SOURCE/data/mujoco_blocks_sample.h5" >"$folder/out" 2>"$folder/err" &
viewer=$!
trap 'kill "$viewer" 2>/dev/null; rm -rf "$folder"' EXIT
for ((i = 0; i < 600; i++)); do
  grep -q "Ctrl-C" "$folder/out" && break
  sleep 0.1
done
timeout 600 "$python" "$VPD_SOURCE/tests/cli/view_browser" "$(head -n 1 "$folder/out")" "$viewer" ${VPD_PICTURES:+"$VPD_PICTURES"} || fail "status $?"
finish
