# Ranks with a GPU each: the module that the program loads is the stand-in of tests/cuda_on_cpu, NCCL that of
# tests/cuda_on_cpu/nccl. Sums between GPUs have the bits of sums through the host; what is missing or fails is told once.
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/ranks_job"
build=$(dirname "$VPD")
[ -f "$build/stand_in/libvpd_cuda.so" ] || skip "the stand-in of CUDA is not built"
cp "$VPD" "$build/libvpd_mpi.so" "$build/stand_in/libvpd_cuda.so" "$folder" || fail "no copies"
vpd=$folder/vpd nccl="VPD_CUDA_LIBRARIES=$build/stand_in" data=$folder/data.h5
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_sample.h5" --split train:2,val:0,test:0 --frames 6 -o "$data"
cat >"$folder/config.yaml" <<E2
model: {C: 8, D: 6}
encoder: {N: 48, widths: [4, 6]}
gnn: {M: 8, L: 1}
renderer: {widths: [8, 8], S: 4, K: 4}
train: {steps: 1000000, motion_steps: 2, batch: 2, windows: 4, rollout: [1, 2], rollout_from: [0, 0.000002], rays: 4, log_every: 1,
  picture_every: 0, checkpoint_every: 1}
E2
train="$vpd train $folder/config.yaml -q -d $data --threads 1"
losses() { sed -n 's/.*"step":\([1-6]\),.*"loss":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }
# Six steps of a run and a stop (an evaluation takes the stand-in minutes): ranks OUT SETTINGS.. MPIRUN'S WORDS..
six_steps() {
  local out=$1 pid
  shift
  env "$@" 2>"$folder/stderr" &
  pid=$!
  while [ "$(cat "$out/metrics.jsonl" 2>/dev/null | wc -l)" -lt 6 ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
  kill -USR1 $pid
  wait $pid && fail "a stopped run must not exit with 0: $*"
  [ "$(losses "$out" | wc -l)" = 6 ] || fail "no six steps: $* ($(head -c 600 "$folder/stderr"))"
  [ "$(grep -c "stopped by SIGUSR1 after step [0-9]*, which is saved" "$folder/stderr")" = 1 ] || fail "one sentence expected: $(head -c 600 "$folder/stderr")"
}
warned() { [ "$(grep -c '^warning: ' "$folder/stderr")" = "$1" ] && { [ "$1" = 0 ] || grep -q "$2" "$folder/stderr"; } || fail "expected $1 warnings \"${2-}\": $(head -c 600 "$folder/stderr")"; }
same() { [ "$(losses "$folder/host")" = "$(losses "$1")" ] || fail "losses differ from those through the host: $1: $(losses "$folder/host" | diff - <(losses "$1"))"; }

six_steps "$folder/host" CUDA_VISIBLE_DEVICES=0,1 mpirun -q -n 2 $train -o "$folder/host" --device cuda
warned 1 "^warning: NCCL is missing on rank 0 (.*): gradients go through the host's memory; install libnccl2"
six_steps "$folder/nccl" $nccl CUDA_VISIBLE_DEVICES=0,1 mpirun -q -n 2 $train -o "$folder/nccl" --device cuda
warned 0
same "$folder/nccl"
six_steps "$folder/graph" $nccl CUDA_VISIBLE_DEVICES=0,1 mpirun -q -n 2 $train -o "$folder/graph" --device cuda --set train.cuda_graph=true
warned 0
same "$folder/graph"
# In bf16 too, which rounds: other gradients.
bf16="--device cuda --set train.sum_precision=bf16"
six_steps "$folder/host16" CUDA_VISIBLE_DEVICES=0,1 mpirun -q -n 2 $train -o "$folder/host16" $bf16
six_steps "$folder/nccl16" $nccl CUDA_VISIBLE_DEVICES=0,1 mpirun -q -n 2 $train -o "$folder/nccl16" $bf16
warned 0
[ "$(losses "$folder/host16")" = "$(losses "$folder/nccl16")" ] || fail "losses in bf16 differ: $(losses "$folder/host16" | diff - <(losses "$folder/nccl16"))"
norms() { sed -n 's/.*"step":\([1-6]\),.*"gradient_norm":\([^,]*\),.*/\1 \2/p' "$1/metrics.jsonl"; }
[ "$(norms "$folder/host16")" != "$(norms "$folder/host")" ] || fail "bf16 changes nothing"
# The launcher gives each rank a GPU of its own, which is its first.
six_steps "$folder/bound" $nccl mpirun -q -n 1 env CUDA_VISIBLE_DEVICES=3 $train -o "$folder/bound" --device cuda : -n 1 env CUDA_VISIBLE_DEVICES=1 $train -o "$folder/bound" --device cuda
warned 0
same "$folder/bound"
six_steps "$folder/shared" $nccl mpirun -q -n 2 $train -o "$folder/shared" --device cuda:0
warned 1 "^warning: rank 0 (.*) and rank 1 (.*) share a GPU: gradients go through the host's memory"
same "$folder/shared"

# Ranks without a GPU, with --device auto too.
for device in cuda auto; do
  expect 2 "" "has no GPU of its own: expected one for each process, found 1 for the 2 on its machine" env CUDA_VISIBLE_DEVICES=0 mpirun -q -n 2 $train -o "$folder/x" --device $device
  expect 2 "" "found 0 for the 2 on its machine, and 2 on that of rank 0" mpirun -q -n 1 env CUDA_VISIBLE_DEVICES=0,1 $train -o "$folder/x" --device $device : -n 1 env CUDA_VISIBLE_DEVICES= $train -o "$folder/x" --device $device
  grep -q "^vpd: rank 1 (" "$folder/stderr" || fail "rank 1 is not named: $(cat "$folder/stderr")"
done

# Faults of NCCL: the rank is named, and the last checkpoint goes on.
expect 1 "" "vpd: rank 0 (" env $nccl NCCL_ON_CPU=init CUDA_VISIBLE_DEVICES=0,1 mpirun -q -n 2 $train -o "$folder/x" --device cuda
grep -q ", rank 1 (.*): NCCL: ncclCommInitRank: unhandled system error" "$folder/stderr" || fail "rank 1 is not named: $(cat "$folder/stderr")"
[ -e "$folder/x" ] && fail "a refused run left $(find "$folder/x")"
expect 1 "" "NCCL: a sum over GPUs: unhandled system error" env $nccl NCCL_ON_CPU=lost CUDA_VISIBLE_DEVICES=0,1 mpirun -q -n 2 $train -o "$folder/lost" --device cuda
[ "$(grep -c "^vpd: rank 1 (" "$folder/stderr")" = 1 ] || fail "one line with the rank's name expected: $(cat "$folder/stderr")"
lines=$(wc -l <"$folder/lost/metrics.jsonl")
six_steps "$folder/lost" $nccl CUDA_VISIBLE_DEVICES=0,1 mpirun -q -n 2 $vpd train -q --threads 1 -o "$folder/lost" --resume --device cuda
[ "$(wc -l <"$folder/lost/metrics.jsonl")" -ge "$lines" ] || fail "the run did not go on"
same "$folder/lost"
ls /dev/shm | grep -q vpd_nccl && fail "files are left in /dev/shm"
finish
