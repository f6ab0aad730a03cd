# scripts/bundle gathers what another machine needs; what it gathers tests itself there, and says when something is wrong.
. "$VPD_SOURCE/tests/cli/common"
build=$(dirname "$VPD")
bundle="$folder/bundle"

expect 0 "MiB in $bundle" "" "$VPD_SOURCE/scripts/bundle" -o "$bundle" "$build"
[ "$(du -sm "$bundle" | cut -f1)" -lt 60 ] || fail "the bundle is too large: $(du -sm "$bundle")"
export VPD_BENCH=bodies
expect 0 "VPD_MINUTES=9" "" "$bundle/run" plan
expect 0 "everything passed" "" env -i PATH="$PATH" VPD_BENCH=bodies VPD_RESULTS="$folder/a" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$bundle/run" cpu selftest bench --preset tiny --repeat 1
grep -q '^{"part":"selftest","status":0,.*"rows":\[{"format":"vpd-selftest",.*"failed":0,' "$folder/a/result.json" || fail "result.json lacks the self-test"
grep -q '^{"part":"bench-bodies-f32","status":0,.*"bench":"bodies"' "$folder/a/result.json" || fail "result.json lacks a part"

grep -q '^{"part":"gradcheck","status":0,.*"pass":true' "$folder/a/result.json" || fail "result.json lacks the gradients of the simulator"
tar -tzf "$folder/a/logs.tar.gz" | grep -q '^logs/bench-bodies-f32.log$' || fail "logs.tar.gz lacks a part"
[ "$(ls "$folder/a" | wc -l)" -le 8 ] || fail "more files than a lent machine returns: $(ls "$folder/a")"

# Calls of their own are put together; what is cut is said.
expect 0 "everything passed" "" env VPD_RESULTS="$folder/b" "$bundle/run" cpu rivals bench --preset tiny --repeat 2
expect 0 "*" "" env VPD_RESULTS="$folder/both" "$bundle/run" merge "$folder/a/result.json" "$folder/b/result.json"
[ "$(grep -c '^{"part":' "$folder/both/result.json")" = 3 ] || fail "not three parts: $(cut -c1-80 "$folder/both/result.json")"
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); sys.exit(not any("self-test" in f["figure"] and f["reached"] for f in r["figures"]))' \
    "$folder/both/result.json" || fail "no figures in what was merged"
fi
expect 1 "the time limit is reached" "" env VPD_MINUTES=0 VPD_RESULTS="$folder/c" "$bundle/run" cpu bench
expect 2 "" "is not a result of this command" "$bundle/run" merge "$bundle/run"
expect 2 "" "expected selftest, figures" "$bundle/run" cpu everything
ldd_of_bundle=$(LD_LIBRARY_PATH="$bundle/lib" ldd "$bundle/vpd")
case $ldd_of_bundle in *"$bundle/lib/libdnnl"*) ;; *) fail "oneDNN is not taken from the bundle" ;; esac

printf '#!/bin/sh\necho "planted \\"failure\\"" >&2; exit 1\n' >"$bundle/vpd"
expect 1 "something FAILED" "" "$bundle/run" cpu selftest
grep -q '"part":"selftest","status":1,.*planted \\"failure\\"' "$bundle/result.json" || fail "a failure is not in result.json"
expect 2 "" "is not a bundle" "$VPD_SOURCE/scripts/bundle" -o "$VPD_SOURCE/tests" "$build"
expect 2 "" "scripts/build" "$VPD_SOURCE/scripts/bundle" -o "$bundle" "$folder/nowhere"
finish
