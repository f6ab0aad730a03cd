# SPDX-License-Identifier: Apache-2.0
# vpd sim beside MuJoCo, where Python has it: a throw, damped springs, a bounce, a block that slides to rest,
# particles that hit a fixed block or slide on it, a rigid box that tumbles or slides, an arm with motors, and a rod
# with limits and friction.
. "$VPD_SOURCE/tests/cli/common"
python=${VPD_PYTHON:-python3}
"$python" -c 'import mujoco, numpy' 2>/dev/null || skip "$python has no mujoco (set VPD_PYTHON to one that has)"

"$python" "$VPD_SOURCE/tests/cli/mujoco_check" "$VPD" "$folder" || fail "MuJoCo moves particles another way"
finish
