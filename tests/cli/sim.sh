# SPDX-License-Identifier: Apache-2.0
# vpd sim: the example scenes, what other commands make of the result, and what is said about wrong input.
. "$VPD_SOURCE/tests/cli/common"
scenes=$VPD_SOURCE/scenes

# Every example runs within its stable bound, and the file is read by others. The cloth that falls on others takes half a minute under sanitizers.
for scene in "$scenes"/*.yaml; do
  [ "${VPD_SANITIZED:-0}$(basename "$scene")" = 1drape.yaml ] && continue
  expect 0 " frames" "" "$VPD" sim run "$scene" --threads 1 -o "$folder/$(basename "$scene" .yaml).h5"
done
sed 's/^frames: .*/frames: 9/' "$scenes/drape.yaml" >"$folder/drape.yaml"
expect 0 "9 frames" "" "$VPD" sim run "$folder/drape.yaml" --threads 2 -o "$folder/short.h5"
sed 's/^frames: .*/frames: 9/' "$scenes/rigid.yaml" >"$folder/rigid.yaml"
expect 0 "381 particles, 0 springs, 0 tetrahedra, 4 rigid bodies, " "" "$VPD" sim run "$folder/rigid.yaml" --threads 2 --force -o "$folder/rigid.h5"
expect 0 '"rigids":4' "" "$VPD" sim run "$folder/rigid.yaml" --threads 1 --json --force -o "$folder/rigid.h5"
expect 0 "labels" "" "$VPD" inspect "$folder/cloth.h5"
"$VPD" inspect "$folder/cloth.h5" | grep -q "cloth *169" || fail "inspect does not count the cloth"
expect 0 "*" "*" "$VPD" export "$folder/beam.h5" --ply "$folder/ply" --npz "$folder/beam.npz" --gltf "$folder/beam.glb" --usda "$folder/beam.usda"
[ "$(find "$folder/ply" -name 'step_*.ply' | wc -l)" = 91 ] || fail "export made $(find "$folder/ply" | wc -l) files"
expect 0 '"frames":90' "" "$VPD" sim run "$scenes/beam.yaml" --threads 1 --json -o "$folder/beam.h5"

# The same bits with any number of threads.
expect 0 "*" "" "$VPD" sim run "$scenes/beam.yaml" --threads 2 -o "$folder/beam2.h5"
"$VPD" export "$folder/beam2.h5" --npz "$folder/beam2.npz" >"$folder/log" 2>&1
"$VPD" export "$folder/beam.h5" --npz "$folder/beam1.npz" >"$folder/log" 2>&1
cmp "$folder/beam1.npz" "$folder/beam2.npz" || fail "1 and 2 threads differ"

# scene SED..: the beam with changes.
scene() { sed "$@" "$scenes/beam.yaml" >"$folder/scene.yaml"; }
wrong() { # WORDS
  expect 2 "" "$1" "$VPD" sim run "$folder/scene.yaml" -o "$folder/x.h5"
  [ ! -e "$folder/x.h5" ] || fail "a file was left behind: $1"
}
scene 's/substeps: .*/substeps: 200/'
expect 0 "*" "is above the stable bound" "$VPD" sim run "$folder/scene.yaml" -o "$folder/y.h5"
scene 's/substeps: .*/substeps: 10/'
expect 1 "" "holds the first 1 of 91 frames" "$VPD" sim run "$folder/scene.yaml" -o "$folder/nan.h5"
grep -q "scene.yaml: step .*tet" "$folder/stderr" || fail "a NaN names no step and element: $(cat "$folder/stderr")"
expect 0 "particles" "" "$VPD" inspect "$folder/nan.h5"
scene 's/^frames:/memory_mib: 0.001\nframes:/'
line=$(grep -n memory_mib "$folder/scene.yaml" | cut -d : -f 1)
expect 2 "" "scene.yaml:$line: the gradient of 21600 steps needs" "$VPD" sim gradcheck "$folder/scene.yaml"
scene 's/density/densty/'
wrong 'unknown key "densty"; did you mean "density"?'
scene 's/object: beam/object: bean/'
wrong 'unknown object "bean"; did you mean "beam"?'
scene -e '$a fit: {free: {beam.densty: {start: 300}}}'
last=$(wc -l <"$folder/scene.yaml")
wrong "scene.yaml:$last: unknown number of the scene \"beam.densty\"; did you mean \"beam.density\"?"
expect 2 "" 'did you mean "beam.density"?' "$VPD" sim gradcheck "$folder/scene.yaml"
scene -e '$a fit: {free: {beam.density: {start: lots}}}'
wrong "scene.yaml:$last: start: expected a finite number, found lots"
scene -e '$a fit: {free: {beam.density: {start: 5, low: 6}}}'
wrong 'beam.density: the start 5 is not between low 6 and high inf'
scene 's/density: 400/density: 0/'
wrong 'density: expected more than 0, found 0; particles that stay in their place are "fixed"'
scene 's/box: .*/mesh: {file: open.obj, fill: 0.1}/'
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >"$folder/open.obj"
wrong "open.obj:4: the face has an edge at which no other is, so the surface is not closed: from (0, 0, 0) to (1, 0, 0) m"
printf 'v 0 0 0\nv 1 0 0\nf 1 2 3\n' >"$folder/open.obj"
wrong "open.obj:3: the face names vertex 3, but 2 were read so far"
scene 's/box: .*/mesh: {file: a.node}/'
printf '5 3 0 0\n1 9 9 9\n2 0 0 0\n3 1 0 0\n4 0 1 0\n5 0 0 1\n' >"$folder/a.node"
printf '1 4 0\n1 2 3 4 5\n' >"$folder/a.ele"
sed -i -e 's/^frames: .*/frames: 1/' -e '/fixed:/d' -e '/^controls/,$d' "$folder/scene.yaml"
expect 0 "*" "a.node: 1 vertex belongs to no element and is left out; later numbers move" "$VPD" sim run "$folder/scene.yaml" -o "$folder/node.h5"
scene 's/box: .*/mesh: {file: a.node}/'
printf '4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1e-9\n' >"$folder/a.node"
printf '1 4 0\n1 1 2 3 4\n' >"$folder/a.ele"
wrong "a.node: tetrahedron 1 is flat"
sed '/^planes:/,/^objects:/{/^objects:/!d}' "$scenes/ball.yaml" >"$folder/air.yaml"
expect 0 "*" "nothing is touched" "$VPD" sim run "$folder/air.yaml" -o "$folder/air.h5"
sed 's/position: .*/position: [0, 0, 0.1]/' "$scenes/ball.yaml" >"$folder/low.yaml"
expect 0 "*" "ball starts 0.047 m below a plane, which pushes it out" "$VPD" sim run "$folder/low.yaml" -o "$folder/low.h5"
expect 2 "" "sim run needs --output FILE.h5" "$VPD" sim run "$scenes/beam.yaml"
expect 2 "" "x.npz: expected a name that ends in .h5, which is what --output writes" "$VPD" sim run "$scenes/beam.yaml" -o "$folder/x.npz"
expect 2 "" "expected a scene in YAML" "$VPD" sim run "$folder/beam.h5" -o "$folder/x.h5"
expect 2 "" "there_is_none.yaml" "$VPD" sim gradcheck "$folder/there_is_none.yaml"
finish
