# --device: what is not there is said in a sentence; auto falls back to the CPU and says why in one line.
. "$VPD_SOURCE/tests/cli/common"
module=$(dirname "$VPD")/libvpd_cuda.so

expect 2 "" "expected auto, cpu, cpu:ISA, cuda or cuda:NUMBER" "$VPD" bench ops --device quantum
if [ ! -f "$module" ]; then
  expect 2 "" "this build has the CPU back end only" "$VPD" bench ops --device cuda
  finish
fi
# A module beside the program: its tables are not complete yet, so it cannot be opened.
expect 1 "" "has no gnn back end yet" "$VPD" bench ops --device cuda
ln -s "$(realpath "$VPD")" "$folder/vpd" # the program's own folder counts, not the link's
expect 1 "" "has no gnn back end yet" "$folder/vpd" bench ops --device cuda
cp "$VPD" "$folder/copy"
expect 2 "" "this build has the CPU back end only" "$folder/copy" bench ops --device cuda
if command -v nm >/dev/null; then
  nm -D --defined-only "$module" | awk '{ print $3 }' >"$folder/names"
  [ "$(cat "$folder/names")" = vpd_cuda_module ] || fail "the module exports $(wc -l <"$folder/names") names: $(head -3 "$folder/names")"
  ldd "$module" | grep -E 'libcu|libnv' && fail "the module links a library of CUDA's"
fi
finish
