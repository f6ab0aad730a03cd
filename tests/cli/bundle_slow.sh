# scripts/bundle gathers what another machine needs; what it gathers tests itself there, and says when something is wrong.
. "$VPD_SOURCE/tests/cli/common"
build=$(dirname "$VPD")
bundle="$folder/bundle"

expect 0 "MiB in $bundle" "" "$VPD_SOURCE/scripts/bundle" -o "$bundle" "$build"
[ "$(du -sm "$bundle" | cut -f1)" -lt 60 ] || fail "the bundle is too large: $(du -sm "$bundle")"
export VPD_BENCH=renderer
expect 0 "nothing is wrong" "" env -i PATH="$PATH" VPD_BENCH=renderer ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$bundle/run" cpu --preset tiny --repeat 1
grep -q '"format":"vpd-bundle".*"selftest":{.*"failed":0,.*"part":"bench-renderer","status":0' "$bundle/result.json" || fail "result.json lacks a part"
ldd_of_bundle=$(LD_LIBRARY_PATH="$bundle/lib" ldd "$bundle/vpd")
case $ldd_of_bundle in *"$bundle/lib/libdnnl"*) ;; *) fail "oneDNN is not taken from the bundle" ;; esac

printf '#!/bin/sh\necho "planted \\"failure\\"" >&2; exit 1\n' >"$bundle/vpd"
expect 1 "something is WRONG" "" "$bundle/run" cpu
grep -q '"part":"selftest","status":1,.*planted \\"failure\\"' "$bundle/result.json" || fail "a failure is not in result.json"
expect 2 "" "holds something else" "$VPD_SOURCE/scripts/bundle" -o "$VPD_SOURCE/tests" "$build"
expect 2 "" "scripts/build" "$VPD_SOURCE/scripts/bundle" -o "$bundle" "$folder/nowhere"
finish
