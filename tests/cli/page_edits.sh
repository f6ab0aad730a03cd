#!/usr/bin/env bash
# The edited scenes and the training curves of vpd page. Of a recording in other units with y up, the commands that the page prints make 16 objects, all
# moved level and far enough from each other.
# SPDX-License-Identifier: Apache-2.0
. "$VPD_SOURCE/tests/cli/common"
python=${VPD_PYTHON:-python3}
"$python" -c 'import h5py, numpy' 2>/dev/null || skip "$python has no h5py (set VPD_PYTHON to one that has)"
. "$VPD_SOURCE/tests/cli/tiny_run"

# Ten times as large, and (x, y, z) becomes (x, z, -y).
"$python" -c 'import h5py, numpy, sys
turn = numpy.array([[1, 0, 0], [0, 0, 1], [0, -1, 0.0]])
with h5py.File(sys.argv[1], "r+") as file:
    for episode in file["episodes"].values():
        pose = episode["world_from_camera"][:]
        pose[..., :3, :] = turn @ pose[..., :3, :]
        pose[..., :3, 3] *= 10
        episode["world_from_camera"][:] = pose
        depth = episode["depth"]
        if "scale" in depth.attrs: depth.attrs["scale"] = 10 * depth.attrs["scale"]
        else: depth[:] = 10 * depth[:]
        for name in list(episode["state"]): del episode["state"][name]
        if "bounds" in episode: del episode["bounds"]
        episode.attrs.pop("bounds", None)' "$data" || fail "the data were not turned"

# Two files whose episodes have the same names; those of the first stand behind a name with a blank.
mv "$data" "$folder/my own.h5"
cp "$folder/my own.h5" "$folder/again.h5"
printf '%s\n' "my own.h5" again.h5 >"$folder/list.txt"
data=$folder/list.txt

expect 0 "*" "*" "$VPD" page -q "$data" --carried "$run" --start 3 --steps 1 --threads 1 -o "$folder/page.html"
sed 's/&quot;/"/g' "$folder/page.html" | grep -o 'vpd edit seen.h5 -o edited4.h5 .*' | sed 's/<.*//; s/^vpd /"$VPD" /' >"$folder/edit.sh"
sed -n 's/.*<code>\(vpd rollout MODEL DATA [^<]*\)<.*/\1/p' "$folder/page.html" | sed 's/^vpd rollout MODEL DATA/"$VPD" rollout -q "$run" "$data"/' >"$folder/seen.sh"
grep -q seen.h5 "$folder/seen.sh" && grep -q copy "$folder/edit.sh" || fail "no commands in the page"
(cd "$folder" && . ./seen.sh && . ./edit.sh) >/dev/null || fail "the page's commands fail: $(cat "$folder/seen.sh" "$folder/edit.sh")"

"$python" -c 'import h5py, numpy, sys
def centres(name):
    with h5py.File(name) as file:
        place, label = file["now/positions"][:], file["now/labels"][:]
        return {k: place[label == k].mean(0) for k in numpy.unique(label) if k > 0}
before, after = centres(sys.argv[1]), centres(sys.argv[2])
places = numpy.array(list(after.values()))
apart = numpy.linalg.norm(places[:, None, [0, 2]] - places[None, :, [0, 2]], axis=2)[~numpy.eye(len(places), dtype=bool)]
heights = [min(abs(p[1] - b[1]) for b in before.values()) for p in places]
print("%d objects, %.2f m apart, height changed by %.2f m" % (len(after), apart.min(), max(heights)))
# bodies of these scenes are 1.5 to 3 m wide in these units
sys.exit(not (len(after) == 16 and 1.5 < apart.min() < 9 and max(heights) < 0.01))' "$folder/seen.h5" "$folder/edited4.h5" || fail "no 16 objects apart from each other at their heights"

# Training curves: 40 log lines are smoothed by 7, and 6 not at all.
for step in $(seq 40); do
  [ "$step" -gt 34 ] && psnr=", \"psnr_step0\": $step" || psnr=
  echo "{\"step\": $step, \"kind\": \"train\", \"loss\": $step$psnr}"
done >"$run/metrics.jsonl"
expect 0 "*" "*" "$VPD" page -q "$data" --run "$run" --start 3 --steps 1 --threads 1 -o "$folder/curves.html"
grep -q "Loss, mean of up to 7 log lines<" "$folder/curves.html" || fail "the loss's window is not named"
grep -q "PSNR of training rays<" "$folder/curves.html" || fail "6 values of PSNR are smoothed"
finish
