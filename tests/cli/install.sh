# What is installed works from wherever it is moved to, with the manual page and completion that its tables give.
. "$VPD_SOURCE/tests/cli/common"
build=$(dirname "$VPD")
[ -f "$build/cmake_install.cmake" ] || skip "$VPD is not in a build folder"

expect 0 "*" "*" cmake --install "$build" --prefix "$folder/first"
mkdir "$folder/else where" && mv "$folder/first" "$folder/else where/second"
root="$folder/else where/second"
expect 0 "vpd 0" "" "$root/bin/vpd" --version
ldd "$root/bin/vpd" | grep libvpd && fail "the installed program needs a libvpd"
[ -n "$(find "$root" -name LICENSE)" ] || fail "the licence is not installed"
page=$(find "$root" -name vpd.1)
words=$(find "$root" -path '*bash-completion/completions/vpd')
[ -f "$page" ] && [ -f "$words" ] || fail "no manual page or no completion"

"$VPD" --help | sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p' >"$folder/names"
while read -r name; do
  grep -q "^.SS vpd $name" "$page" || fail "the manual page does not have: $name"
done <"$folder/names"
if command -v man >/dev/null && command -v groff >/dev/null; then
  expect 0 "EXIT STATUS" "" man --warnings -l "$page"
fi

# The completion as bash runs it.
complete_words() { # WORDS... (the last is being typed)
  bash -c 'source "$1"; shift; COMP_WORDS=(vpd "$@"); COMP_CWORD=$#; compopt() { :; }; _vpd; echo "${COMPREPLY[*]}"' - "$words" "$@"
}
[ "$(complete_words versi)" = version ] || fail "completion of versi: $(complete_words versi)"
[ "$(complete_words version --thr)" = --threads ] || fail "completion of --thr: $(complete_words version --thr)"
[ -z "$(complete_words zzz)" ] || fail "completion of zzz is not empty"
finish
