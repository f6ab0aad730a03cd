# vpd rollout and vpd render: files, pictures, and what is said about wrong input.
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/tiny_run"
out=$folder/out.h5

# More steps than there is video; the defaults; a checkpoint by its file.
expect 0 "episode 000002 from frame 3, 300 particles and 512 hidden points, 8 steps of 0.04167 s" "averaged weights of step 1" \
  "$VPD" rollout "$run" "$data" --episode 000002 --start 3 --steps 8 -o "$out"
expect 0 "episode 000002 from frame 1, 300 particles and 512 hidden points, 7 steps" "" "$VPD" rollout -q "$run/checkpoints/step_00000001.h5" "$data" -o "$folder/default.h5"
expect 0 "episode 000000 from frame 1" "raw weights of step 1" "$VPD" rollout "$run" "$data" --episode 0 --raw --input-views 0,2 --steps 2 -o "$folder/raw.h5"
# The data set may be a list. Of a split, episodes that end before the present frame are left out.
echo data.h5 >"$folder/list.txt"
expect 0 "episode 000000 from frame 1" "" "$VPD" rollout -q "$run" "$folder/list.txt" --episode 0 --steps 2 -o "$folder/listed.h5"
expect 0 "*" "*" "$VPD" data subset -q "$data" --split test:1,train:0,val:0 --frames 1 -o "$folder/short.h5"
printf 'short.h5\ndata.h5\n' >"$folder/mixed.txt"
expect 0 "mixed: 1 rollouts of test" "1 of 2 episodes are left out: the first, 000000, ends before start frame 1" \
  "$VPD" rollout -q "$run" "$folder/mixed.txt" --split test --steps 2 -o "$folder/mixed"
[ "$(ls "$folder/mixed")" = 000003.h5 ] || fail "not the rollout of the long episode alone: $(ls "$folder/mixed")"
expect 2 "" "mixed.txt: all 2 episodes of test end before start frame 9" "$VPD" rollout -q "$run" "$folder/mixed.txt" --split test --start 9 -o "$folder/none"
# Pictures: truth beside as far as the video goes, alone, from elsewhere.
expect 0 "out.gif: 9 frames of" "" "$VPD" render -q "$out"
[ "$(head -c 3 "$folder/out.gif")" = GIF ] || fail "out.gif is no GIF"
expect 0 "$folder/png: 9 frames of" "" "$VPD" render -q "$out" --views 0,1,4 --difference -o "$folder/png"
[ "$(ls "$folder/png")" = "$(printf 'frame_%04d.png\n' 0 1 2 3 4 5 6 7 8)" ] || fail "not nine pictures: $(ls "$folder/png")"
# The same command twice gives the same particles; another seed or start would not.
expect 0 "*" "" "$VPD" rollout -q "$run" "$data" --episode 000002 --start 3 --steps 8 -o "$folder/again.h5"
expect 0 "*" "" "$VPD" render -q "$folder/again.h5" --views 0,1,4 --difference -o "$folder/again"
diff -r "$folder/png" "$folder/again" >/dev/null || fail "two equal rollouts look different"
expect 0 "*" "" "$VPD" render -q "$folder/default.h5" --views 0,1,4 --difference -o "$folder/other"
diff -r "$folder/png" "$folder/other" >/dev/null && fail "two different rollouts look equal"
echo mine >"$folder/other/frame_0004.png"
expect 2 "" "frame_0004.png: this file exists and is not a PNG picture;" "$VPD" render -q "$folder/default.h5" -o "$folder/other"
grep -q mine "$folder/other/frame_0004.png" || fail "a file among the pictures was replaced"

# A rollout that goes on from its file ends where the one that never stopped does.
expect 0 "*" "" "$VPD" rollout -q "$run" "$data" --episode 000002 --start 3 --steps 3 -o "$folder/three.h5"
expect 0 "episode 000002 from frame 3, 300 particles and 512 hidden points, 8 steps of 0.04167 s" "" "$VPD" rollout -q "$run" "$folder/three.h5" --steps 5 -o "$folder/eight.h5"
expect 0 "*" "" "$VPD" render -q "$folder/eight.h5" --views 0,1,4 --difference -o "$folder/eight"
diff -r "$folder/png" "$folder/eight" >/dev/null || fail "a rollout that went on from its file looks different"

expect 0 "1 frame of" "warning: --size 48x32: the cameras have pictures of 64 x 64, so these are stretched; 48x48 is not" \
  "$VPD" render -q "$out" --labels --step 8 --size 48x32 --no-truth -o "$folder/labels"
expect 0 "5 frames of" "" "$VPD" render -q "$out" --orbit 5 --size 32x32 -o "$folder/orbit"
echo '{"width": 32, "height": 24, "cameras": [{"eye": [2,0,1], "target": [0,0,0]}, {"eye": [0,2,1], "target": [0,0,0]}]}' >"$folder/cameras.json"
expect 0 "4 frames of" "" "$VPD" render -q "$out" --cameras "$folder/cameras.json" --ride 4 -o "$folder/ride.gif"
expect 0 "*" "" "$VPD" render -q "$folder/raw.h5" -o "$folder/raw.gif"
if command -v ffmpeg >/dev/null; then
  expect 0 "out.mp4: 9 frames of" "" "$VPD" render -q "$out" -o "$folder/out.mp4"
else
  expect 1 "" "ffmpeg" "$VPD" render -q "$out" -o "$folder/out.mp4"
fi

# A page of an episode that is shorter than the steps that pages measure.
expect 0 "*" "" "$VPD" page -q "$data" --run "$run" --start 3 --steps 4 --threads 1 -o "$folder/page.html"

