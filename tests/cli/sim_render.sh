# SPDX-License-Identifier: Apache-2.0
# vpd sim render: a data set that other commands take, films, cameras of rollouts, and what is said about wrong input.
. "$VPD_SOURCE/tests/cli/common"
scenes=$VPD_SOURCE/scenes

# scene TEXT SED..: the ball for ten frames, small, with more text.
scene() {
  more=$1
  shift
  sed -e 's/^frames: .*/frames: 10/' "$@" "$scenes/ball.yaml" >"$folder/scene.yaml"
  printf '%b\n' "$more" >>"$folder/scene.yaml"
}
scene 'cameras: 3\npicture: {size: [48, 40]}'
expect 0 '"cameras":3' "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/ball.h5" --split test --json
expect 0 "pass" "*" "$VPD" data check "$folder/ball.h5"
"$VPD" data info "$folder/ball.h5" >"$folder/log" 2>&1 || fail "info refuses the data set"
grep -q "11" "$folder/log" || fail "the data set has not 11 frames: $(cat "$folder/log")"
expect 2 "" "this data set exists" "$VPD" sim render "$folder/scene.yaml" -o "$folder/ball.h5"
expect 0 "*" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/again.h5" --split test --threads 1
expect 0 "11 frames of 3 cameras" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/film.gif"
expect 0 "11 frames" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/png"
[ "$(find "$folder/png" -name 'frame_*.png' | wc -l)" = 11 ] || fail "the folder holds not 11 pictures"
sed 's/^frames: .*/frames: 4/' "$folder/scene.yaml" >"$folder/short.yaml"
touch "$folder/png/frame_mine.png" "$folder/png/frame_0020.png"
expect 0 "5 frames" "" "$VPD" sim render "$folder/short.yaml" -o "$folder/png"
[ "$(find "$folder/png" -name 'frame_000*.png' | wc -l)" = 5 ] || fail "frames of the longer film are left"
[ -e "$folder/png/frame_mine.png" ] && [ -e "$folder/png/frame_0020.png" ] || fail "files of others were removed"
# A picture of another kind is kept, whether it would be replaced or removed.
for frame in 0003 0005; do
  echo mine >"$folder/png/frame_$frame.png"
  expect 2 "" "frame_$frame.png: this file exists and is not a PNG picture;" "$VPD" sim render "$folder/short.yaml" -o "$folder/png"
  grep -q mine "$folder/png/frame_$frame.png" || fail "frame_$frame.png was replaced"
  expect 0 "5 frames" "" "$VPD" sim render "$folder/short.yaml" -o "$folder/png" --force
done
expect 0 "*" "" "$VPD" sim run "$folder/scene.yaml" -o "$folder/run.h5"
"$VPD" inspect "$folder/run.h5" | grep -q "cameras *3" || fail "the rollout has not 3 cameras"

# Named cameras, lights, each rasteriser.
for method in soft dib-r z-buffer; do
  scene "picture: {size: [32, 32], rasteriser: $method, ambient: 0.5, background: [0, 0, 0], planes: no}\nlights: [{direction: [0, 0, 1], shadow: yes}]\ncameras:\n  a: {eye: [0, -2, 1], look_at: [0, 0, 0.3], fov: 60}\n  b: {pose: [1, 0, 0, 0, 0, 0, 1, -2, 0, -1, 0, 0.4, 0, 0, 0, 1], intrinsics: [30, 30, 16, 16]}"
  expect 0 "2 cameras" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/$method.h5"
done

wrong() { # TEXT WORDS
  scene "$1"
  expect 2 "" "$2" "$VPD" sim render "$folder/scene.yaml" -o "$folder/x.h5"
  [ ! -e "$folder/x.h5" ] || fail "a file was left behind: $2"
}
wrong 'picture: {sigm: 1}' 'unknown key "sigm"; did you mean "sigma"?'
wrong 'picture: {rasteriser: sofft}' 'rasteriser: expected z-buffer'
wrong 'picture: {near: 3, far: 2}' 'near 3 is not below far 2'
wrong 'cameras: 0' 'how many stand around the scene'
wrong 'cameras: {a: {eye: [0, 0, 1]}}' 'a: expected eye and look_at, or pose'
wrong 'cameras: {a: {eye: [0, 0, 1], look_at: [0, 0, 1]}}' 'a: eye and look_at are at one place'
wrong 'cameras: {a: {pose: [1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}}' 'expected a rotation and a place'
wrong 'cameras: {a: {eye: [1, 0, 1], look_at: [0, 0, 0], intrinsics: [1, 0, 1, 1]}}' 'fx and fy above 0'
wrong 'lights: [{direction: [0, 0, 0]}]' 'a vector of non-zero length'
wrong 'lights: [{colour: [1, 1, 1]}]' 'direction'

