# SPDX-License-Identifier: Apache-2.0
# vpd sim experiment: one scene of an experiment, its page, and what is said about wrong input.
. "$VPD_SOURCE/tests/cli/common"

expect 0 '"number":"mass","from":"pixels","paper":9.01e-5' "mass 1 of 1 from states" "$VPD" sim experiment mass --instances 1 --threads 1 --json -o "$folder/page.md"
grep -q '"from":"pixels of 8 bits",[^{]*"standard_error":[0-9]' "$folder/stdout" || fail "no standard error: $(cat "$folder/stdout")"
grep -q "^## mass" "$folder/page.md" || fail "the page has no section"
grep -q "^| mass | pixels | 9.01e-05 | \(0\|[0-9.]*e-1[0-9]\) " "$folder/page.md" || fail "the mass is not found to 1e-9: $(grep "^| mass" "$folder/page.md")"
grep -q "mass 1 of 1 from pixels: [0-9]* starts, \([2-9]\|[0-9][0-9]\+\) rollouts" "$folder/stderr" || fail "no search for the mass: $(cat "$folder/stderr")"
echo mine >"$folder/mine.md"
expect 2 "" "--force to replace it" "$VPD" sim experiment mass --instances 1 -o "$folder/mine.md"
expect 2 "" "unknown experiment \"mas\"; there are mass, contact, fem, landscape, policy" "$VPD" sim experiment mas
finish
