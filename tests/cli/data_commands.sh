# vpd data info, check, subset and import, on the sample that the repository carries and on what is made from it.
. "$VPD_SOURCE/tests/cli/common"
sample=$VPD_SOURCE/data/mujoco_blocks_sample.h5
[ -e "$sample" ] || skip "data/mujoco_blocks_sample.h5 is not here"

expect 0 "episodes   20 (train 15, val 2, test 3)" "" "$VPD" data info "$sample"
expect 0 '"views":5' "" "$VPD" data info --json "$sample"
expect 0 "images/s" "" "$VPD" data info --speed "$sample"
expect 2 "" "nothing.h5: cannot" "$VPD" data info "$folder/nothing.h5"
expect 2 "" "with one of check, convert, import, info, show, subset" "$VPD" data

# A part of it, small enough for the rest of this test.
part=$folder/part.h5
expect 0 "" "*" "$VPD" data subset "$sample" -o "$part" --split train:2,test:1 --frames 4 --stride 3 --quiet
expect 0 "episodes   3 (train 2, val 0, test 1)" "" "$VPD" data info "$part"
expect 0 "pass: median reprojection error 0.0" "*" "$VPD" data check "$part" -o "$folder/check.png"
head -c 8 "$folder/check.png" | grep -q PNG || fail "no picture"
expect 0 '"verdict":"pass","pass":true' "*" "$VPD" data check "$part" --json
expect 0 "" "*" "$VPD" data convert "$part" -o "$folder/one.h5" --views 0 --quiet
expect 0 "not checked: each episode has one camera that stands still" "*" "$VPD" data check "$folder/one.h5"
expect 0 '"verdict":"not checked","pass":null' "*" "$VPD" data check "$folder/one.h5" --json
expect 2 "" "no episode 3; expected a name such as 000000, or a number from 0 to 2" "$VPD" data check "$part" -o "$folder/x.png" --episode 3 --quiet
expect 2 "" "expected 9 val episodes, found 2" "$VPD" data subset "$sample" -o "$folder/x.h5" --split val:9
expect 2 "" '--split: expected a list such as train:16,val:2,test:2, found "validation:3"' \
  "$VPD" data subset "$sample" -o "$folder/x.h5" --split validation:3
expect 2 "" '--views: expected increasing numbers' "$VPD" data subset "$sample" -o "$folder/x.h5" --views 3,1
expect 2 "" "expected views within 0 to 4, asked for 7" "$VPD" data subset "$sample" -o "$folder/x.h5" --views 7
expect 2 "" "cannot write: Not a directory" "$VPD" data subset "$sample" -o "$sample/x.h5" --split test:1
[ -e "$folder/x.h5" ] && fail "a command that failed left a file"

# Converted: merged, cropped, resized, cut to a box; and looked at.
expect 0 "" "*" "$VPD" data convert "$part" "$part" -o "$folder/both.h5" --crop 8,8,48,48 --size 24x24 --depth u16 --assign train:4,val:2 --quiet
expect 0 "episodes   6 (train 4, val 2, test 0)" "" "$VPD" data info "$folder/both.h5"
expect 0 "pass: median reprojection error" "*" "$VPD" data check "$folder/both.h5"
expect 0 "" "sheet.png written" "$VPD" data show "$folder/both.h5" -o "$folder/sheet.png" --depth --episode 5
head -c 8 "$folder/sheet.png" | grep -q PNG || fail "no contact sheet"
expect 0 "" "*" "$VPD" data show "$folder/both.h5" -o "$folder/film.gif"
head -c 3 "$folder/film_view4.gif" | grep -q GIF || fail "no film of the last view"
expect 2 "" '--crop: expected x,y,width,height' "$VPD" data convert "$part" -o "$folder/x.h5" --crop 1,2,3
expect 2 "" 'expected a crop within 64 x 64 pixels' "$VPD" data convert "$part" -o "$folder/x.h5" --crop 60,0,8,8 --quiet
expect 2 "" '--unit needs --depth u16' "$VPD" data convert "$part" -o "$folder/x.h5" --unit 0.01
expect 2 "" '--box: expected x,y,z,x,y,z' "$VPD" data convert "$part" -o "$folder/x.h5" --box 1,1,1,0,0,0
expect 2 "" '--view: expected an integer from 0 to 4' "$VPD" data show "$part" -o "$folder/x.png" --view 5