# Episodes with random numbers: the same for the same seed, whatever their number; other seeds have others.
random='random:\n  ball.position: {low: -0.2, high: 0.2}\n  ball.position.z: {low: 0.3, high: 0.6}\n  ground.mu: {low: 0.1, high: 0.9}\ncameras: 3\npicture: {size: [48, 40]}'
scene "$random" -e 's/k_e: 2e3/k_e: 3e3/'
expect 0 '"episodes":4' "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/many.h5" -q --episodes 4 --split val --json
expect 0 "2 episodes, 22 frames of 3 cameras" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/two.h5" -q --episodes 2 --threads 1
expect 0 "*" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/other.h5" -q --episodes 2 --seed 7
expect 0 "pass" "*" "$VPD" data check "$folder/many.h5"
property() { # SET NUMBER: of each episode
  "$VPD" data info "$folder/$1.h5" --json | grep -o "\"$2\":[^,}]*"
}
[ "$(property many ball.position.z | head -2)" = "$(property two ball.position.z)" ] || fail "the same seed drew other numbers"
[ "$(property other ball.position.z)" != "$(property two ball.position.z)" ] || fail "another seed drew the same numbers"
# What flew apart is seen by its speed, and by the episode in which it is.
scene 'random: {ball.velocity.x: {low: 1, high: 2}}\nfit: {free: [ball.density]}\npicture: {size: [16, 16]}' -e 's/spin:.*/contact: ground/'
expect 0 "particles up to" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/fast.h5" -q --episodes 3
grep -q "m/s fast (episode [012])" "$folder/stdout" || fail "no episode is named: $(cat "$folder/stdout")"
expect 0 '"fastest":' "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/fast.h5" -q --json --force
[ "$(property many ground.mu | sort -u | wc -l)" = 4 ] || fail "not all episodes differ"
expect 2 "" "--episodes: needs a data set (.h5) as --output" "$VPD" sim render "$folder/scene.yaml" -o "$folder/many.gif" --episodes 2
expect 2 "" "--seed is of the numbers of --episodes" "$VPD" sim render "$folder/scene.yaml" -o "$folder/x.h5" --seed 2
expect 2 "" "--episodes needs numbers that differ between them" "$VPD" sim render "$folder/short.yaml" -o "$folder/x.h5" --episodes 2
wrong 'random: {ball.positon.z: {low: 0, high: 1}}' 'unknown number of the scene "ball.positon.z"; did you mean "ball.position.z"?'
wrong 'random: {ball.position.z: {low: 0}}' 'ball.position.z: expected {low: .., high: ..}'
wrong 'random: {ball.position.z: {low: 1, high: 0}}' 'low 1 is not below high 0'
wrong 'random: [ball.density]' 'random: expected a map of numbers'
wrong 'random: {ball.position.z: {low: 0, high: 1, start: 0.5}}' 'unknown key "start"'
wrong 'random: {ball.bending.k_e: {low: 0, high: 1}}' 'only numbers that stand in the file can be drawn'
wrong 'random: {camera.front.eye: {low: 0, high: 1}}\ncameras: {front: {eye: [0, -2, 1], look_at: [0, 0, 0]}}' 'did you mean "cameras.front.eye.'
# Wrong ranges are found before the first episode, however seldom such a number is drawn.
for range in 'ground.mu: {low: 0, high: 1001}' 'ground.mu: {low: -0.001, high: 0.5}' 'ball.sphere.cells: {low: 2, high: 4}' 'frames: {low: 1, high: 9}'; do
  scene "random: {$range}"
  expect 2 "" "random draws what is refused: $folder/scene.yaml:" "$VPD" sim render "$folder/scene.yaml" -o "$folder/x.h5" --episodes 2
