# libvpd.so: it exports what api/vpd.h declares and nothing else, and a stranger's C or C++ program finds it, links it and
# runs it by pkg-config and by CMake, wherever it was installed to.
. "$VPD_SOURCE/tests/cli/common"
build=$(dirname "$VPD")
[ -f "$build/libvpd.so" ] || skip "$build/libvpd.so is not built"
command -v nm >/dev/null || skip "no nm"

# A symbol of internals that gets out would have to be kept for ever.
nm -D --defined-only "$build/libvpd.so" | awk '$2 == "T" {sub("@.*", "", $3); print $3}' | sort >"$folder/exported"
grep -oE '\bvpd_[a-z_]+\(' "$VPD_SOURCE/api/vpd.h" | grep -v '^vpd_[a-z_]*_(' | tr -d '(' | sort -u >"$folder/declared"
[ "$(wc -l <"$folder/declared")" -gt 15 ] || fail "functions of vpd.h: $(cat "$folder/declared")"
diff "$folder/declared" "$folder/exported" >"$folder/difference" || fail "declared and exported differ: $(cat "$folder/difference")"
others=$(nm -D --defined-only "$build/libvpd.so" | grep -vE ' T vpd_| A VPD_0$') && fail "libvpd.so exports $others"
readelf -d "$build/libvpd.so" | grep -q 'SONAME.*libvpd.so.0' || fail "no soname"

grep -q 'fsanitize' "$build/build.ninja" 2>/dev/null && finish # a plain program cannot load it
grep -q 'CMAKE_CROSSCOMPILING' "$build/CMakeCache.txt" && finish
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
expect 0 "*" "*" cmake --install "$build" --prefix "$folder/first"
mkdir "$folder/elsewhere" && mv "$folder/first" "$folder/elsewhere/second"
root=$folder/elsewhere/second
pc=$(find "$root" -name vpd.pc) && libdir=$(dirname "$(find "$root" -name libvpd.so)")
[ -f "$pc" ] && [ -d "$libdir" ] || fail "no vpd.pc or no libvpd.so was installed"

mkdir "$folder/user"
cat >"$folder/user/user.c" <<'END'
#include <stdio.h>
#include <vpd.h>
int main(void) {
    vpd_model *model = NULL;
    vpd_error err = {VPD_OK, ""};
    if (vpd_model_open("there is none", NULL, &model, &err) != VPD_BAD_INPUT || vpd_library_api() != VPD_API_VERSION) return 1;
    printf("%s: %s\n", vpd_library_version(), err.text);
    return 0;
}
END
if command -v pkg-config >/dev/null; then
  # shellcheck disable=SC2046
  expect 0 "" "*" "$cc" -std=c99 -Wall -Wextra -Wpedantic -Werror "$folder/user/user.c" -o "$folder/user/plain" \
    $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs vpd)
  expect 0 "there is none" "" env LD_LIBRARY_PATH="$libdir" "$folder/user/plain"
fi
if command -v c++ >/dev/null; then
  expect 0 "" "*" c++ -x c++ -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$root/include" "$folder/user/user.c"
fi
cat >"$folder/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(vpd 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE vpd::vpd)
END
expect 0 "*" "*" cmake -G Ninja -S "$folder/user" -B "$folder/user/build" -DCMAKE_PREFIX_PATH="$root" -DCMAKE_C_COMPILER="$cc"
expect 0 "*" "*" cmake --build "$folder/user/build"
expect 0 "there is none" "" "$folder/user/build/user"
finish
