# SPDX-License-Identifier: Apache-2.0
# vpd sim gradcheck on the example scenes.
. "$VPD_SOURCE/tests/cli/common"
scenes=$VPD_SOURCE/scenes

# Gradients: right through bounces, in both precisions; an adjoint that grows is warned about.
expect 0 "contact.mu" "" "$VPD" sim gradcheck "$scenes/ball.yaml" --threads 1
sed 's/^frames:/precision: f32\nframes:/' "$scenes/ball.yaml" >"$folder/ball.yaml"
expect 0 '"precision":"f32"' "" "$VPD" sim gradcheck "$folder/ball.yaml" --threads 1 --json
expect 1 "WRONG" "a right gradient is useless" "$VPD" sim gradcheck "$scenes/cloth.yaml" --threads 1
grep -q "gradients differ from the differences by more than 1e-06" "$folder/stderr" || fail "no sentence about wrong gradients"
finish
