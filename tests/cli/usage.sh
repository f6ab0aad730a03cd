# Commands, flags and what is said about wrong ones.
. "$VPD_SOURCE/tests/cli/common"

expect 0 "usage: vpd COMMAND" "" "$VPD" --help
expect 0 "usage: vpd COMMAND" "" "$VPD" -h
expect 0 "usage: vpd COMMAND" "" "$VPD" help
expect 2 "" 'vpd: expected a command; "vpd --help" lists them' "$VPD"
expect 2 "" 'did you mean "vpd version"?' "$VPD" versoin
expect 2 "" 'unknown command "data improt"; did you mean "vpd data import"?' "$VPD" data improt x
expect 2 "" 'unknown option "model.c"; did you mean "model.C"?' "$VPD" init --set model.c=8
expect 2 "" 'unknown command "zzz"; "vpd --help" lists them' "$VPD" zzz
expect 2 "" 'unknown command ""' "$VPD" ""
expect 2 "" 'unknown command "--frobnicate"' "$VPD" --frobnicate

expect 0 "--threads N" "" "$VPD" version --help
expect 0 "--threads N" "" "$VPD" help version
expect 0 "sim fit         find numbers" "" "$VPD" sim --help
expect 0 "data check" "" "$VPD" help data
expect 2 "" "unknown flag --thread; did you mean --threads?" "$VPD" version --thread 2
expect 2 "" 'unknown flag -z; "vpd version --help" lists them' "$VPD" version -z
expect 2 "" "--threads needs a value" "$VPD" version --threads
expect 2 "" '--threads: expected an integer from 1 to 1024, found "0"' "$VPD" version --threads 0
expect 2 "" '--threads: expected an integer from 1 to 1024, found "x"' "$VPD" version --threads=x
expect 2 "" "--threads is given twice" "$VPD" version --threads 1 --threads 2
expect 2 "" "--quiet takes no value" "$VPD" version --quiet=1
expect 2 "" 'unexpected argument "more"; usage: vpd version [flags]' "$VPD" version more
expect 2 "" 'unexpected argument "--help"' "$VPD" version -- --help
expect 0 ", 3 threads here" "" "$VPD" version --threads=3
expect 0 ", 1 thread here" "" "$VPD" version --threads 1

expect 2 "" 'the environment variable VPD_THREADS: expected an integer from 1 to 1024, found "abc"' env VPD_THREADS=abc "$VPD" version
expect 0 ", 1 thread here" "" env VPD_THREADS=abc "$VPD" version --threads 1
expect 0 ", 2 threads here" "" env VPD_THREADS=2 "$VPD" version

# A training's options: the usual ones, or all of them.
options() { "$VPD" "$@" | grep -c '^  [a-z]*\.[a-z_A-Z0-9]*='; }
usual=$(options train --help)
[ "$usual" -ge 15 ] && [ "$usual" -le 30 ] || fail "$usual options in train --help"
[ "$(options train --help all)" -gt 60 ] && [ "$(options help train all)" -gt 60 ] || fail "train --help all lacks options"
expect 0 '"--help all" lists every one' "" "$VPD" train --help
# Defaults are those of the default graph, here and in the manual.
expect 0 "default 0.7 of train.steps" "" "$VPD" train --help all
expect_words "default [1, 2, 3, 6]" "$folder/stdout" "train --help all"
expect_words "default [0, 0.4, 0.6, 0.85]" "$folder/stdout" "train --help all"
expect 0 "Default: 0.7 of train.steps." "" "$VPD" man train

# One sentence, harmless for a terminal whatever the user's words held.
expect 2 "" "vpd: unknown command" "$VPD" "$(printf 'a\033[31mb\nc')"
[ "$(grep -c . "$folder/stderr")" -le 2 ] || fail "more than the sentence"
grep -q "$(printf '\033')" "$folder/stderr" && fail "an escape sequence went through"

# Every command has a help, and none forgets its name in it.
names=$("$VPD" --help | sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p')
[ -n "$names" ] || fail "no commands in vpd --help"
while read -r name; do
  # shellcheck disable=SC2086
  expect 0 "usage: vpd $name" "" "$VPD" $name --help
done <<<"$names"

# Planted: a check that cannot fail would pass this too.
before=$wrong
expect 0 "" "" "$VPD" zzz >/dev/null
[ "$wrong" -gt "$before" ] && wrong=$before || fail "expect does not see a wrong exit status"
finish
