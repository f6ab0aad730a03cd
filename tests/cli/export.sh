# vpd export: files that others read, and what is said about wrong ones.
. "$VPD_SOURCE/tests/cli/common"
seeds=$VPD_SOURCE/tests/fuzz/corpus/checkpoint

expect 0 "usage: vpd export FILE" "" "$VPD" export --help
expect 0 "" "averaged weights of step 10 written" "$VPD" export "$seeds/training.h5" --safetensors "$folder/a.safetensors"
head -c 300 "$folder/a.safetensors" | grep -q '{"__metadata__":{"format":"vpd","weights":"ema","step":"10"' || fail "no header in a.safetensors"
expect 0 "" "raw weights of step 10 written" "$VPD" export "$seeds/training.h5" --raw --half --safetensors "$folder/raw.safetensors"
[ "$(stat -c %s "$folder/raw.safetensors")" -lt "$(stat -c %s "$folder/a.safetensors")" ] || fail "f16 is no smaller"
expect 0 "" "" "$VPD" export -q "$seeds/training.h5" --checkpoint "$folder/p.h5" --half
expect 0 "" "" "$VPD" export -q "$folder/p.h5" --safetensors "$folder/b.safetensors"
cmp -s <(tail -c 800 "$folder/a.safetensors") <(tail -c 800 "$folder/b.safetensors") || fail "a publication holds other weights"

# A run's folder, its best checkpoint, and a damaged one.
mkdir -p "$folder/run/checkpoints"
cp "$seeds/training.h5" "$folder/run/checkpoints/step_00000010.h5"
echo step_00000020.h5 >"$folder/run/checkpoints/best"
echo nothing >"$folder/run/checkpoints/step_00000020.h5"
expect 0 "" "warning: skipped: $folder/run/checkpoints/step_00000020.h5" "$VPD" export "$folder/run" --safetensors "$folder/c.safetensors"
cmp -s "$folder/a.safetensors" "$folder/c.safetensors" || fail "the run's folder gives other weights"

expect 2 "" "an argument is missing" "$VPD" export --safetensors "$folder/x.safetensors"
expect 2 "" "export of a checkpoint needs --safetensors FILE or --checkpoint FILE" "$VPD" export "$seeds/training.h5"
expect 2 "" "is a checkpoint, which has no such export" "$VPD" export "$seeds/training.h5" --ply "$folder/x"
expect 2 "" "absent.h5" "$VPD" export "$folder/absent.h5" --safetensors "$folder/x.safetensors"
expect 2 "" "expected an HDF5 file" "$VPD" export "$0" --safetensors "$folder/x.safetensors"
expect 2 "" "was the run ever saved?" "$VPD" export "$folder" --safetensors "$folder/x.safetensors"
expect 2 "" "for publication" "$VPD" export "$folder/p.h5" --raw --safetensors "$folder/x.safetensors"
expect 2 "" "/dev/null/x" "$VPD" export "$seeds/training.h5" --safetensors /dev/null/x.safetensors
head -c 9000 "$seeds/training.h5" >"$folder/cut.h5"
expect 2 "" "cut short" "$VPD" export "$folder/cut.h5" --safetensors "$folder/x.safetensors"
[ -e "$folder/x.safetensors" ] && fail "a failed export left a file"

# A full disk: status 1, and the file that was there stays.
cp "$folder/a.safetensors" "$folder/kept.safetensors"
(ulimit -f 1; trap '' XFSZ; "$VPD" export -q "$seeds/training.h5" --safetensors "$folder/kept.safetensors" 2>"$folder/stderr2"; echo $? >"$folder/status")
[ "$(cat "$folder/status")" = 1 ] || fail "a full disk is status $(cat "$folder/status"), not 1: $(cat "$folder/stderr2")"
cmp -s "$folder/a.safetensors" "$folder/kept.safetensors" || fail "a full disk harmed the earlier file"
finish
