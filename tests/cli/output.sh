# Where output goes, and what happens when it cannot go there.
. "$VPD_SOURCE/tests/cli/common"

expect 0 "vpd 0" "" "$VPD" --version
for library in HDF5 oneDNN zlib libyaml jansson libpng libjpeg libtiff libwebp OpenEXR giflib; do
  grep -Eq "^$library +[0-9]+\.[0-9]" "$folder/stdout" || fail "--version does not tell $library's version"
done
grep -Eq '^commit +([0-9a-f]{12}\+?|unknown)$' "$folder/stdout" || fail "--version does not tell the commit"
grep -Eq '^compiler +(gcc|clang) [0-9]' "$folder/stdout" || fail "--version does not tell the compiler"

if [ -e /dev/full ]; then
  "$VPD" --version >/dev/full 2>"$folder/stderr"
  [ $? = 1 ] || fail "a full disk under stdout is not exit status 1"
  expect_words "cannot write results to stdout: No space left" "$folder/stderr" "vpd --version >/dev/full"
fi

# A command never replaces a file that it reads, and a data set or a file of another kind with --force alone.
data=$folder/data.h5
cp "$VPD_SOURCE/data/mujoco_blocks_sample.h5" "$data"
mkdir "$folder/recording"
echo '{"fl_x": 100, "frames": []}' >"$folder/recording/transforms.json"
cp "$folder/recording/transforms.json" "$folder/calibration.json"
reads="reads this file, so it cannot also write it"
kind="this file exists and is not"
expect 2 "" "$reads" "$VPD" data import "$folder/recording" -o "$folder/recording/transforms.json"
expect 2 "" "$reads" "$VPD" data import "$folder/recording" -o "$folder/recording/transforms.json" --force
expect 2 "" "$kind a data set" "$VPD" data import "$folder/recording" -o "$folder/calibration.json"
expect 2 "" "x.png: expected a name that ends in .h5, which is what --output writes" "$VPD" data import "$folder/recording" -o "$folder/x.png"
expect 2 "" "x.gif: expected a name that ends in .h5" "$VPD" data convert "$data" -o "$folder/x.gif"
expect 2 "" "x.jpg: expected a name that ends in .png, which is what --output writes" "$VPD" data check "$data" -o "$folder/x.jpg"
ln "$data" "$folder/same.h5"
expect 2 "" "$reads" "$VPD" data convert "$data" -o "$data"
expect 2 "" "$reads" "$VPD" data convert "$data" -o "$folder/same.h5" --force
expect 2 "" "$reads" "$VPD" data convert "$folder/../$(basename "$folder")" -o "$folder/same.h5"
rm "$folder/same.h5"
expect 2 "" "$kind a PNG picture" "$VPD" data show "$data" -o "$folder/calibration.json"
expect 2 "" "$kind a result of" "$VPD" eval runs/none "$data" -o "$folder/calibration.json"
expect 2 "" "$kind a page that vpd wrote" "$VPD" page "$data" --run runs/none -o "$folder/calibration.json"
expect 2 "" "$kind a rollout" "$VPD" rollout runs/none "$data" -o "$folder/calibration.json"
expect 2 "" "$reads" "$VPD" rollout runs/none "$data" -o "$data"
cmp -s "$folder/recording/transforms.json" "$folder/calibration.json" || fail "a file was replaced"
cp "$folder/calibration.json" "$folder/config.yaml"
expect 2 "" "$kind a config that vpd wrote" "$VPD" train --data "$data" -o "$folder"
"$VPD" init "$folder/config.yaml" --force --quiet
expect 2 "" "$reads" "$VPD" train "$folder/config.yaml" --data "$data" -o "$folder"
touch "$folder/new.h5" # nothing is lost with an empty file
expect 0 "" "written" "$VPD" data convert "$data" -o "$folder/new.h5" --split train:1 --frames 2
cp "$folder/new.h5" "$folder/kept.h5"
expect 2 "" "new.h5: this data set exists; give another name, or --force to replace it" "$VPD" data convert "$data" -o "$folder/new.h5" --split train:1
expect 2 "" "new.h5: this data set exists" "$VPD" data import "$folder/recording" -o "$folder/new.h5"
cmp -s "$folder/new.h5" "$folder/kept.h5" || fail "a data set was replaced"
expect 0 "" "written" "$VPD" data convert "$data" -o "$folder/new.h5" --split train:1 --frames 2 --force
cp "$folder/calibration.json" "$folder/sheet.png"
expect 2 "" "$kind a PNG picture" "$VPD" data show "$folder/new.h5" -o "$folder/sheet.png"
expect 0 "" "written" "$VPD" data show "$folder/new.h5" -o "$folder/sheet.png" --force
expect 0 "" "written" "$VPD" data show "$folder/new.h5" -o "$folder/sheet.png"
# Several views are files of their own: none is written if one of them is another's.
cp "$folder/calibration.json" "$folder/film_view1.gif"
expect 2 "" "film_view1.gif: $kind a GIF;" "$VPD" data show "$folder/new.h5" -o "$folder/film.gif"
cmp -s "$folder/calibration.json" "$folder/film_view1.gif" || fail "a view replaced a file"
[ ! -e "$folder/film_view0.gif" ] || fail "a view was written before the names of others were checked"
expect 0 "" "film_view0.gif and" "$VPD" data show "$folder/new.h5" -o "$folder/film.gif" --force
expect 0 "" "film_view0.gif and" "$VPD" data show "$folder/new.h5" -o "$folder/film.gif"
cp "$folder/calibration.json" "$folder/film.gif"
expect 2 "" "$kind a PNG picture or a GIF;" "$VPD" data show "$folder/new.h5" -o "$folder/film.gif"
expect 2 "" "$kind a GIF, an MP4 film or a data set;" "$VPD" sim render "$VPD_SOURCE/scenes/ball.yaml" -o "$folder/film.gif"

