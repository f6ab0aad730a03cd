# SPDX-License-Identifier: Apache-2.0
# vpd sim fit: the example is found again, what is written can be read, and what is said about wrong input.
. "$VPD_SOURCE/tests/cli/common"
scene=$folder/throw.yaml # the example, with fewer frames
sed 's/^frames: .*/frames: 45/' "$VPD_SOURCE/scenes/throw.yaml" >"$scene"

# number NAME KEY: of the last fit's JSON.
number() { tr '{' '\n' <"$folder/stdout" | sed -n "s/.*\"name\":\"$1\".*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }
near() { # NAME TRUTH TOLERANCE
  awk -v a="$(number "$1" value)" -v b="$2" -v t="$3" 'BEGIN { exit !(a - b <= t && b - a <= t && a != "") }' || fail "$1 is $(number "$1" value), not $2"
}

# The example of its own head: the numbers of the file, from other starts.
expect 0 "*" "" "$VPD" sim run "$scene" --threads 1 -o "$folder/throw.h5"
expect 0 '"converged":true' "are of the size of rounding in single precision" "$VPD" sim fit "$scene" --data "$folder/throw.h5" -o "$folder/fitted.yaml" --plot "$folder/fit.svg" --log "$folder/fit.jsonl" --threads 1 --json -q
near box.density 300 0.01
near box.velocity.x 1.6 1e-4
near box.velocity.y 0 1e-4
near box.velocity.z 0.5 1e-4
near ground.mu 0.4 1e-4
near ground.k_e 600 0.05
[ "$(number ground.mu verdict)" = fitted ] || fail "mu is $(number ground.mu verdict)"
grep -q "<svg" "$folder/fit.svg" || fail "no plot"
grep -q '^{"kind":"fit","step":0,"frames":[0-9]*,"rms":[0-9.e-]*,"values":{"ground.k_e":1000.0,.*}}$' "$folder/fit.jsonl" || fail "the log begins $(head -n 1 "$folder/fit.jsonl")"

# The fitted file runs, and fits again: its head is replaced.
expect 0 "45 frames" "" "$VPD" sim run "$folder/fitted.yaml" --threads 1 -o "$folder/again.h5"
cp "$folder/fitted.yaml" "$folder/other.yaml"
expect 0 " m, root mean square; at the start by " "*" "$VPD" sim fit "$folder/fitted.yaml" --data "$folder/throw.h5" --free ground.mu -o "$folder/other.yaml" --threads 1 -q
[ "$(grep -c '^# Fitted by' "$folder/other.yaml")" = 1 ] && [ "$(grep -c '^#: ' "$folder/other.yaml")" = 1 ] || fail "the head of an earlier fit stays: $(head -9 "$folder/other.yaml")"
cmp -s <(grep -v '^#' "$scene" | tr -d '0-9.e-') <(grep -v '^#' "$folder/fitted.yaml" | tr -d '0-9.e-') || fail "the fitted file differs in more than numbers"

# From a data set's states; a fit that is stopped goes on.
sed 's/^frames: .*/frames: 30\ncameras: 1\npicture: {size: [16, 12]}\nlights: [{direction: [1, -1, 2], shadow: no}]/' "$scene" >"$folder/short.yaml"
expect 0 "*" "" "$VPD" sim render "$folder/short.yaml" -o "$folder/short_data.h5"
expect 0 "*" "the fit has not converged: its numbers and standard errors mean little" "$VPD" sim fit "$folder/short.yaml" --data "$folder/short_data.h5" --compare states --free box.velocity -o "$folder/short_fit.yaml" --iterations 1 --threads 1 --json -q
grep -q '"warnings":\[.*"the fit has not converged: ' "$folder/stdout" || fail "nothing is said of one step: $(cat "$folder/stdout")"
resumed=$(number box.velocity.x value)
head -n 1 "$folder/short_fit.yaml" | grep -q ', 31 frames, not converged; ' || fail "the file begins $(head -n 1 "$folder/short_fit.yaml")"
expect 0 '"converged":true' "*" "$VPD" sim fit "$folder/short.yaml" --data "$folder/short_data.h5" --compare states --free box.velocity -o "$folder/short_fit.yaml" --resume --log "$folder/fit.jsonl" --threads 1 --json -q # the older log is replaced
near box.velocity.x 1.6 1e-5
awk -v a="$(number box.velocity.x start)" -v b="$resumed" 'BEGIN { exit !(b != 0 && a - b < 1e-6 && b - a < 1e-6) }' || fail "started at $(number box.velocity.x start), not $resumed"
grep -q '"warnings":\[.*not converged' "$folder/stdout" && fail "a fit that went on warns: $(cat "$folder/stdout")"
cp "$folder/short_fit.yaml" "$folder/short_kept.yaml"
expect 2 "" "short_fit.yaml: was fitted with other numbers than those that are free now" "$VPD" sim fit "$folder/short.yaml" --data "$folder/short_data.h5" --compare states --free box.velocity.x -o "$folder/short_fit.yaml" --resume
cmp -s "$folder/short_fit.yaml" "$folder/short_kept.yaml" || fail "a refused fit changed its file"

# From poses of objects that another program wrote; the second interval of the first episode is a free flight.
printf 'frames: 3\nfps: 24\nsubsteps: 40\nobjects: {a: {box: {size: [0.2, 0.2, 0.2], cells: [1, 1, 1]}, density: 100,\n  solid: {young: 1e4, poisson: 0.3, k_d: 1}, position: [0, 0, 0.4], velocity: [0, 0, 0]}}\nfit: {free: [a.position, a.velocity]}\n' >"$folder/pose.yaml"
expect 0 '"converged":true' "" "$VPD" sim fit "$folder/pose.yaml" --data "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --episode 0 -o "$folder/pose_fit.yaml" --threads 1 --json -q
near a.velocity.x 1.52311 0.001
near a.position.z 0.386 0.003
expect 2 "" "has 2 objects, and $folder/pose.yaml 1" "$VPD" sim fit "$folder/pose.yaml" --data "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --episode 1 -o "$folder/x.yaml"

# From colour, with a film of it.
sed 's/^frames: .*/frames: 9/; s/size: .16, 12./size: [32, 26]/' "$folder/short.yaml" >"$folder/colour.yaml"
expect 0 "*" "" "$VPD" sim render "$folder/colour.yaml" -o "$folder/colour.h5"
expect 0 '"verdict":"fitted"' "" "$VPD" sim fit "$folder/colour.yaml" --data "$folder/colour.h5" --compare colour --free box.density --free box.velocity.x -o "$folder/colour_fit.yaml" --film "$folder/fit.gif" --threads 1 --json -q
near box.velocity.x 1.6 0.001 # colours beyond white are cut off in the fit as in the recording
near box.density 300 2
[ "$(head -c 3 "$folder/fit.gif")" = GIF ] || fail "no film"
mkdir "$folder/film"
echo mine >"$folder/film/frame_0002.png"
expect 2 "" "frame_0002.png: this file exists and is not a PNG picture;" "$VPD" sim fit "$folder/colour.yaml" --data "$folder/colour.h5" --compare colour --free box.velocity.x -o "$folder/x.yaml" --film "$folder/film" --threads 1

# What the recording does not determine stays at its start.
sed 's/^frames: .*/frames: 4/; s/to: 9/to: 4/' "$scene" >"$folder/air.yaml"
expect 0 "not determined by the recording; stays at its start, 0.7" "*" "$VPD" sim fit "$folder/air.yaml" --data "$folder/throw.h5" -o "$folder/air_fit.yaml" --free ground.mu --free box.velocity --threads 1 -q
grep -q "ground.mu = not determined by the recording; stays at its start, 0.7" "$folder/air_fit.yaml" || fail "mu is guessed: $(head -4 "$folder/air_fit.yaml")"

# A recording of another scene with as many particles: nothing fits, and this is said.
sed 's/position: .*/position: [3, 0, 4]/' "$folder/short.yaml" >"$folder/elsewhere.yaml"
expect 0 "box.density" "are hardly better than those at the start" "$VPD" sim fit "$folder/elsewhere.yaml" --data "$folder/throw.h5" --free box.density -o "$folder/elsewhere_fit.yaml" --threads 1
expect 0 "box.density" "are hardly better than those at the scene's start" "$VPD" sim fit "$folder/elsewhere.yaml" --data "$folder/throw.h5" --free box.density -o "$folder/elsewhere_fit.yaml" --resume --threads 1

wrong() { # WORDS ARGUMENTS..
  local words=$1
  shift
  expect 2 "" "$words" "$VPD" sim fit "$@" -o "$folder/x.yaml"
  [ ! -e "$folder/x.yaml" ] || fail "a file was left behind: $words"
}
wrong 'unknown number of the scene "box.densty"; did you mean "box.density"?' "$scene" --data "$folder/throw.h5" --free box.densty
wrong "substeps: a fit cannot change this number" "$scene" --data "$folder/throw.h5" --free substeps
wrong "nothing is free" "$VPD_SOURCE/scenes/ball.yaml" --data "$folder/throw.h5"
wrong "needs --data FILE.h5" "$scene"
wrong "has 36 particles, and $VPD_SOURCE/scenes/ball.yaml" "$VPD_SOURCE/scenes/ball.yaml" --data "$folder/throw.h5" --free ball.density
wrong "a rollout file has no pictures" "$scene" --data "$folder/throw.h5" --compare depth
wrong "--compare colours: expected states, colour, depth or mask" "$scene" --data "$folder/throw.h5" --compare colours
expect 2 "" "x.h5: expected a name that ends in .yaml, which is what --output writes" "$VPD" sim fit "$scene" --data "$folder/throw.h5" -o "$folder/x.h5"
wrong "x.png: expected a name that ends in .svg" "$scene" --data "$folder/throw.h5" --plot "$folder/x.png"
wrong "there is nothing to resume" "$scene" --data "$folder/throw.h5" --resume
sed 's/^fps: .*/fps: 25/' "$scene" >"$folder/slow.yaml"
wrong 'frame 1 comes 0.0333333 s after the first, and the scene'"'"'s 0.04 s: say "fps: 30"' "$folder/slow.yaml" --data "$folder/throw.h5"
sed 's/box.density: .*/box.density: {start: 1e-9}/' "$scene" >"$folder/light.yaml"
expect 1 "" "step" "$VPD" sim fit "$folder/light.yaml" --data "$folder/throw.h5" -o "$folder/x.yaml" -q
sed 's/^frames: .*/frames: 45\nmemory_mib: 0.001/' "$scene" >"$folder/memory.yaml"
line=$(grep -n memory_mib "$folder/memory.yaml" | cut -d : -f 1)
expect 2 "" "memory.yaml:$line: the gradient of 360 steps needs" "$VPD" sim fit "$folder/memory.yaml" --data "$folder/throw.h5" --method lbfgs -o "$folder/x.yaml" -q
mkdir "$folder/meshes" && printf '4 3 0 0\n1 0 0 1\n2 1 0 1\n3 0 1 1\n4 0 0 2\n' >"$folder/meshes/a.node"
printf '1 4 0\n1 1 2 3 4\n' >"$folder/meshes/a.ele"
printf 'frames: 3\nsubsteps: 9\nobjects: {a: {mesh: {file: a.node}, density: 9, solid: {young: 100, poisson: 0.3}, velocity: [0, 0, 1]}}\n' >"$folder/meshes/s.yaml"
expect 0 "*" "*" "$VPD" sim run "$folder/meshes/s.yaml" -o "$folder/meshes/s.h5"
wrong "names files beside it; write the fitted scene into the same folder" "$folder/meshes/s.yaml" --data "$folder/meshes/s.h5" --free a.velocity
finish
