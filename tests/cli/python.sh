# The Python package: its tests against a tiny model, its example on the files of the repository, where it looks for the library, and its wheel.
. "$VPD_SOURCE/tests/cli/common"
python=${VPD_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || skip "$python has no numpy (set VPD_PYTHON to one that has)"
build=$(dirname "$VPD")
[ -f "$build/libvpd.so" ] || skip "$build/libvpd.so is not built"
grep -q 'fsanitize' "$build/build.ninja" 2>/dev/null && skip "python cannot load a library with sanitizers"
. "$VPD_SOURCE/tests/cli/tiny_run"
expect 0 "*" "*" "$VPD" rollout "$run" "$data" --steps 4 --threads 1 -o "$folder/out.h5"
expect 0 "2 edits, 1 left out" "*" "$VPD" edit "$folder/out.h5" --step 2 --do "move: {label: object 0, by: [0.1, 0, 0.2]}" \
  --do "copy: {label: 1, by: [0.3, 0, 0], as: Zwölf}" --do "remove: {height: {below: -50}, if_empty: skip}" -o "$folder/edited.h5"

export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$VPD_SOURCE/python VPD_LIBRARY=$build/libvpd.so
unset OMP_WAIT_POLICY
expect 0 "" "OK" "$python" "$VPD_SOURCE/python/test_vpd.py" "$run" "$data" "$folder/out.h5" "$folder/edited.h5"
expect 0 "" "OK" "$python" "$VPD_SOURCE/python/test_sim.py"
if "$python" -c 'import torch' 2>/dev/null; then
  expect 0 "second time: passed" "" "$python" "$VPD_SOURCE/python/examples/torch_sim.py"
  grep -q "0.6000 found" "$folder/stdout" || fail "the friction was not found: $(tail -n 1 "$folder/stdout")"
fi

# Where the library is looked for, and what is said when it is not there.
expect 1 "" "libvpd.so is not found; set VPD_LIBRARY" env VPD_LIBRARY=/there/is/none "$python" -c 'import vpd'
expect 1 "" "is not the library of vpd" env VPD_LIBRARY=libm.so.6 "$python" -c 'import vpd'
expect 0 "/libvpd.so" "" env -u VPD_LIBRARY LD_LIBRARY_PATH="$build" "$python" -c 'import vpd; print("/" + vpd.library_path)'
mkdir "$folder/beside" && cp -r "$VPD_SOURCE/python/vpd" "$folder/beside/vpd" && cp -L "$build/libvpd.so" "$folder/beside/vpd/libvpd.so.0"
expect 0 "$folder/beside/vpd/libvpd.so.0" "" env -u VPD_LIBRARY PYTHONPATH="$folder/beside" "$python" -c 'import vpd; print(vpd.library_path)'

# The examples look at their arguments before they make anything.
mkdir "$folder/nothing" "$folder/tmp"
example() { env -C "$folder/nothing" TMPDIR="$folder/tmp" "$python" "$VPD_SOURCE/python/examples/$1.py" "${@:2}"; }
if "$python" -c 'import h5py' 2>/dev/null; then
  for name in roll_out edit_scene plan_push train_own; do
    expect 0 "python/examples/$name.py" "" example "$name" --help
    expect 2 "" "error: " example "$name" --steps 3
    expect 2 "" "unrecognized arguments" example "$name" one two --three
  done
  expect 2 "" "KEY=VALUE: invalid setting value: 'small'" example train_own . out small
  expect 2 "" "absent.mp4 does not exist" example train_own absent.mp4 out
  [ -z "$(ls "$folder/nothing" "$folder/tmp" | grep -v :)" ] || fail "an example makes something of a wrong command line: $(ls "$folder/nothing" "$folder/tmp")"
  expect 0 "higher" "" "$python" "$VPD_SOURCE/python/examples/roll_out.py" "$folder/example"
  for file in seen.png predicted.png pushed.png rollout.h5; do
    [ -s "$folder/example/$file" ] || fail "the example made no $file"
  done
  expect 0 "removed" "" "$python" "$VPD_SOURCE/python/examples/edit_scene.py" "$folder/example"
  for file in as_seen.png edited.png edited_later.png edited.h5; do
    [ -s "$folder/example/$file" ] || fail "the second example made no $file"
  done
  # A push brings the block much nearer to its goal than no push.
  expect 0 "48 pushes" "" "$python" "$VPD_SOURCE/python/examples/plan_push.py" "$folder/example"
  left=$(sed -n 's/.*leaves the block \([0-9]*\)\..*/\1/p' "$folder/stdout")
  [ "${left:-99}" -lt 10 ] || fail "the best push is bad: $(cat "$folder/stdout")"
  [ -s "$folder/example/pushed.h5" ] || fail "the third example made no pushed.h5"
fi

# The wheel has the library in it, which is taken from this build: nothing is compiled and nothing is downloaded.
if "$python" -c 'import setuptools, pip; import setuptools.command.bdist_wheel' 2>/dev/null || "$python" -c 'import setuptools, wheel, pip' 2>/dev/null; then
  wheel() { "$python" -m pip wheel -q --no-index --no-deps --no-build-isolation -w "$folder/wheels" "$1"; }
  sources() { # a checkout at $1 with what a build of the wheel needs to see
    mkdir -p "$1" && cp -r "$VPD_SOURCE/python" "$1/python" && rm -rf "$1"/python/build "$1"/python/*.egg-info
  }
  sources "$folder/checkout" && cp "$VPD_SOURCE/CMakeLists.txt" "$folder/checkout" && cp -r "$VPD_SOURCE/api" "$folder/checkout"
  expect 0 "*" "*" env VPD_BUILD="$build" "$python" -m pip wheel -q --no-index --no-deps --no-build-isolation -w "$folder/wheels" "$folder/checkout/python"
  ls "$folder"/wheels/vpd-0.1.0-py3-none-linux*.whl >/dev/null || fail "wheels: $(ls "$folder/wheels")"
  mkdir "$folder/site" && expect 0 "*" "*" "$python" -m pip install -q --no-index --no-deps --target "$folder/site" "$folder"/wheels/vpd-*.whl
  expect 0 "$folder/site/vpd/libvpd.so.0" "" env -u VPD_LIBRARY PYTHONPATH="$folder/site" "$python" -c 'import vpd; print(vpd.library_path)'
  # What is missing is one sentence: the C sources, cmake, a compiler or a library.
  sources "$folder/alone"
  expect 1 "" "the C sources are not in" wheel "$folder/alone/python"
  mkdir "$folder/bin" && ln -s "$(command -v true)" "$folder/bin/true"
  python_file=$("$python" -c 'import sys; print(sys.executable)')
  expect 1 "" "cmake is missing; run scripts/install-packages build" env -C "$folder/checkout/python" PATH="$folder/bin" "$python_file" setup.py -q build_ext
  expect 1 "" "a compiler or a library is missing (CMake's message is above); run scripts/install-packages build" \
    env -C "$folder/checkout/python" CC=/there/is/none "$python_file" setup.py -q build_ext
fi
finish
