# The benchmarks run, and say what is wrong with what they are asked for. No time is asserted.
. "$VPD_SOURCE/tests/cli/common"

expect 0 "training step of preset tiny: 1 episode, 2 views of 64x64 pixels, 2048 particles, 128 abstract nodes" "" \
  "$VPD" bench step --device cpu --preset tiny --graph bodies --repeat 1 --keep 16
[ "$(grep -c '^bodies ' "$folder/stdout")" = 1 ] || fail "not one table for one graph"
[ "$(grep -c '^hierarchical ' "$folder/stdout")" = 0 ] || fail "a graph that was not asked for"
for part in encoder dynamics renderer "choice of particles" optimiser "whole step" "lower bound"; do
  grep -Eq "^  $part +[0-9.]+" "$folder/stdout" || fail "no $part"
done
grep -Eq '(nan|inf|-[0-9])' "$folder/stdout" && fail "a figure that is none"

# Two lines that can be compared, forward and backward, then inference.
expect 0 "doubling: M = N/16" "" "$VPD" bench doubling --device cpu --from 64 --to 128 --repeat 1
[ "$(grep -c '^64 ' "$folder/stdout")" = 2 ] || fail "training and inference do not both begin at 64"
[ "$(grep -Ec '^128 .* [0-9.]+ +[0-9.]+ +[0-9.]+$' "$folder/stdout")" = 2 ] || fail "no ratios at 128"

# As JSON: an object per line, with the figures of the table.
expect 0 '{"bench":"step","preset":"tiny","graph":"bodies"' "" "$VPD" bench step --json --device cpu --preset tiny --graph bodies --repeat 1 --keep 16
[ "$(grep -c '^{"bench":".*}$' "$folder/stdout")" = 2 ] && [ "$(wc -l <"$folder/stdout")" = 2 ] || fail "not one object for the device and one for the graph"
grep -Eq '"floor_ms":[0-9.]+,"over_floor":[0-9.]+,.*"memory":\{"parameters":[0-9]+,"optimiser":[0-9]+,.*"dynamics":[0-9]+' "$folder/stdout" || fail "no floor, or no memory by part"
expect 0 '"graph":"hierarchical","episodes":2,' "" "$VPD" bench step --json --device cpu --preset tiny --graph hierarchical --batch 2 --repeat 1 --keep 16
expect 2 "" "batch" "$VPD" bench step --device cpu --batch 0
expect 0 '"width":256,"height":256' "" "$VPD" bench frames --json --device cpu --preset tiny --graph hierarchical --repeat 1
expect 0 '"bench":"bodies","windows":64,' "" "$VPD" bench bodies --json --device cpu --repeat 1
expect 0 '"bench":"neighbours","points":256,"k":16,"ms":' "" "$VPD" bench neighbours --json --device cpu --from 128 --to 256 --repeat 1
expect 0 '"what":"inference","N":128,' "" "$VPD" bench doubling --json --device cpu --from 64 --to 128 --repeat 1
[ "$(grep -c '^{"bench":"doubling".*"step_ms":[0-9.]*,.*}$' "$folder/stdout")" = 4 ] || fail "not four objects: $(cat "$folder/stdout")"
expect 0 '"bench":"raster","method":"soft","precision":"f32"' "" "$VPD" bench raster --json --device cpu --repeat 1
[ "$(grep -c '^{"bench":"raster".*"backward_ms":[0-9.]*,.*}$' "$folder/stdout")" = 8 ] || fail "not eight objects: $(cat "$folder/stdout")"
expect 0 '"bench":"sim","scene":"beam","precision":"f32"' "" "$VPD" bench sim --json --device cpu --repeat 1
[ "$(grep -c '^{"bench":"sim".*"with_gradient":[0-9.]*,.*}$' "$folder/stdout")" = 15 ] || fail "not fifteen objects: $(cat "$folder/stdout")"

expect 2 "" 'expected bodies, step, doubling, frames, neighbours, ops, raster or sim, found "stepp"' "$VPD" bench stepp
expect 2 "" '--graph' "$VPD" bench step --graph open
expect 2 "" '--to: expected an integer from 64' "$VPD" bench doubling --to 1
expect 2 "device cpu" 'nowhere.h5' "$VPD" bench step --data nowhere.h5
finish
