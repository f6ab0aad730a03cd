# SPDX-License-Identifier: Apache-2.0
# vpd sim gradcheck on the example scenes.
. "$VPD_SOURCE/tests/cli/common"
scenes=$VPD_SOURCE/scenes

# Gradients: right through bounces, in both precisions; an adjoint that grows is warned about.
expect 0 "contact.mu" "" "$VPD" sim gradcheck "$scenes/ball.yaml" --threads 1
sed 's/^frames:/precision: f32\nframes:/' "$scenes/ball.yaml" >"$folder/ball.yaml"
expect 0 '"precision":"f32"' "" "$VPD" sim gradcheck "$folder/ball.yaml" --threads 1 --json
expect 1 "differences disagree" "a right gradient is useless" "$VPD" sim gradcheck "$scenes/cloth.yaml" --threads 1
grep -q "13 of 13 gradients differ from the differences by more than 1e-06; of 13 the differences disagree" "$folder/stderr" || fail "no sentence about gradients that nothing can judge"
grep -q WRONG "$folder/stdout" && fail "chaos is called wrong: $(cat "$folder/stdout")"

# Flat cloth with bending, and a box that slides to rest.
sed 's/^frames: .*/frames: 8/' "$scenes/cloth.yaml" >"$folder/cloth.yaml"
expect 0 "hinge.k_e" "" "$VPD" sim gradcheck "$folder/cloth.yaml" --threads 1
expect 0 "contact.mu" "" "$VPD" sim gradcheck "$scenes/throw.yaml" --threads 1
sed 's/^frames:/precision: f32\nframes:/' "$scenes/throw.yaml" >"$folder/throw.yaml"
expect 1 "f32 alone" " are right in f64" "$VPD" sim gradcheck "$folder/throw.yaml" --threads 1
finish
