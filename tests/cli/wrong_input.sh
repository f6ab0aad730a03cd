# SPDX-License-Identifier: Apache-2.0
# Wrong files, swapped arguments, empty values and filters that leave nothing: one sentence and exit status 2, before any work.
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/tiny_run"
rollout=$folder/rollout.h5
expect 0 "*" "*" "$VPD" rollout -q "$run" "$data" --steps 0 --threads 1 -o "$rollout"
printf 'a: b\n' | tee "$folder/text.txt" >"$folder/text.md"
printf '\211PNG\r\n\032\n0000' >"$folder/picture.png"
: >"$folder/empty.h5"

wrong_input() { # SENTENCE COMMAND...
  local words=$1
  shift
  expect 2 "" "$words" "$VPD" "$@"
  [ "$(grep -vc "averaged weights" "$folder/stderr")" = 1 ] || fail "not one sentence: $(cat "$folder/stderr")"
}

# What a file is, where another kind was expected; swapped arguments.
swapped="is a data set; expected a checkpoint; the arguments seem swapped: vpd"
wrong_input "$data $swapped eval CHECKPOINT DATA" eval "$data" "$run"
wrong_input "$swapped rollout CHECKPOINT DATA" rollout "$data" "$run" -o "$folder/x.h5"
wrong_input "is a rollout; expected a checkpoint; the arguments seem swapped" rollout "$rollout" "$run" -o "$folder/x.h5"
wrong_input "found a data set" eval "$data" "$data"
wrong_input "expected a checkpoint (format \"vpd-checkpoint\"), found particles" eval "$rollout" "$data"
wrong_input "found the folder of a training run" data info "$run"
wrong_input "expected a file, found the folder of a training run" render "$run"
wrong_input "found a PNG picture" eval "$folder/picture.png" "$data"
wrong_input "expected an HDF5 file, found a text file" data info "$folder/text.md"
wrong_input "text.txt:1: expected the path of a data set, found no file" data info "$folder/text.txt"
wrong_input "found an empty file" render "$folder/empty.h5"
wrong_input "expected a checkpoint (format \"vpd-checkpoint\"), found a data set" export "$data" --safetensors "$folder/x.safetensors"
wrong_input "expected a rollout (format \"vpd-rollout\"), found a data set" export "$data" --npz "$folder/x.npz"
wrong_input "expected a config in YAML, found an HDF5 file" train "$data"
wrong_input "expected a list of edits in YAML, found an HDF5 file" edit "$rollout" --script "$data" -o "$folder/x.h5"
wrong_input "expected cameras in JSON, found a PNG picture" render "$rollout" --cameras "$folder/picture.png"
wrong_input "absent: cannot open" data import "$folder/absent" -o "$folder/x.h5"
wrong_input "expected a recording in one of these layouts, found an HDF5 file" data import "$rollout" -o "$folder/x.h5"
wrong_input "found a data set, which needs no import; \"vpd data convert\" crops" data import "$data" -o "$folder/x.h5"

# Old flags name the new ones.
wrong_input "--out was renamed to --output (-o)" rollout "$run" "$data" --out "$folder/x.h5"
wrong_input "--out was renamed to --output (-o)" train --out="$folder/x"

# Values that leave nothing, and outputs that cannot be: said before the work.
wrong_input "--near 5 --far 1: no depth lies between them" data import "$folder" -o "$folder/x.h5" --near 5 --far 1
wrong_input "no pixel with depth lies in the box" data convert -q "$data" --box 50,50,50,51,51,51 -o "$folder/x.h5"
wrong_input "none of its episodes is selected" data convert -q "$data" --split train:0 -o "$folder/x.h5"
wrong_input "is named twice" eval -q "$run" "$data" --episode 1 --episode 000001
wrong_input "no episode 9; expected a name such as 000000, or a number from 0 to 2" data check "$data" --episode 9
wrong_input "/dev/null/x.png: cannot write" data check "$data" -o /dev/null/x.png
wrong_input "expected a name that ends in .png (a contact sheet) or .gif" data show "$data" -o "$folder/x.txt"
wrong_input "--level: expected an integer from 1 to 9" data convert "$data" --level 10 -o "$folder/x.h5"
wrong_input "is a folder; expected the name of a config file" init "$folder"
[ ! -e "$folder/x.h5" ] || fail "a file was left behind"

# An empty value is what a shell makes of an unset variable. --output is the one name, --json a switch.
names=$("$VPD" --help | sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p')
flags=0
while read -r name; do
  # shellcheck disable=SC2086
  "$VPD" $name --help >"$folder/help"
  grep -Eq -- '--out( |$)|--json [A-Z]' "$folder/help" && fail "vpd $name: --out, or --json with a value"
  for flag in $(sed -n 's/^ *\(-[a-z], \)\?--\([a-z-]*\) \([A-Z][^ ]*\) .*/\2:\3/p' "$folder/help" | grep -v ':TEXT'); do
    flags=$((flags + 1))
    # shellcheck disable=SC2086
    wrong_input "--${flag%%:*} is empty; expected" $name --"${flag%%:*}" ""
  done
done <<<"$names"
[ "$flags" -gt 60 ] || fail "only $flags flags with values were found"
wrong_input "argument 1 is empty; usage" inspect ""

# Errors and warnings are coloured in the same way, on a terminal alone and not with NO_COLOR.
if script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  on_terminal() { script -qec "$*" /dev/null </dev/null | tr -d '\r'; }
  export TERM=xterm
  on_terminal "'$VPD' zzz" | grep -q "$(printf '\033\\[31mvpd: unknown command.*\033\\[0m')" || fail "no coloured error: $(on_terminal "'$VPD' zzz")"
  on_terminal "'$VPD' eval '$run' '$data' --motion --starts 2,4 --steps 5 --threads 1" | grep -q "$(printf '\033\\[33mwarning: too short.*\033\\[0m')" ||
    fail "no coloured warning"
  on_terminal "NO_COLOR=1 '$VPD' zzz" | grep -q "$(printf '\033\\[31m')" && fail "NO_COLOR is not respected"
else
  echo "skipped: colours on a terminal: script makes none here (no /dev/pts?)"
fi
finish
