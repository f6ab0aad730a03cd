#!/usr/bin/env bash
# vpd edit: a rollout is edited from a list and from the command line, goes on, is drawn and edited again; wrong input is named.
# SPDX-License-Identifier: Apache-2.0
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/tiny_run"
in=$folder/in.h5
expect 0 "*" "*" "$VPD" rollout -q "$run" "$data" --episode 2 --steps 2 --threads 1 -o "$in"

# What is there, and edits one by one.
expect 0 "object 0" "" "$VPD" edit "$in" --show-labels
expect_words "32 particles and 256 hidden points" "$folder/stdout" "labels count hidden points apart"
expect 0 "edits: []" "" "$VPD" edit "$in" --show-history
expect 0 "; before 300 particles and 512 hidden points; 1 edit (episode" "remove: 32 particles and 256 hidden points of 1 label" "$VPD" edit "$in" --do "remove: {label: object 0}" -o "$folder/a.h5"
expect 0 "  - remove: {label: \"object 0\"}" "" "$VPD" edit "$folder/a.h5" --show-history
"$VPD" edit "$folder/a.h5" --show-labels | grep -q "object 0" && fail "the removed object is still there"
expect 0 "s for the edits" "" "$VPD" edit -q "$in" --step 2 --do "throw: {moving: true, velocity: [0, 0, 2]}" --time -o "$folder/b.h5"
expect 0 "  # at step 2 of a rollout (--step 2):" "" "$VPD" edit "$folder/b.h5" --show-history

# What is driven goes where it is told, also behind a list, a history and a file; the other object does not.
expect 0 "1 edit (episode" "drive: " "$VPD" edit "$in" --do "drive: {label: object 0, velocity: [0, 0, 2.4], steps: 2}" -o "$folder/driven.h5"
expect 0 "driven_bodies    1" "" "$VPD" inspect "$folder/driven.h5"
expect_words "driven_steps     2" "$folder/stdout" "inspect of a driven body"
expect 0 "  - drive: {label: \"object 0\", velocity: [0, 0, 2.4], steps: 2}" "" "$VPD" edit "$folder/driven.h5" --show-history
expect 0 "2 steps" "*" "$VPD" rollout -q "$run" "$folder/driven.h5" --steps 2 --threads 1 -o "$folder/driven2.h5"
"$VPD" edit "$folder/driven2.h5" --step 2 --show-labels > "$folder/after"
height() { sed -n "s/.*centre *[-0-9.]* *[-0-9.]* *\([-0-9.]*\) *$2\$/\1/p" "$1"; }
"$VPD" edit "$in" --show-labels > "$folder/before"
rise=$(awk "BEGIN { printf \"%.2f\", $(height "$folder/after" "object 0") - $(height "$folder/before" "object 0") }")
[ "$rise" = 0.20 ] || fail "object 0 was driven upwards by 0.2 m, and rose by $rise"

# Bodies that are simulated: as an edit, and from the start of a rollout.
expect 0 "1 edit (episode" "simulate: 75 particles and 512 hidden points" "$VPD" edit "$in" --do "simulate: {steps: 3, contact: {mu: 0.3}}" -o "$folder/simulated.h5"
expect 0 "driven_steps     3" "" "$VPD" inspect "$folder/simulated.h5"
expect 0 "  - simulate: {steps: 3, contact: {mu: 0.3}}" "" "$VPD" edit "$folder/simulated.h5" --show-history
expect 0 "2 steps" "*" "$VPD" rollout -q "$run" "$data" --episode 2 --steps 2 --threads 1 --analytic -o "$folder/analytic.h5"
expect 0 "driven_steps     2" "" "$VPD" inspect "$folder/analytic.h5"
expect 0 "edits: []" "" "$VPD" edit "$folder/analytic.h5" --show-history
expect 2 "" "--analytic" "$VPD" rollout -q "$run" "$in" --steps 2 --analytic -o "$folder/refused.h5"
# Wrong keys are named before any work.
for more in "--episode 2 -o $folder/refused.h5" "--split test -o $folder/refused"; do
  expect 2 "" '--analytic:1: unknown key or selection "mu"' "$VPD" rollout -q "$folder/none" "$data" $more --analytic="{mu: 0.3}"
done

# The result goes into rollout and render as it is, and is edited again.
expect 0 "2 steps" "*" "$VPD" rollout -q "$run" "$folder/a.h5" --steps 2 --threads 1 -o "$folder/a2.h5"
expect 0 "3 frames" "*" "$VPD" render -q "$folder/a2.h5" --views 0 --no-truth --size 16x16 --threads 1 -o "$folder/a2.gif"
expect 0 "3 frames" "the scene was edited, and the true pictures beside it were not" "$VPD" render "$folder/a2.h5" --views 0 --threads 1 -o "$folder/beside.gif"
expect 0 "1 edit" "found" "$VPD" edit "$in" --do "cluster: {}" -o "$folder/labelled.h5"
expect 0 "1 frame" "*" "$VPD" render "$folder/labelled.h5" --views 0 --step 0 --threads 1 -o "$folder/labelled"
grep -q "was edited" "$folder/stderr" && fail "labels are no edit of what happens"
expect 0 "1 edit (episode" "move: " "$VPD" edit "$folder/a2.h5" --do "move: {all: true, by: [0, 0, 1]}" -o "$folder/a3.h5"
[ "$("$VPD" edit "$folder/a3.h5" --show-history | grep -c '^  - ')" = 2 ] || fail "the history lost an edit"