# Files whose episodes have the same names: tables and findings name the file too.
mkdir "$folder/several"
ln "$part" "$folder/several/a.h5" && ln "$part" "$folder/several/b.h5"
name=$("$VPD" data info --json "$part" | sed 's/.*"episodes":\[{"file":"[^"]*","name":"\([^"]*\)".*/\1/')
expect 0 "b.h5:$name" "" "$VPD" data info "$folder/several"
expect 0 "b.h5:$name" "*" "$VPD" data check "$folder/several" --quiet
expect 0 "" "several.png written" "$VPD" data show "$folder/several" -o "$folder/several.png" --episode "b.h5:$name"
expect 0 "*" "*" "$VPD" data check "$part" -o "$folder/named.png" --episode "$name" --quiet

# Damage: cut short, and each of many bytes overwritten. Never a crash, always a sentence, never another status.
# HDF5 itself leaks on damaged files; under AddressSanitizer that is not what is looked for here.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
size=$(stat -c %s "$part")
head -c $((size * 2 / 3)) "$part" >"$folder/cut.h5"
expect 2 "" "cut.h5: expected an HDF5 file, found one that is damaged or cut short" "$VPD" data info "$folder/cut.h5"
echo "no data" >"$folder/text.h5"
expect 2 "" "text.h5: expected an HDF5 file, found a text file" "$VPD" data check "$folder/text.h5"
for i in $(seq 0 40); do
  cp "$part" "$folder/bad.h5"
  printf '\377\377\377\377' | dd of="$folder/bad.h5" bs=1 seek=$((i * i * 7 + 40)) conv=notrunc 2>/dev/null
  "$VPD" data check "$folder/bad.h5" --quiet >"$folder/out" 2>"$folder/err"
  got=$?
  [ "$got" = 0 ] || [ "$got" = 2 ] || fail "exit status $got at byte $((i * i * 7 + 40)): $(head -c 300 "$folder/err")"
  [ "$got" = 0 ] || [ -s "$folder/err" ] || fail "no sentence at byte $((i * i * 7 + 40))"
done

expect 2 "" "expected a recording in one of these layouts, found none of them: hololens" \
  "$VPD" data import "$folder" -o "$folder/x.h5"
expect 2 "" '--size: expected WIDTHxHEIGHT in pixels such as 128x96, found "270"' "$VPD" data import "$folder" -o "$folder/x.h5" --size 270
expect 2 "" '--bounds: expected x,y,z,x,y,z' "$VPD" data import "$folder" -o "$folder/x.h5" --bounds 0,0,0,1,1,0
expect 2 "" '--holdout-first needs --holdout N' "$VPD" data import "$folder" -o "$folder/x.h5" --holdout-first 4
expect 2 "" '--intrinsics: expected fx,fy,cx,cy' "$VPD" data import "$folder" -o "$folder/x.h5" --intrinsics 525,525,319.5
expect 2 "" '--intrinsics: expected fx,fy,cx,cy' "$VPD" data import "$folder" -o "$folder/x.h5" --intrinsics 525,-525,319.5,239.5
expect 2 "" '--as: expected' "$VPD" data import "$folder" -o "$folder/x.h5" --as movie
expect 2 "" "-o" "$VPD" data import "$folder"
expect 2 "" '--time-unit: expected' "$VPD" data import "$folder" -o "$folder/x.h5" --time-unit minutes

# --skip-bad goes past pictures that cannot be read, and lists them.
mkdir "$folder/recording"
"$VPD" data show -q "$sample" -o "$folder/recording/a.png" --width 32 || fail "no picture to import"
printf '2&2&1&\0\0\200\77\0\0\200\77\0\0\200\77\0\0\200\77' >"$folder/recording/a.bin"
frame='"depth_file_path": "a.bin", "transform_matrix": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}'
printf '{"camera_angle_x": 1, "w": 32, "h": 32, "depth_unit_scale_factor": 1, "frames": [{"file_path": "%s", %s, {"file_path": "%s", %s]}' \
  a.png "$frame" gone.png "$frame" >"$folder/recording/transforms.json"
expect 2 "" "gone.png: cannot open: No such file or directory; --skip-bad leaves such pictures out" "$VPD" data import "$folder/recording" -o "$folder/skipped.h5"
expect 0 "" "1 of 2 pictures cannot be read; 1 left out" "$VPD" data import "$folder/recording" -o "$folder/skipped.h5" --skip-bad
grep -q "warning: .*gone.png: cannot open" "$folder/stderr" || fail "the picture that is left out is not named"
expect 0 'gone.png: cannot open: No such file or directory"]' "*" "$VPD" data import "$folder/recording" -o "$folder/skipped.h5" --force --skip-bad --json
[ -e "$folder/x.h5" ] && fail "a command that failed left a file"
finish
