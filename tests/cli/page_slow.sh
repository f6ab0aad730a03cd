# SPDX-License-Identifier: Apache-2.0
# A page of synthetic moving pictures in headless Chromium; then pages with planted errors, which the check must find.
. "$VPD_SOURCE/tests/cli/common"
check() { bash "$VPD_SOURCE/tests/cli/page_check" "$@"; }
drawer=$(dirname "$VPD")/tests/view_page_test
[ -x "$drawer" ] || skip "$drawer is not built"

"$drawer" --draw "$folder/page.html" || fail "the page was not written"
check "$folder/page.html"
status=$?
[ "$status" = 77 ] && exit 77
[ "$status" = 0 ] || fail "a good page: status $status"

# planted WHAT WORDS: the check must find the error in bad.html and say so
planted() {
  check "$folder/bad.html" >"$folder/found" && fail "$1: not found"
  grep -qF -- "$2" "$folder/found" || fail "$1: \"$2\" is not in: $(cat "$folder/found")"
}
sed "s/'use strict';/'use strict'; undefined_name();/" "$folder/page.html" >"$folder/bad.html"
planted "an error in the script" "undefined_name"
sed '0,/<div class="view"/!b; s/base64,iVBORw0KGgo/base64,AAAAAAAAAAA/' "$folder/page.html" >"$folder/bad.html"
planted "a damaged picture" "expected 12 pictures, found 0 decoded"
sed 's/play(!still && frames > 1);/play(false);/' "$folder/page.html" >"$folder/bad.html"
planted "pictures that stand still" "stand still"
sed 's/<main id="main">/<main id="main"><img src="https:\/\/example.com\/a.png">/' "$folder/page.html" >"$folder/bad.html"
planted "a picture from elsewhere" "CONSOLE"
finish