# The folder of an output is made where it does not exist, by every command.
makes() { mkdir -p "$folder/made"; rmdir "$folder/made"; expect 0 "*" "*" "$@" --quiet; rm -r "$folder/made" || fail "no folder: $*"; }
made=$folder/made/deep
makes "$VPD" init "$made/a.yaml"
makes "$VPD" data convert "$folder/kept.h5" -o "$made/a.h5"
makes "$VPD" data check "$folder/kept.h5" -o "$made/a.png"
makes "$VPD" data show "$folder/kept.h5" -o "$made/a.gif"
makes "$VPD" sim run "$VPD_SOURCE/scenes/ball.yaml" -o "$made/a.h5"
makes "$VPD" selftest --quick --steps 1 --device cpu:base -o "$made/a.json"

# A reader that goes away: no message, and no normal end (141 is SIGPIPE).
("$VPD" --version; echo $? >"$folder/status") 2>"$folder/stderr" | true
expect_words "" "$folder/stderr" "vpd --version | true"
grep -Eq '^(0|141)$' "$folder/status" || fail "status $(cat "$folder/status") when the reader went away"

# Waiting threads sleep: the program starts itself again with OMP_WAIT_POLICY set, once, and leaves a user's choice alone.
env -u OMP_WAIT_POLICY -u VPD_RESTARTED OMP_DISPLAY_ENV=true "$VPD" --version >/dev/null 2>"$folder/stderr"
grep -q "OMP_WAIT_POLICY = 'PASSIVE'" "$folder/stderr" || fail "threads do not wait passively"
env OMP_WAIT_POLICY=active OMP_DISPLAY_ENV=true "$VPD" --version >/dev/null 2>"$folder/stderr"
grep -q "OMP_WAIT_POLICY = 'PASSIVE'" "$folder/stderr" && fail "the user's OMP_WAIT_POLICY was overridden"
expect 0 "vpd 0" "" env -u OMP_WAIT_POLICY VPD_RESTARTED=1 "$VPD" --version
finish