done
# Directions may be drawn around none.
scene 'random: {lights.0.direction: {low: 0, high: 1}}\nlights: [{direction: [0, 0, 1]}]\npicture: {size: [16, 16]}'
expect 0 "2 episodes" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/lights.h5" -q --episodes 2
scene 'random: {values.ball.mass: {low: 0.01, high: 0.02}}\npicture: {size: [16, 16]}' -e 's/cells: 3/cells: 5/'
expect 2 "" "an episode has at most 512 properties, not" "$VPD" sim render "$folder/scene.yaml" -o "$folder/x.h5" --episodes 2
scene 'random: {ball.position.z: {low: 0, high: 0.1}}'
expect 2 "" "1000 draws of episode 0 do not start apart: ball starts" "$VPD" sim render "$folder/scene.yaml" -o "$folder/x.h5" --episodes 2
[ ! -e "$folder/x.h5" ] || fail "a data set without episodes was left behind"
# An episode whose state is not finite is drawn again, whatever the number of episodes; a scene in which most are ends.
scene 'random: {ball.solid.young: {low: 2e4, high: 4e6}}\npicture: {size: [16, 16]}'
expect 0 '"exploded":' "warning: episode 1 is drawn again, and so will others like it: $folder/scene.yaml: step" "$VPD" sim render "$folder/scene.yaml" -o "$folder/stiff.h5" -q --episodes 6 --json
grep -q '"exploded":[1-9]' "$folder/stdout" || fail "none has exploded: $(cat "$folder/stdout")"
expect 0 "drawn again since they exploded, 66 frames" "*" "$VPD" sim render "$folder/scene.yaml" -o "$folder/stiff.h5" -q --episodes 6 --force
expect 0 "*" "*" "$VPD" sim render "$folder/scene.yaml" -o "$folder/fewer.h5" -q --episodes 4
[ "$(property stiff ball.solid.young | head -4)" = "$(property fewer ball.solid.young)" ] || fail "fewer episodes are others"
scene 'random: {ball.solid.young: {low: 2e7, high: 4e7}}\npicture: {size: [16, 16]}'
expect 1 "" "4 of 4 draws exploded; the last, of episode 0: $folder/scene.yaml: step" "$VPD" sim render "$folder/scene.yaml" -o "$folder/x.h5" -q --episodes 4
[ ! -e "$folder/x.h5" ] || fail "a data set without episodes was left behind"
# What is fixed may stand in the ground.
scene 'random: {ball.velocity.x: {low: 0, high: 0.1}}\npicture: {size: [16, 16]}' -e 's/position:.*/position: [0, 0, 0]/' -e 's/spin:.*/fixed: {min: [-1, -1, -1], max: [1, 1, 1]}/'
expect 0 "1 episode, 11 frames" "" "$VPD" sim render "$folder/scene.yaml" -o "$folder/fixed.h5" -q --episodes 1
expect 2 "" "data.hdf5: expected a data set's name to end in .h5, found .hdf5" "$VPD" sim render "$folder/short.yaml" -o "$folder/data.hdf5"
expect 2 "" "a.xyz: expected a name that ends in .gif or .mp4 (a film), or a folder for PNG pictures, found .xyz" "$VPD" sim render "$folder/short.yaml" -o "$folder/a.xyz"
[ ! -e "$folder/data.hdf5" ] && [ ! -e "$folder/a.xyz" ] || fail "a folder was made"
expect 2 "" "needs --output" "$VPD" sim render "$folder/scene.yaml"
for out in x.gif x.mp4 frames; do
  expect 2 "" "--split: needs a data set (.h5) as --output, found $folder/$out" "$VPD" sim render "$folder/short.yaml" --split test -o "$folder/$out"
  [ ! -e "$folder/$out" ] || fail "$out was made"
done
expect 2 "" "expected one of train|val|test" "$VPD" sim render "$folder/scene.yaml" -o "$folder/x.h5" --split some

# Random grasps, which a model can be trained on (docs/training.md).
expect 0 "2 episodes, 48 frames of 4 cameras" "*" "$VPD" sim render "$scenes/grasps.yaml" -o "$folder/grasps.h5" --episodes 2 --threads 1
expect 0 "pass" "*" "$VPD" data check "$folder/grasps.h5"
finish
