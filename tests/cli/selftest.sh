# The self-test passes on this processor, says what it compared, and leaves it as JSON.
. "$VPD_SOURCE/tests/cli/common"

expect 0 "all agree" "" "$VPD" selftest --device cpu --steps 2 -o "$folder/result.json"
grep -Eq '^ops +conv2d +[1-9][0-9]* +0 ' "$folder/stdout" || fail "convolutions are missing"
grep -Eq '^sim f64 +sliding beam +[1-9][0-9]* +0 ' "$folder/stdout" || fail "the simulator is missing"
grep -Eq '^raster f32 +z-buffer with shadows +[1-9][0-9]* +0 ' "$folder/stdout" || fail "the rasterisers are missing"
grep -Eq '^models +bodies +[1-9][0-9]* +0 ' "$folder/stdout" || fail "the bodies are missing"
grep -Eq '^models +windows +[1-9][0-9]* +0 ' "$folder/stdout" || fail "the windows are missing"
grep -q '"format":"vpd-selftest".*"failed":0,' "$folder/result.json" || fail "no result in the JSON file"
expect 2 "" 'cpu:avx1024' "$VPD" selftest --reference cpu:avx1024
expect 2 "" "/dev/null: cannot make this folder" "$VPD" selftest --steps 1 -o "/dev/null/result.json"
expect 2 "" "-o FILE.json writes it to a file" "$VPD" selftest --steps 1 --json "$folder/result.json"
finish
