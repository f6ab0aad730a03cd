# SPDX-License-Identifier: Apache-2.0
# With the carried model: a block goes up with two driven fingers that have closed on it (docs/editing.md, "Driven bodies").
. "$VPD_SOURCE/tests/cli/common"

expect 0 "6 episodes" "*" "$VPD" sim render -q "$VPD_SOURCE/scenes/grasps.yaml" -o "$folder/grasps.h5" --episodes 6 --seed 11
expect 0 "motion    better than predicting no motion" "" "$VPD" eval -q "$VPD_SOURCE/demo/carried.h5" "$folder/grasps.h5" --split train --starts 5 --steps 17 --motion --driven 1,2
share=$(sed -n 's/^motion .*(\([0-9]*\) %, steps 1 to 17).*/\1/p' "$folder/stdout")
[ "${share:-100}" -le 50 ] || fail "the error is $share % of the true motion; 9 % were measured, and 99 % of a model that lifts nothing"
finish
