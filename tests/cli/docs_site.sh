# The site of docs/: mkdocs builds it without a warning, it needs no network, no link is broken; planted errors are found.
. "$VPD_SOURCE/tests/cli/common"
command -v mkdocs >/dev/null || skip "no mkdocs here (scripts/packages test has it)"
check() { python3 "$VPD_SOURCE/tests/cli/docs_check" "$@"; }
build() { (cd "$folder/source" && mkdocs build --strict --clean -d "$folder/site") >"$folder/said" 2>&1; }
fresh() { rm -rf "$folder/source" && mkdir "$folder/source" && mkdir "$folder/source/packaging" && cp -r "$VPD_SOURCE/mkdocs.yml" "$VPD_SOURCE/docs" "$folder/source/" && cp -r "$VPD_SOURCE/packaging/site" "$folder/source/packaging/"; }

fresh
build || fail "mkdocs: $(cat "$folder/said")"
check "$folder/site" >"$folder/said" || fail "$(cat "$folder/said")"

# planted WHAT TEXT WORDS: with TEXT at the end of a page the build or the check must fail, and say WORDS.
planted() {
  fresh
  printf '\n%s\n' "$2" >>"$folder/source/docs/install.md"
  build && check "$folder/site" >"$folder/said" && fail "$1: not found"
  grep -qF -- "$3" "$folder/said" || fail "$1: \"$3\" is not in: $(cat "$folder/said")"
}
planted "a link to a page that is not there" '[x](nothing.md)' "nothing.md"
planted "a link to a heading that is not there" '[x](data.md#nothing)' "data.html#nothing"
planted "a picture that is not there" '![x](images/nothing.png)' "nothing.png"
planted "a picture of another host" '![x](https://example.org/a.png)' "fetches https://example.org/a.png"
planted "a script of another host" '<script src="//example.org/a.js"></script>' "fetches //example.org/a.js"
fresh
echo "# alone" >"$folder/source/docs/alone.md"
build && check "$folder/site" >"$folder/said" && fail "a page that nothing links to: not found"
grep -qF "no page links to alone.html" "$folder/said" || fail "a page that nothing links to: $(cat "$folder/said")"

# What pages name in the repository is there: links of pages outside the site, and paths in backticks such as `nn/tape.h`.
cd "$VPD_SOURCE" || exit 1
folders=$(printf '%s|' */ | sed 's|/||g; s/|$//')
paths_of() { grep -oE "\`($folders)/[a-z0-9_./-]+\.[a-z0-9]+\`" "$1" | tr -d '\`'; }
missing_of() {
  for file in $(paths_of "$1"); do
    [ -e "$file" ] || { [ "$file" != demo/index.html ] && echo "$1 names $file, which is not there"; }
  done
}
for page in README.md CONTRIBUTING.md docs/*.md; do
  missing=$(missing_of "$page")
  [ -z "$missing" ] || fail "$missing"
done
for page in README.md CONTRIBUTING.md CHANGELOG.md; do
  for file in $(grep -oE '\]\([^)#]+' "$page" | cut -c3- | grep -v '^http'); do
    [ -e "$file" ] || fail "$page links to $file, which is not there"
  done
done
echo 'as `nn/nothing.h` says' >"$folder/page.md"
[ -n "$(missing_of "$folder/page.md")" ] || fail "a path that is not there: not found"
finish
