# --device: what is not there is said in a sentence.
. "$VPD_SOURCE/tests/cli/common"
module=$(dirname "$VPD")/libvpd_cuda.so

expect 2 "" "expected auto, cpu, cpu:ISA, cuda or cuda:NUMBER" "$VPD" bench ops --device quantum
scene="$VPD_SOURCE/scenes/ball.yaml"
expect 2 "" "expected auto, cpu, cpu:ISA, cuda or cuda:NUMBER" "$VPD" sim run "$scene" -o "$folder/out.h5" --device quantum
expect 0 "out.h5: 147 particles" "" "$VPD" sim run "$scene" -o "$folder/out.h5" --device cpu:base
if [ ! -f "$module" ]; then
  expect 2 "" "this build has the CPU back end only" "$VPD" bench ops --device cuda
  expect 2 "" "this build has the CPU back end only" "$VPD" sim gradcheck "$scene" --device cuda
  finish
fi
[ -e /dev/nvidiactl ] && skip "this machine has a GPU"
expect 1 "" "no NVIDIA driver is installed" "$VPD" bench ops --device cuda
expect 1 "" "no NVIDIA driver is installed" "$VPD" sim run "$scene" -o "$folder/none.h5" --device cuda
[ ! -e "$folder/none.h5" ] || fail "a file was written"
# auto goes on with the CPU and says why in one line.
unset VPD_ISA
expect 0 "device cpu" "on the CPU: CUDA: no NVIDIA driver is installed" "$VPD" bench bodies --repeat 1
expect 0 "device cpu" "" "$VPD" bench bodies --repeat 1 --device cpu
expect 0 "device cpu" "" "$VPD" bench bodies --repeat 1 -q
ln -s "$(realpath "$VPD")" "$folder/vpd" # the program's own folder counts, not the link's
expect 1 "" "no NVIDIA driver is installed" "$folder/vpd" bench ops --device cuda
cp "$VPD" "$folder/copy"
expect 2 "" "this build has the CPU back end only" "$folder/copy" bench ops --device cuda
if command -v nm >/dev/null; then
  nm -D --defined-only "$module" | awk '{ print $3 }' >"$folder/names"
  [ "$(cat "$folder/names")" = vpd_cuda_module ] || fail "the module exports $(wc -l <"$folder/names") names: $(head -3 "$folder/names")"
  ldd "$module" | grep -E 'libcu|libnv' && fail "the module links a library of CUDA's"
fi
finish
