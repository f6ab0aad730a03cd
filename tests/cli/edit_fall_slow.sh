# SPDX-License-Identifier: Apache-2.0
# With the carried model: bodies that are edited fall as physics says.
. "$VPD_SOURCE/tests/cli/common"

# A body that is thrown from rest falls: half of g t^2 in a quarter of a second is 0.307 m.
carried=$VPD_SOURCE/demo/carried.h5
rest="throw: {label: [1, 2], velocity: [0, 0, 0], gravity: [0, 0, -9.81], replace: true}"
height() { # FILE, of label 1 in millimetres
  "$VPD" edit "$1" --show-labels | sed -n 's/^label *1 .*centre *[-0-9.]* *[-0-9.]* *\([-0-9.]*\) .*/\1/p' | awk '{printf "%d", 1000 * $1}'
}
falls() { # EDIT: then thrown from rest, the fall of label 1 in six steps
  expect 0 "*" "" "$VPD" edit -q "$folder/seen.h5" --do "$1" --do "$rest" -o "$folder/rest.h5"
  expect 0 "6 steps" "*" "$VPD" rollout -q "$carried" "$folder/rest.h5" --steps 6 --threads 1 -o "$folder/fallen.h5"
  expect 0 "*" "" "$VPD" edit -q "$folder/fallen.h5" --step 6 --do "label: {label: 1, as: fallen, id: 1}" -o "$folder/end.h5"
  local from to
  from=$(height "$folder/rest.h5") to=$(height "$folder/end.h5")
  echo "fallen by $((from - to)) mm"
  { [ $((from - to)) -ge 276 ] && [ $((from - to)) -le 338 ]; } || fail "from rest $((from - to)) mm in six steps, not 307 within 10 %: $1"
}
expect 0 "*" "*" "$VPD" rollout -q "$carried" "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --episode 000017 --start 1 --steps 0 --threads 1 -o "$folder/seen.h5"
falls "move: {label: [1, 2], by: [0, 0, 0.4]}"
falls "remove: {floor: true}"
finish