# A list, replayed from the history of its result, also on another episode; files in it lie beside it.
mkdir "$folder/lists"
cp "$folder/a.h5" "$folder/lists/other.h5"
cat >"$folder/lists/edits.yaml" <<'EDITS'
version: 1
edits:
  - copy: {label: 1, by: [0.3, 0, 0.2], as: twin}
  - remove: {floor: true, label: 0}
  - compose: {file: other.h5, label: 0, by: [0, 0, -1]}
  - move: {label: 40, by: [0, 0, 1], if_empty: skip}
EDITS
expect 0 "3 edits, 1 left out" "move is left out: its selection is empty" "$VPD" edit "$in" --script "$folder/lists/edits.yaml" -o "$folder/c.h5"
"$VPD" edit "$folder/c.h5" --show-history >"$folder/again.yaml"
expect 0 "3 edits (episode" "copy: " "$VPD" edit "$in" --script "$folder/again.yaml" -o "$folder/d.h5"
[ "$("$VPD" edit "$folder/c.h5" --show-labels)" = "$("$VPD" edit "$folder/d.h5" --show-labels)" ] || fail "the replayed list gave something else"
expect 0 "*" "*" "$VPD" rollout -q "$run" "$data" --episode 1 --steps 1 --threads 1 -o "$folder/one.h5"
expect 0 "3 edits (episode" "copy: " "$VPD" edit "$folder/one.h5" --script "$folder/again.yaml" -o "$folder/e.h5"

# A name means all labels that have it, and the number of them is said.
expect 0 "2 edits (episode" "copy: " "$VPD" edit "$in" --do "copy: {label: object 0, by: [0, 0, 1]}" --do "copy: {label: object 0, by: [0, 0, 2]}" -o "$folder/two.h5"
expect 0 "1 edit (episode" "of 2 labels" "$VPD" edit "$folder/two.h5" --do "remove: {label: object 0 copy}" -o "$folder/none.h5"
"$VPD" edit "$folder/none.h5" --show-labels | grep -q "copy" && fail "a copy is still there"

# Wrong input.
wrong_edit() { # WORDS ARGUMENTS...
  local words=$1
  shift
  expect 2 "" "$words" "$VPD" edit "$@"
  [ ! -e "$folder/x.h5" ] || fail "a file was left behind: $*"
}
wrong_edit 'expected edits: --script FILE, or --do "remove: {label: 2}"' "$in"
wrong_edit "edit needs --output FILE.h5" "$in" --do "remove: {label: 1}"
wrong_edit 'unknown edit "remov"; did you mean "remove"?' "$in" --do "remov: {label: 1}" -o "$folder/x.h5"
wrong_edit 'there is no label "9"; the particles have 0 (background), 1 (object 0)' "$in" --do "remove: {label: 9}" -o "$folder/x.h5"
wrong_edit "the selection takes none of the 300 particles and 512 hidden points;" "$in" --do "remove: {height: {above: 50}}" -o "$folder/x.h5"
wrong_edit "like: the selection takes none of the 300 particles and 512 hidden points" "$in" --do "recolour: {label: 1, like: {height: {above: 50}}}" -o "$folder/x.h5"
wrong_edit "--do number 2:1: unknown edit" "$in" --do "remove: {label: 1}" --do "remov: {label: 1}" -o "$folder/x.h5"
wrong_edit "--do number 2:1: remove: the selection takes none" "$in" --do "remove: {label: 1}" --do "remove: {label: 1}" -o "$folder/x.h5"
wrong_edit "/dev/null/x.h5" "$in" --do "remove: {label: 1}" -o /dev/null/x.h5
wrong_edit "expected a step of the rollout, 0 to 2, found 3" "$in" --step 3 --do "remove: {label: 1}" -o "$folder/x.h5"
wrong_edit "absent.yaml" "$in" --script "$folder/absent.yaml" -o "$folder/x.h5"
wrong_edit "not valid YAML" "$in" --do "remove: {label: 1" -o "$folder/x.h5"
printf 'version: 7\nedits: []\n' >"$folder/newer.yaml"
wrong_edit "newer.yaml:1: this list of edits has version 7, but this program reads version 1" "$in" --script "$folder/newer.yaml" -o "$folder/x.h5"
wrong_edit "cannot open" "$in" --do "compose: {file: $folder/absent.h5}" -o "$folder/x.h5"
wrong_edit 'expected a rollout (format "vpd-rollout"), found a data set' "$data" --do "remove: {label: 1}" -o "$folder/x.h5"
expect 0 "*" "*" "$VPD" rollout -q "$run" "$data" --episode 2 --steps 1 --raw --threads 1 -o "$folder/raw.h5"
wrong_edit "another model made them" "$in" --do "compose: {file: $folder/raw.h5}" -o "$folder/x.h5"
finish
