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

# The sample, the model and the docs come along; a user finds the folder, and uses it from elsewhere.
share=$("$root/bin/vpd" version | sed -n 's/^examples *//p')
[ "$share" = "$root/share/vpd" ] || fail "vpd version does not name the folder of the examples: $share"
[ "$("$root/bin/vpd" version --json | grep -o '"examples":"[^"]*"')" = "\"examples\":\"$share\"" ] || fail "nor does its JSON"
"$VPD" version | grep "^examples" && fail "a program that is not installed names a folder of examples"
for file in data/SOURCE.md demo/demo.yaml demo/carried.yaml; do
  [ -f "$share/$file" ] || fail "$file is not installed"
done
[ -f "$root/share/doc/vpd/docs/install.md" ] && [ -f "$root/share/doc/vpd/README.md" ] || fail "the docs are not installed"
for picture in $(grep -ohE 'docs/images/[a-z_.]+png' "$VPD_SOURCE/README.md"); do
  [ -f "$root/share/doc/vpd/$picture" ] || fail "the installed README has no $picture"
done
cd "$folder" || exit 1
expect 0 "8192 particles" "" "$root/bin/vpd" rollout -q "$share/demo/carried.h5" "$share/data/mujoco_blocks_sample.h5" --steps 0 -o seen.h5
cd "$share" || exit 1
expect 0 "weights" "*" "$root/bin/vpd" train demo/demo.yaml -o "$folder/run" --dry-run --set encoder.N=300 --set gnn.M=16 \
  --set train.motion_steps=0 --set "train.rollout=[1]" --set "train.rollout_from=[0]" --set train.rays=8

page=$(find "$root" -name vpd.1)
words=$(find "$root" -path '*bash-completion/completions/vpd')
[ -f "$page" ] && [ -f "$words" ] || fail "no manual page or no completion"

"$VPD" --help | sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p' >"$folder/names"
while read -r name; do
  grep -q "^.B vpd $name" "$page" || fail "the manual page does not have: $name"
  [ -f "$(dirname "$page")/vpd-${name// /-}.1" ] || fail "no manual page for: $name"
done <"$folder/names"
[ "$(find "$root" -name 'vpd*.1' | wc -l)" = $(($(wc -l <"$folder/names") + 1)) ] || fail "pages of commands that are none"
if command -v man >/dev/null && command -v groff >/dev/null; then
  expect 0 "EXIT STATUS" "" man --warnings -l "$page"
  expect 0 "train.steps" "" man --warnings -l "$(dirname "$page")/vpd-train.1"
  expect 0 "SYNOPSIS" "" man --warnings -l "$(dirname "$page")/vpd-data-check.1"
fi

# The completion as bash runs it.
complete_words() { # WORDS... (the last is being typed)
  bash -c 'source "$1"; shift; COMP_WORDS=(vpd "$@"); COMP_CWORD=$#; compopt() { :; }; _vpd; echo "${COMPREPLY[*]}"' - "$words" "$@"
}
[ "$(complete_words versi)" = version ] || fail "completion of versi: $(complete_words versi)"
[ "$(complete_words version --thr)" = --threads ] || fail "completion of --thr: $(complete_words version --thr)"
[ "$(complete_words data ch)" = check ] || fail "completion of data ch: $(complete_words data ch)"
[ "$(complete_words man sim gr)" = gradcheck ] || fail "completion of man sim gr: $(complete_words man sim gr)"
[ "$(complete_words help ver)" = version ] || fail "completion of help ver: $(complete_words help ver)"
[ "$(complete_words train --set train.ste)" = "train.steps=" ] || fail "completion of an option: $(complete_words train --set train.ste)"
[ -z "$(complete_words zzz)" ] || fail "completion of zzz is not empty"

# zsh's, as far as it can be run: it is read without an error, and the words are there.
zsh_words=$(find "$root" -path '*zsh/site-functions/_vpd')
grep -q "^#compdef vpd" "$zsh_words" && grep -q "^    'train:learn a model" "$zsh_words" || fail "no completion for zsh"
while read -r name; do
  grep -qF "('$name')" "$zsh_words" || fail "zsh's completion does not have: $name"
done <"$folder/names"
if command -v zsh >/dev/null; then
  expect 0 "" "" zsh -n "$zsh_words"
fi
finish
