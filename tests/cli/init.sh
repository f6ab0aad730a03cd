# vpd init writes a config that trains as it stands; manual pages and completion are asked for by name; --json of the version.
. "$VPD_SOURCE/tests/cli/common"
cd "$folder" || exit 1
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split train:1 --frames 5 -o data.h5
expect 0 "" "config.yaml written; next: vpd train config.yaml -o FOLDER" "$VPD" init --data data.h5 --preset tiny --set "encoder.widths=[4,6]" \
  --set encoder.N=300 --set gnn.M=16 --set gnn.L=1 --set train.rays=8 --set "train.rollout=[1]" --set "train.rollout_from=[0]"
[ "$(grep -c '^[a-z]' config.yaml)" = 9 ] || fail "settings: $(grep '^[a-z]' config.yaml)"
grep -qx "train.rays: 8" config.yaml && grep -qx "encoder.widths: \[4, 6\]" config.yaml || fail "what was asked for is not set"

# Each option stands in it, and a value behind # is one that may be set: all of them together are the same config.
"$VPD" train --help all | sed -n 's/^  \([a-z]*\.[a-z_A-Z0-9]*\)=.*/\1/p' | sort >options
[ "$(wc -l <options)" -gt 60 ] || fail "options: $(wc -l <options)"
sed -n 's/^#\? \?\([a-z]*\.[a-z_A-Z0-9]*\): .*/\1/p' config.yaml | sort >written
diff options written >difference || fail "options that are not in the config: $(cat difference)"
sed 's/^# \([a-z]*\.[a-z_A-Z0-9]*: \)/\1/' config.yaml >all.yaml
for config in config all; do
  expect 0 "weights" "*" "$VPD" train $config.yaml --dry-run
  sed -n '1,2p' "$folder/stdout" >"$config.out"
done
cmp -s config.out all.out || fail "the values behind # are not those that hold: $(cat config.out all.out)"

expect 2 "" "config.yaml: already exists; --force replaces it" "$VPD" init
expect 0 "" "" "$VPD" init -q --force
grep -q "^[a-z]" config.yaml && fail "something is set that nobody asked for"
expect 0 "weights" "*" "$VPD" train config.yaml -d data.h5 --dry-run --set "train.rollout=[1]" --set "train.rollout_from=[0]"
sed -n '1,2p' "$folder/stdout" >config.out
expect 0 "weights" "*" "$VPD" train -d data.h5 --dry-run --set "train.rollout=[1]" --set "train.rollout_from=[0]"
sed -n '1,2p' "$folder/stdout" | cmp -s - config.out || fail "without a config another model is trained"
expect 2 "" 'unknown option "train.stepz"; did you mean "train.steps"?' "$VPD" init x.yaml --set train.stepz=3
expect 2 "" "model.preset" "$VPD" init x.yaml --preset huge
expect 2 "" "/dev/null/x.yaml" "$VPD" init /dev/null/x.yaml
expect 2 "" "nothere.h5: " "$VPD" init x.yaml --data nothere.h5
cp "$VPD_SOURCE/README.md" text.h5
expect 2 "" "text.h5: expected an HDF5 file, found a text file" "$VPD" init x.yaml --set data.path=text.h5
[ -e x.yaml ] && fail "a refused config was written"

expect 0 '.TH "vpd-train"' "" "$VPD" man train
expect 0 ".B train.steps" "" "$VPD" man train
if command -v script >/dev/null && command -v man >/dev/null; then # a page where it is read on a terminal
  expect 0 "User Commands" "" env MANPAGER=cat script -qec "$VPD man train" /dev/null
  grep -q '^\.TH' "$folder/stdout" && fail "a terminal shows the page's source"
fi
expect 0 '.TH "vpd-data-check"' "" "$VPD" man data check
expect 2 "" 'did you mean "vpd train"' "$VPD" man trian
expect 2 "" "give it without \"train\"" "$VPD" man train --output x
expect 0 "#compdef vpd" "" "$VPD" completion zsh
expect 0 "complete -o default -F _vpd vpd" "" "$VPD" completion
expect 2 "" 'expected bash or zsh, found "fish"' "$VPD" completion fish
expect 0 '"libraries":{"HDF5":"' "" "$VPD" version --json
[ "$(wc -l <"$folder/stdout")" = 1 ] || fail "version --json is not one line"
finish
