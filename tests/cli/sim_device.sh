# SPDX-License-Identifier: Apache-2.0
# vpd sim run, gradcheck and render, and vpd_sim_*, with --device cuda: the module that the program loads is the
# stand-in of tests/cuda_on_cpu, so all but the GPU itself is tried.
. "$VPD_SOURCE/tests/cli/common"
build=$(dirname "$VPD")
[ -f "$build/stand_in/libvpd_cuda.so" ] || skip "the stand-in of CUDA is not built"
cp "$VPD" "$build/stand_in/libvpd_cuda.so" "$folder" && cp -L "$build/libvpd.so.0" "$folder" || fail "no copies"
vpd=$folder/vpd

sed -e 's/^frames: .*/frames: 3/' -e 's/^substeps: .*/substeps: 60/' -e 's/cells: 3/cells: 1/' \
  -e 's/position: .*/position: [0, 0, 0.15]/' "$VPD_SOURCE/scenes/ball.yaml" >"$folder/ball.yaml"
expect 0 "20 tetrahedra" "" "$vpd" sim run "$folder/ball.yaml" -o "$folder/ball.h5" --device cuda
expect 0 "contact.mu" "" "$vpd" sim gradcheck "$folder/ball.yaml" --device cuda
grep -q "no effect" "$folder/stdout" && fail "the ball does not touch the ground"
# A cloth falls onto a box; no particle is where a gradient has a kink, as at the diagonal of a square.
sed -e 's/^frames: .*/frames: 2/' -e 's/^substeps: .*/substeps: 60/' -e 's/cells: \[4, 4, 4\]/cells: [1, 1, 1]/' \
  -e 's/cells: 3/cells: 1/' -e 's/cells: \[24, 24\]/cells: [5, 5]/' -e 's/0\.151\]/0.2]/' \
  -e 's/\[0\.05, 0\.03, 0\.5\]/[0.061, 0.033, 0.3543]\n    velocity: [0.1, 0.05, -0.3]/' \
  "$VPD_SOURCE/scenes/drape.yaml" >"$folder/drape.yaml"
expect 0 "contact.mu" "" "$vpd" sim gradcheck "$folder/drape.yaml" --device cuda
grep -q "no effect" "$folder/stdout" && fail "the cloth does not touch the box"
for method in soft dib-r z-buffer; do
  { cat "$folder/ball.yaml"; echo "picture: {size: [24, 20], rasteriser: $method}"; } >"$folder/$method.yaml"
  sed -i 's/^picture/lights: [{direction: [0, 0, 1]}]\npicture/' "$folder/$method.yaml" # no shadow map, which takes long here
  expect 0 "4 frames of 1 camera" "" "$vpd" sim render "$folder/$method.yaml" -o "$folder/$method.h5" --device cuda
  expect 0 "4 frames of 1 camera" "" "$vpd" sim render "$folder/$method.yaml" -o "$folder/$method" --device cuda
done
expect 0 "not checked: each episode has one camera" "*" "$VPD" data check "$folder/soft.h5"
# The C API, by the copy of the library beside the module.
expect 0 "*" "*" env LD_LIBRARY_PATH="$folder" VPD_SIM_DEVICE=cuda "$build/tests/api_sim_test"
grep -q "device cuda: .*cuda_on_cpu" "$folder/stdout" "$folder/stderr" || fail "the API did not use the module"
finish
