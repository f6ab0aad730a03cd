# No memory at many points of every command: exit status 1 and one sentence, nothing half-written stays; or the whole result, where the command can do
# without (with a warning, if something else is taken instead). tests/faults/allocations.c makes single allocations of the program fail.
. "$VPD_SOURCE/tests/cli/common"
[ -n "${VPD_ALLOCATION_FAULTS:-}" ] || skip "the library of allocation faults was not built"
LD_PRELOAD=$VPD_ALLOCATION_FAULTS "$VPD" --version >/dev/null 2>&1 || skip "the library of allocation faults does not load"
. "$VPD_SOURCE/tests/cli/tiny_run"
points=${VPD_FAULTS:-6} # in each command
expect 0 "*" "*" "$VPD" rollout -q "$run" "$data" --steps 2 -o "$folder/rollout.h5"
expect 0 "*" "*" "$VPD" sim run -q "$VPD_SOURCE/scenes/cloth.yaml" --threads 1 -o "$folder/cloth.h5"
made=$folder/made
total=0 spared=0
size_of() { [ -f "$1" ] && wc -c <"$1"; }

faults() { # NAME COMMAND...
  local name=$1 count number step status whole
  shift
  rm -rf "$made" "$folder/trained"
  VPD_COUNT_ALLOCATIONS=$folder/count LD_PRELOAD=$VPD_ALLOCATION_FAULTS "$@" >/dev/null 2>"$folder/stderr" ||
    { fail "$name: $(head -c 300 "$folder/stderr")"; return; }
  count=$(cat "$folder/count") whole=$(size_of "$made")
  step=$(((count + points - 1) / points))
  [ "$count" -gt 0 ] || fail "$name: no allocation was counted"
  for ((number = 1; number <= count; number += step)); do
    total=$((total + 1))
    rm -rf "$made" "$folder/trained"
    VPD_FAIL_ALLOCATION=$number LD_PRELOAD=$VPD_ALLOCATION_FAULTS "$@" >"$folder/stdout" 2>"$folder/stderr"
    status=$?
    [ $status = 0 ] && [ "$(size_of "$made")" = "$whole" ] && spared=$((spared + 1)) && continue
    [ $status = 1 ] || fail "$name, allocation $number of $count: exit status $status: $(head -c 300 "$folder/stderr")"
    [ "$(wc -l <"$folder/stderr")" = 1 ] || fail "$name, allocation $number of $count: not one sentence: $(head -c 400 "$folder/stderr")"
    [ ! -f "$made" ] || fail "$name, allocation $number of $count: left $made"
    [ -z "$(cd "$folder" && ls -d "${made##*/}".* 2>/dev/null)" ] || fail "$name, allocation $number of $count: left $(cd "$folder" && ls -d "${made##*/}".*)"
  done
}

faults "data info" "$VPD" data info -q "$data"
faults "data check" "$VPD" data check -q "$data"
made=$folder/made.h5
faults "data subset" "$VPD" data subset -q "$data" --split train:1 --frames 3 -o "$made"
faults rollout "$VPD" rollout -q "$run" "$data" --steps 2 -o "$made"
faults "rollout --driven" "$VPD" rollout -q "$run" "$data" --driven 0 --steps 2 -o "$made"
faults "edit: drive" "$VPD" edit -q "$folder/rollout.h5" --do "drive: {label: object 0, velocity: [0, 0, 1], steps: 9}" --do "copy: {label: object 0, by: [0, 0, 1]}" -o "$made"
made=$folder/made
faults render "$VPD" render -q "$folder/rollout.h5" -o "$made" --views 0
made=$folder/made.safetensors
faults "export --safetensors" "$VPD" export -q "$run" --safetensors "$made"
made=$folder/made.glb
faults "export --gltf" "$VPD" export -q "$folder/cloth.h5" --gltf "$made"
made=$folder/made.usda
faults "export --usda" "$VPD" export -q "$folder/cloth.h5" --usda "$made"
made=$folder/made
faults "eval -o" "$VPD" eval -q "$run" "$data" --starts 3 --steps 2 -o "$made"
train=("$VPD" train -q --data "$data" -o "$folder/trained" --threads 1 --set train.steps=2 --set train.motion_steps=1 --set encoder.N=300 --set model.C=8 --set model.D=6
  --set "encoder.widths=[4,6]" --set gnn.M=16 --set gnn.L=1 --set "renderer.widths=[8,8]" --set renderer.S=4 --set renderer.K=4 --set "train.rollout=[1]" --set "train.rollout_from=[0]"
  --set train.rays=8 --set train.picture_every=0 --set train.eval_every=0)
faults train "${train[@]}"
echo "$total faults, $spared of them without consequence"
[ "$spared" -le $((total / 4)) ] || fail "$spared of $total faults went unnoticed"
[ "$total" -ge 59 ] || fail "only $total allocations failed"
finish
