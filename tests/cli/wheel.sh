# scripts/wheel with the library of this build: the wheel carries every library that it needs, and one that does not is refused.
. "$VPD_SOURCE/tests/cli/common"
python=${VPD_PYTHON:-python3}
build=$(dirname "$VPD")
[ -f "$build/libvpd.so" ] || skip "$build/libvpd.so is not built"
grep -q 'fsanitize' "$build/build.ninja" 2>/dev/null && skip "python cannot load a library with sanitizers"
grep -q 'CMAKE_CROSSCOMPILING' "$build/CMakeCache.txt" && skip "the library is for another machine"
"$python" -c 'import venv, ensurepip' 2>/dev/null || skip "$python has no venv (python3-venv)"
timeout 60 "$python" -m venv "$folder/tools" || skip "$python makes no environment"
timeout 60 "$folder/tools/bin/pip" download -q --retries 0 --no-deps -d "$folder/reached" auditwheel >/dev/null 2>&1 || skip "PyPI is not reachable"
expect 0 "steps trained" "*" env VPD_BUILD="$build" VPD_NO_INSTALL=1 PYTHON="$python" "$VPD_SOURCE/scripts/wheel" "$folder/out"
ls "$folder"/out/vpd-0.1.0-py3-none-manylinux*.whl >/dev/null || fail "wheels: $(ls "$folder/out")"

# The same trial with the system's libraries.
expect 0 "*" "*" env VPD_BUILD="$build" "$folder/tools/bin/pip" install -q "$VPD_SOURCE/python"
mkdir "$folder/trial" && cp "$VPD_SOURCE/python/smoke_test.py" "$folder/trial"
expect 1 "" "expected the wheel's own libraries, found the system's: " "$folder/tools/bin/python" "$folder/trial/smoke_test.py" \
  "$VPD_SOURCE/demo/carried.h5" "$VPD_SOURCE/data/mujoco_blocks_sample.h5"
finish