expect 0 "*" "*" "$VPD" data subset -q "$data" --split train:1,val:1,test:1 --frames 2 -o "$folder/two.h5"
expect 0 "*" "" "$VPD" page -q "$folder/two.h5" --run "$run" --steps 2 --threads 1 -o "$folder/two.html"

# ffmpeg is looked for before anything is drawn, or even read.
mkdir "$folder/empty"
expect 1 "" "out.mp4: MP4 needs the program ffmpeg" env PATH="$folder/empty" "$VPD" render "$out" --size 16384x16384 -o "$folder/out.mp4"

# The data set has gone: drawn all the same, and said so. --data brings the truth back.
mv "$data" "$folder/moved.h5"
expect 0 "*" "the true pictures are left out" "$VPD" render "$out" -o "$folder/alone"
expect 0 "*" "" "$VPD" render -q "$out" --data "$folder/moved.h5" -o "$folder/beside"
cmp -s "$folder/beside/frame_0000.png" "$folder/alone/frame_0000.png" && fail "--data added no true pictures"
expect 2 "" "data.h5: cannot open" "$VPD" render "$out" --data "$data" -o "$folder/x.gif"
mv "$folder/moved.h5" "$data"

# Wrong input of rollout: status 2, one sentence, no file.
wrong_rollout() { # SENTENCE ARGUMENTS...
  local words=$1
  shift
  expect 2 "" "$words" "$VPD" rollout -q "$@"
  [ "$(grep -c . "$folder/stderr")" = 1 ] || fail "not one sentence: $(cat "$folder/stderr")"
  [ -e "$folder/x.h5" ] && fail "a failed rollout left a file"
}
wrong_rollout "rollout needs --output FILE.h5" "$run" "$data"
wrong_rollout "absent: cannot open" "$folder/absent" "$data" -o "$folder/x.h5"
wrong_rollout "$data" "$data" "$data" -o "$folder/x.h5"
wrong_rollout "expected an HDF5 file" "$0" "$data" -o "$folder/x.h5"
wrong_rollout "absent.h5" "$run" "$folder/absent.h5" -o "$folder/x.h5"
wrong_rollout "no episode 7; expected a name such as 000000, or a number from 0 to 2" "$run" "$data" --episode 7 -o "$folder/x.h5"
wrong_rollout "start frame 0; expected 1 to 8: the model sees 2 frames" "$run" "$data" --start 0 -o "$folder/x.h5"
wrong_rollout "start frame 9; expected 1 to 8" "$run" "$data" --start 9 -o "$folder/x.h5"
wrong_rollout '--steps: expected an integer from 0 to 100000, found "-1"' "$run" "$data" --steps -1 -o "$folder/x.h5"
wrong_rollout "input view 5; expected different views from 0 to 4" "$run" "$data" --input-views 0,5 -o "$folder/x.h5"
wrong_rollout "/dev/null/x.h5" "$run" "$data" -o /dev/null/x.h5
wrong_rollout "--steps: give the number of steps by which the rollout $out is to be continued" "$run" "$out" -o "$folder/x.h5"
wrong_rollout "--start: needs a data set, found the particles of $out" "$run" "$out" --steps 2 --start 3 -o "$folder/x.h5"
wrong_rollout "expected the checkpoint" "$VPD_SOURCE/tests/fuzz/corpus/checkpoint/training.h5" "$out" --steps 2 -o "$folder/x.h5"
# A file of another kind in the place of each.
wrong_rollout 'data.h5: expected a checkpoint (format "vpd-checkpoint"), found a data set (format "vpd-dataset"); "vpd train" makes one' \
  "$data" "$data" -o "$folder/x.h5"
wrong_rollout 'expected a data set (format "vpd-dataset"), found a checkpoint (format "vpd-checkpoint")' \
  "$run" "$run/checkpoints/step_00000001.h5" -o "$folder/x.h5"
wrong_rollout "--device quantum" "$run" "$data" --device quantum -o "$folder/x.h5"
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split test:1 --frames 4 --stride 5 -o "$folder/slow.h5"
wrong_rollout "expected frames every 0.04167 s as the model learned, or more of them, or no fewer than a fourth, found one every 0.2083 s" "$run" "$folder/slow.h5" -o "$folder/x.h5"

# Wrong input of render.
for kind in jpg PNG avi; do
  expect 2 "" "x.$kind: expected a name that ends in .gif or .mp4 (a film), or a folder for PNG pictures" "$VPD" render "$out" -o "$folder/x.$kind"
  [ -e "$folder/x.$kind" ] && fail "render made a folder x.$kind"
done
expect 2 "" "--views, --orbit, --cameras: expected one of them" "$VPD" render "$out" --views 0 --orbit 3
expect 2 "" "found view 5" "$VPD" render "$out" --views 5
expect 2 "" "a step of the rollout, 0 to 8, found 9" "$VPD" render "$out" --step 9
expect 2 "" "expected WIDTHxHEIGHT" "$VPD" render "$out" --size 64
expect 2 "" 'expected a rollout (format "vpd-rollout"), found a data set (format "vpd-dataset"); "vpd rollout" makes one' "$VPD" render "$data"
expect 2 "" "expected the checkpoint" "$VPD" render "$folder/raw.h5" --checkpoint "$VPD_SOURCE/tests/fuzz/corpus/checkpoint/training.h5"
expect 2 "" "absent.json" "$VPD" render "$out" --cameras "$folder/absent.json"
expect 2 "" "/dev/null/x.gif" "$VPD" render "$out" -o /dev/null/x.gif
rm -r "$run"
expect 2 "" "does not exist; give the checkpoint with --checkpoint" "$VPD" render "$out"
finish
