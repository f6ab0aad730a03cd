# Every command of docs/tutorial.md in its order, as it stands there; the training alone is cut to a few steps.
. "$VPD_SOURCE/tests/cli/common"
python3 -c 'import h5py, numpy' 2>/dev/null || skip "python3 has no h5py, with which the tutorial makes its recordings (scripts/packages test)"

mkdir "$folder/repository" && cd "$folder/repository" || exit 1
ln -s "$VPD_SOURCE/data" data
ln -s "$VPD_SOURCE/demo" demo
mkdir -p build && ln -s "$(dirname "$VPD")" build/release
sed -n 's/^    //p' "$VPD_SOURCE/docs/tutorial.md" >commands
[ "$(grep -c '^ *vpd ' commands)" -ge 20 ] || fail "docs/tutorial.md has fewer than 20 commands"
sed -i 's|^vpd train .*|& --set train.steps=4 --set train.motion_steps=3 --set encoder.N=400 --set gnn.M=32|' commands
expect 0 "pass: median reprojection error 0.31 mm" "*" bash -eu commands
expect_words "cluster 2" "$folder/stdout" "--show-labels"
expect_words "better than copying the last frame" "$folder/stdout" "vpd eval"
for file in check.png sheet.png out.gif removed.gif changed.gif orbit.gif changed.glb ply/step_0012.ply runs/mine/checkpoints/latest; do
  [ -s "$file" ] || fail "the tutorial wrote no $file"
done
finish
