# The program in docs/data.md, as it stands there, writes a data set that passes the check.
. "$VPD_SOURCE/tests/cli/common"
python=${VPD_PYTHON:-python3}
"$python" -c 'import h5py, numpy' 2>/dev/null || skip "$python has no h5py (set VPD_PYTHON to one that has)"

sed -n '/^```python$/,/^```$/p' "$VPD_SOURCE/docs/data.md" | sed '1d;$d' >"$folder/write.py"
[ "$(wc -l <"$folder/write.py")" -gt 30 ] || fail "no program in docs/data.md"
expect 0 "" "" "$python" "$folder/write.py" "$folder/mine.h5"
expect 0 "episodes   4 (train 2, val 1, test 1)" "" "$VPD" data info "$folder/mine.h5"
expect 0 "pass: median reprojection error 0.0" "*" "$VPD" data check "$folder/mine.h5" -o "$folder/mine.png"

# One camera of three is wrong: no hypothesis about all cameras is named for it.
"$python" -c 'import h5py, sys
with h5py.File(sys.argv[1], "r+") as file:
    first, *others = list(file["episodes"])
    for name in others:
        del file["episodes"][name]
    poses = file["episodes"][first]["world_from_camera"]
    poses[..., 1, 2, 3] += 0.5' "$folder/mine.h5"
expect 2 "WRONG view 1 disagrees with the others" "*" "$VPD" data check "$folder/mine.h5"
finish
