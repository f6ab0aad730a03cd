# vpd eval: table, JSON, plot, pictures, other systems' pictures, and what is said about wrong input.
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/tiny_run"

expect 0 "INPUT VIEWS" "averaged weights of step 1" "$VPD" eval "$run" "$data" --starts 2 --steps 3 --all -o "$folder/a.json" \
  --plot "$folder/a.svg" --pictures "$folder/pictures"
cp "$folder/stdout" "$folder/table"
for words in "split val,test" "2 of 2 episodes" "HELD-OUT VIEWS" "copy last frame" "no dynamics" "PSNR dB, moving + rim" "depth error cm" \
  "SSIM, whole" "MOTION OF OBJECT PARTICLES" "slope, horizontal" "pixels of objects (mask)"; do
  expect_words "$words" "$folder/table" "the table"
done
# Without --all, those rows that are compared first; no other is printed, and none is another one.
expect 0 "PSNR dB, moving" "" "$VPD" eval -q "$run" "$data" --starts 2 --steps 3
grep -vxFf "$folder/table" "$folder/stdout" && fail "the short table has rows of its own"
grep -q "SSIM\|depth\|rim\|view [0-9]\|slope" "$folder/stdout" && fail "the short table has all rows"
[ "$(grep -c . "$folder/stdout")" -lt 35 ] || fail "the short table is long: $(cat "$folder/stdout")"
[ "$(tail -n 3 "$folder/table" | cut -d ' ' -f 1 | tr '\n' ' ')" = "pictures motion weakest " ] || fail "no verdict at the end: $(tail -n 3 "$folder/table")"
expect_words "copying the last frame" "$folder/table" "the verdict"
expect_words "weakest   rendering: even the last input frame" "$folder/table" "the verdict of one training step"
expect_words '"verdict": {"pictures": "' "$folder/a.json" "the JSON file"
expect_words "\"motion\"" "$folder/a.json" "the JSON file"
expect_words "<svg" "$folder/a.svg" "the plot"
[ -e "$folder/pictures/000001_start_2.png" ] || fail "no sheet of pictures"
[ "$(find "$folder/pictures" -name 'frame_*.png' | wc -l)" = 40 ] || fail "not 2 episodes x 4 steps x 5 views pictures"

# The model's own pictures, read as another system's, give the model's own figures.
expect 0 "pictures in" "" "$VPD" eval -q --frames "$folder/pictures/start_2" "$data" --starts 2 --steps 3 --all
expect_words "motion    not measured: that takes a model, and these are pictures" "$folder/stdout" "the verdict of pictures"
for row in "PSNR dB, whole" "SSIM, moving"; do
  [ "$(grep -A 1 "$row" "$folder/table" | grep model)" = "$(grep -A 1 "$row" "$folder/stdout" | grep model)" ] || fail "--frames: another $row"
done
# Planted: pictures of another start do not.
expect 0 "*" "" "$VPD" eval -q --frames "$folder/pictures/start_2" "$data" --starts 3 --steps 2
[ "$(grep -A 1 "PSNR dB, whole" "$folder/table" | grep model)" = "$(grep -A 1 "PSNR dB, whole" "$folder/stdout" | grep model)" ] && fail "the comparison cannot fail"

# Motion alone: the same table of motion, and no other.
expect 0 "MOTION OF OBJECT PARTICLES" "" "$VPD" eval -q "$run" "$data" --starts 2 --steps 3 --motion
[ "$(sed -n '/MOTION/,/^$/p' "$folder/table")" = "$(sed -n '/MOTION/,/^$/p' "$folder/stdout")" ] || fail "--motion: another table of motion"
expect_words "pictures  not measured" "$folder/stdout" "the verdict of --motion"
grep -q "VIEWS\|PSNR\|moving " "$folder/stdout" && fail "--motion prints pictures' figures"

# An object that moves as recorded is not measured; the only one of this episode leaves nothing.
expect 0 "driven        object 0: its true motion is given, and is not measured" "" "$VPD" eval -q "$run" "$data" --episode 000000 --starts 2 --steps 3 --motion --driven 0 -o "$folder/driven.json"
expect_words "motion    not measured: the motion of the objects was given" "$folder/stdout" "the verdict of driven objects"
grep -q '"driven_objects": \[0\]' "$folder/driven.json" || fail "the JSON file does not name driven objects"
expect 0 "motion    not measured: the motion of the objects was given" "" "$VPD" eval -q "$run" "$data" --episode 000000 --starts 2 --steps 3 --motion --driven -1
grep -q '"driven_objects": \[\]' "$folder/a.json" || fail "the JSON file names driven objects where there are none"

