# SPDX-License-Identifier: Apache-2.0
# vpd sim experiment: one scene of an experiment, its page, and what is said about wrong input.
. "$VPD_SOURCE/tests/cli/common"

expect 0 "| mass | pixels | 9.01e-05 |" "mass 1 of 1 from states" "$VPD" sim experiment mass --instances 1 --threads 1 -o "$folder/page.md"
grep -q "^## mass" "$folder/page.md" || fail "the page has no section"
expect 0 '"instances":1' "*" "$VPD" sim experiment mass --instances 1 --threads 1 -o "$folder/page.md" --json
[ "$(grep -c "^## mass" "$folder/page.md")" = 1 ] || fail "the section stands twice"
"$VPD" sim experiment mass --instances 1 --threads 1 --json 2>/dev/null | grep -q '"from":"pixels","paper":9.01e-5,"mean":[^,]*e-1[0-9],' || fail "the mass is not found to 1e-9"
echo mine >"$folder/mine.md"
expect 2 "" "--force to replace it" "$VPD" sim experiment mass --instances 1 --threads 1 -o "$folder/mine.md"
expect 2 "" "unknown experiment \"mas\"; there are mass, contact, fem, landscape" "$VPD" sim experiment mas
finish
