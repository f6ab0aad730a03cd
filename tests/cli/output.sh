# Where output goes, and what happens when it cannot go there.
. "$VPD_SOURCE/tests/cli/common"

expect 0 "vpd 0" "" "$VPD" --version
for library in HDF5 oneDNN zlib libyaml jansson libpng libjpeg libtiff giflib; do
  grep -Eq "^$library +[0-9]+\.[0-9]" "$folder/stdout" || fail "--version does not tell $library's version"
done
grep -Eq '^commit +([0-9a-f]{12}\+?|unknown)$' "$folder/stdout" || fail "--version does not tell the commit"
grep -Eq '^compiler +(gcc|clang) [0-9]' "$folder/stdout" || fail "--version does not tell the compiler"

if [ -e /dev/full ]; then
  "$VPD" --version >/dev/full 2>"$folder/stderr"
  [ $? = 1 ] || fail "a full disk under stdout is not exit status 1"
  expect_words "cannot write results to stdout: No space left" "$folder/stderr" "vpd --version >/dev/full"
fi

# A reader that goes away: no message, and no normal end (141 is SIGPIPE).
("$VPD" --version; echo $? >"$folder/status") 2>"$folder/stderr" | true
expect_words "" "$folder/stderr" "vpd --version | true"
grep -Eq '^(0|141)$' "$folder/status" || fail "status $(cat "$folder/status") when the reader went away"

# Waiting threads sleep: the program starts itself again with OMP_WAIT_POLICY set, once, and leaves a user's choice alone.
env -u OMP_WAIT_POLICY -u VPD_RESTARTED OMP_DISPLAY_ENV=true "$VPD" --version >/dev/null 2>"$folder/stderr"
grep -q "OMP_WAIT_POLICY = 'PASSIVE'" "$folder/stderr" || fail "threads do not wait passively"
env OMP_WAIT_POLICY=active OMP_DISPLAY_ENV=true "$VPD" --version >/dev/null 2>"$folder/stderr"
grep -q "OMP_WAIT_POLICY = 'PASSIVE'" "$folder/stderr" && fail "the user's OMP_WAIT_POLICY was overridden"
expect 0 "vpd 0" "" env -u OMP_WAIT_POLICY VPD_RESTARTED=1 "$VPD" --version
finish