# Bodies that are simulated in place of the model's dynamics; all of them are measured. The model that is carried sees enough of them.
expect 0 "dynamics      analytic, not the model's: {}" "*" "$VPD" eval -q "$run" "$data" --episode 000000 --starts 2 --steps 3 --motion --analytic -o "$folder/analytic.json"
grep -q '"analytic": "{}"' "$folder/analytic.json" || fail "the JSON file does not say that dynamics are analytic"
grep -q "train on longer\|train longer (train.steps), on rollouts" "$folder/analytic.json" && fail "training is said to mend analytic dynamics"
grep -q '"analytic": null' "$folder/a.json" || fail "the JSON file does not say that dynamics are the model's"
blocks=$VPD_SOURCE/data/mujoco_blocks_sample.h5
carried_eval() { expect 0 "motion    better than predicting no motion" "" "$VPD" eval -q "$VPD_SOURCE/demo/carried.h5" "$blocks" --split test --starts 3 --steps 6 --motion "$@"; }
carried_eval --analytic
grep "error of the centre" "$folder/stdout" > "$folder/default"
carried_eval --analytic="{contact: {mu: 0}, gravity: [0, 0, -3]}"
grep "error of the centre" "$folder/stdout" | cmp -s - "$folder/default" && fail "other gravity, the same motion"

# Starts that do not fit are named; the rest is measured. Reconstruction alone; one episode.
expect 0 "2 of 2 episodes" "warning: too short for 5 steps: 000001 start 4, 000002 start 4" "$VPD" eval "$run" "$data" --starts 2,4 --steps 5
expect 0 "1 of 1 episodes" "" "$VPD" eval -q "$run" "$data" --episode 000000 --starts 8 --steps 0 --raw

wrong_eval() { # SENTENCE ARGUMENTS...
  local words=$1
  shift
  expect 2 "" "$words" "$VPD" eval -q "$@"
  [ "$(grep -c . "$folder/stderr")" = 1 ] || fail "not one sentence: $(cat "$folder/stderr")"
}
wrong_eval '--analytic:1: unknown key or selection "mu"' "$run" "$data" --starts 2 --analytic="{mu: 0.3}"
wrong_eval "--analytic: steps: the rollout says how many" "$run" "$data" --starts 2 --analytic="{steps: 3}"
wrong_eval "--analytic cannot be combined with --frames" --frames "$folder/pictures/start_2" "$data" --starts 2 --analytic
wrong_eval "expected vpd eval CHECKPOINT DATA" "$run"
wrong_eval "expected vpd eval --frames FOLDER DATA" "$run" "$data" --frames "$folder"
wrong_eval "expected at least 33 frames for start 2 and 30 steps, found 9" "$run" "$data" --starts 2 --steps 30
wrong_eval "start frame 0; expected 1 or more" "$run" "$data" --starts 0 --steps 3
wrong_eval "split: expected train, val or test" "$run" "$data" --split train,evening
wrong_eval "no episode 9" "$run" "$data" --episode 9
wrong_eval "absent" "$folder/absent" "$data"
wrong_eval "absent.h5" "$run" "$folder/absent.h5"
wrong_eval "/dev/null/a.json" "$run" "$data" -o /dev/null/a.json
wrong_eval "--json takes no file, it prints the result on stdout; -o FILE.json" "$run" "$data" --json "$folder/b.json"
wrong_eval "--json takes no file" "$run" "$data" --json -
wrong_eval "--json takes no value; it prints" "$run" "$data" --json=b.json
wrong_eval "--json takes no file" --frames "$folder" "$data" --json b.json
wrong_eval "found none" --frames "$folder" "$data"
wrong_eval "--stride needs --frames" "$run" "$data" --stride 2
wrong_eval "--pictures cannot be combined with --motion" "$run" "$data" --motion --pictures "$folder/none"
wrong_eval "--seen cannot be combined with --motion" "$run" "$data" --motion --seen
wrong_eval "--motion cannot be combined with --frames" --frames "$folder" "$data" --motion
wrong_eval "--seen cannot be combined with --frames" --frames "$folder" "$data" --seen
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split train:1 --frames 4 -o "$folder/train.h5"
wrong_eval "found 1 for train, 0 for val, 0 for test; choose another split" "$run" "$folder/train.h5"
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split test:1 --frames 1 -o "$folder/one.h5"
wrong_eval "one.h5" "$run" "$folder/one.h5"
finish
