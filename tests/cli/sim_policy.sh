# SPDX-License-Identifier: Apache-2.0
# vpd sim experiment policy: a policy in front of the rollout's op learns to push a box to a place, with friction too.
. "$VPD_SOURCE/tests/cli/common"

expect 0 "| sees place and friction |" "update 400 of 400" "$VPD" sim experiment policy --instances 100 --threads 1
# below NAME CENTIMETRES: the mean miss.
below() { awk -F'|' -v name=" $1 " -v most="$2" '$2 == name { found = $3 + 0 > 0 && $3 + 0 < most } END { exit !found }' "$folder/stdout"; }
below "closed form of a point" 1 || fail "boxes do not slide as points do: $(cat "$folder/stdout")"
below "sees place and friction" 6 || fail "the policy has not learned: $(cat "$folder/stdout")" # 3.6 of 1000 places
below "sees the place alone" 15 && fail "friction is not needed: $(cat "$folder/stdout")"
below untrained 60 && fail "nothing was to be learned: $(cat "$folder/stdout")"
finish
