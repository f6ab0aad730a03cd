# `vpd train`, `vpd eval` and `vpd rollout` as several processes: the same losses as one, bit for bit the same twice, a resume with another number of
# them, and one sentence for what is wrong.
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/ranks_job"

tiny_job "steps: 4, motion_steps: 2, batch: 3, windows: 5, rollout: [1, 2], rollout_from: [0, 0.5], rays: 8, log_every: 1, picture_every: 0, checkpoint_every: 2"
losses() { sed -n 's/.*"step":\([0-9]*\),"kind":"\([a-z]*\)".*"\(loss\|score\)":\([^,]*\),.*/\1 \2 \4/p' "$1/metrics.jsonl"; }
# Numbers of two runs are close: 1e-6 for losses; the score is of a model whose weights differ in their last bits.
close_to() {
  paste -d' ' <(losses "$1") <(losses "$2") | awk '{ d = $3 - $6; if (d < 0) d = -d; n++; if ($1 != $4 || $2 != $5 || !(d <= ($2 == "eval" ? 1e-3 : 1e-6))) bad = 1 } END { exit bad || n != 5 }'
}

expect 0 "" "*" "$VPD" $run -o "$folder/one"
expect 0 "" "*" ranks 2 "$VPD" $run -o "$folder/two"
close_to "$folder/one" "$folder/two" || fail "two ranks differ from one: $(losses "$folder/one" | diff - <(losses "$folder/two"))"
grep -q '"ranks":2' "$folder/two/metrics.jsonl" || fail "the log does not tell the number of ranks"
[ "$(wc -l <"$folder/two/metrics.jsonl")" = 5 ] || fail "each line once expected: $(cat "$folder/two/metrics.jsonl")"

# Data that have grown, and the motion of the run before: rank 0 makes room for the new episodes.
expect 0 "*" "*" "$VPD" data subset -q "$VPD_SOURCE/data/mujoco_blocks_more.h5" --split train:2,val:0,test:0 --frames 6 -o "$folder/more.h5"
printf 'data.h5\nmore.h5\n' >"$folder/list.txt"
mkdir "$folder/grown2" && cp "$folder/one/motion.bin" "$folder/grown2"
expect 0 "" "*" "$VPD" ${run/-d $data/-d $folder/list.txt} -o "$folder/grown1"
expect 0 "" "*" ranks 2 "$VPD" ${run/-d $data/-d $folder/list.txt} -o "$folder/grown2"
close_to "$folder/grown1" "$folder/grown2" || fail "two ranks on more data: $(losses "$folder/grown1" | diff - <(losses "$folder/grown2"))"

# Gradients that are sent in bf16: the same bits with the same number of ranks; rounding alone to f32.
for n in 2 4; do
  for turn in a b; do expect 0 "" "*" ranks $n "$VPD" $run -o "$folder/bf16$n$turn" --set train.sum_precision=bf16 --set train.batch=4; done
  [ "$(losses "$folder/bf16${n}a")" = "$(losses "$folder/bf16${n}b")" ] || fail "losses of $n ranks in bf16 differ from run to run"
done
sent() { sed -n 's/.*"sent_mib":\([^,}]*\).*/\1/p' "$1/metrics.jsonl" | head -1; }
awk -v f32="$(sent "$folder/two")" -v bf16="$(sent "$folder/bf162a")" 'BEGIN { exit !(bf16 > 0 && 2 * bf16 > 0.999 * f32 && 2 * bf16 < 1.001 * f32) }' ||
  fail "bf16 sends $(sent "$folder/bf162a") MiB, f32 $(sent "$folder/two")"
paste -d' ' <(losses "$folder/bf162a") <(losses "$folder/bf164a") | awk '{ d = $3 - $6; n++; if (d != 0) differs = 1; if ($1 != $4 || !(d * d < 1e-6)) bad = 1 } END { exit bad || !differs || n != 5 }' ||
  fail "two and four ranks in bf16: $(losses "$folder/bf162a" | diff - <(losses "$folder/bf164a"))"

# Stopped after step 2 and resumed: by two ranks the same bits, by three nearly so.
for n in 2 3; do
  mkdir -p "$folder/from$n/checkpoints"
  cp "$folder/two/checkpoints/step_00000002.h5" "$folder/from$n/checkpoints"
  echo step_00000002.h5 >"$folder/from$n/checkpoints/latest"
  cp "$folder/two/config.yaml" "$folder/from$n"
  head -2 "$folder/two/metrics.jsonl" >"$folder/from$n/metrics.jsonl"
  expect 0 "" "*" ranks "$n" "$VPD" train -q --threads 1 -o "$folder/from$n" --resume
done
[ "$(losses "$folder/from2")" = "$(losses "$folder/two")" ] || fail "losses of two ranks differ after a stop: $(losses "$folder/from2" | diff - <(losses "$folder/two"))"
close_to "$folder/two" "$folder/from3" || fail "three ranks differ from two: $(losses "$folder/from3" | diff - <(losses "$folder/two"))"

# An evaluation is divided: the same figures.
"$VPD" eval -q "$folder/one" "$data" --threads 1 --split train --steps 2 --json >"$folder/eval1.json" || fail "no evaluation"
ranks 2 "$VPD" eval -q "$folder/one" "$data" --threads 1 --split train --steps 2 --json >"$folder/eval2.json" || fail "no evaluation of two ranks"
round() { sed -E 's/([0-9]\.[0-9]{7})[0-9]*/\1/g' "$1"; }
[ -s "$folder/eval1.json" ] && [ "$(round "$folder/eval1.json")" = "$(round "$folder/eval2.json")" ] ||
  fail "evaluations differ: $(diff "$folder/eval1.json" "$folder/eval2.json" | head -c 600)"

# Rollouts are divided: the same bits in each file (beside the time of writing, which an export has not).
rollout="rollout -q $folder/one $data --threads 1 --split train,val --steps 2"
expect 0 "rollouts1: 3 rollouts of train,val" "" "$VPD" $rollout -o "$folder/rollouts1"
expect 0 "rollouts2: 3 rollouts of train,val" "" ranks 2 "$VPD" $rollout -o "$folder/rollouts2"
[ "$(ls "$folder/rollouts2")" = "$(printf '%06d.h5\n' 0 1 2)" ] || fail "not three rollouts: $(ls "$folder/rollouts2")"
for n in 0 1 2; do
  for of in 1 2; do expect 0 "*" "" "$VPD" export -q "$folder/rollouts$of/00000$n.h5" --npz "$folder/rollout$of.npz"; done
  cmp -s "$folder/rollout1.npz" "$folder/rollout2.npz" || fail "rollout $n of two processes differs"
done
expect 2 "" "2 processes were started: expected --split" ranks 2 "$VPD" rollout -q "$folder/one" "$data" --threads 1 -o "$folder/x.h5"
expect 2 "" "--episode and --split" "$VPD" $rollout --episode 0 -o "$folder/x"
expect 2 "" 'expected what rank 0 has, "steps: 2", found "steps: 1"' ranks 1 "$VPD" $rollout -o "$folder/x" : -n 1 "$VPD" rollout -q "$folder/one" "$data" --threads 1 --split train,val --steps 1 -o "$folder/x"
# Rank 1 cannot write its file: one sentence with its name.
mkdir -p "$folder/y/000002.h5"
expect 2 "" "/y/000002.h5: cannot write: it exists and is no regular file" ranks 2 "$VPD" $rollout -o "$folder/y"
[ "$(grep -c '^vpd: rank 1 (' "$folder/stderr")" = 1 ] || fail "one line with the rank's name expected: $(cat "$folder/stderr")"
rm -rf "$folder/x"

# An import is divided: one file for each process, which hold the episodes of one process, bit for bit and in its order.
colour=iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAMElEQVR42g3HIQEAMAwDwcgJrpLgxxFRJdW7HTtJWESskAYPGXZ+ikvK9ufwkWOPBy/bDhH9dmpPAAAAAElFTkSuQmCC
depth=iVBORw0KGgoAAAANSUhEUgAAAAQAAAAEEAAAAADcCh3hAAAALElEQVR42mOwaLReaHfQ8SGDK6OHorejXyJDYGPIwvCDUQ8Z4hgTFVMc0xMB21QMCQDmsPsAAAAASUVORK5CYII=
for n in 1 2 3; do # 4 x 4 pixels, each recording with its own lens
  mkdir -p "$folder/recordings/scene-$n"
  for v in 0 1; do
    base64 -d <<<$colour >"$folder/recordings/scene-$n/frame-00000$v.color.png"
    base64 -d <<<$depth >"$folder/recordings/scene-$n/frame-00000$v.depth.png"
  done
  {
    printf '# Color camera intrinsic matrix\n%s 0 1.5\n0 %s 1.5\n0 0 1\n' $n $n
    for v in 0 1; do printf '# Camera-to-world extrinsic matrix (camera pose) for frame-00000%s\n1 0 0 0.%s\n0 1 0 0\n0 0 1 0\n0 0 0 1\n' $v $v; done
  } >"$folder/recordings/scene-$n/cam.info.txt"
done
import="data import -q $folder/recordings --threads 1"
expect 0 "" "" "$VPD" $import -o "$folder/import1.h5"
expect 0 '"episodes":3' "" ranks 2 "$VPD" $import -o "$folder/import2" --json
[ "$(ls "$folder/import2")" = "$(printf 'part_%04d.h5\n' 0 1)" ] || fail "not two files: $(ls "$folder/import2")"
episodes() { "$VPD" data info "$1" --json | sed 's/"file":"[^"]*",//g; s/.*"episodes"://; s/"name":"[^"]*",//g'; }
[ "$(episodes "$folder/import1.h5")" = "$(episodes "$folder/import2")" ] || fail "episodes differ: $(episodes "$folder/import2")"
for of in import1.h5 import2; do # a copy numbers the episodes anew, and pictures show the numbers
  "$VPD" data subset -q "$folder/$of" -o "$folder/copy.h5" --force --split train:3 || fail "no copy of $of"
  for n in 0 1 2; do "$VPD" data show -q "$folder/copy.h5" --depth --episode $n -o "$folder/$of$n.png" || fail "no picture of $of"; done
done
for n in 0 1 2; do cmp -s "$folder/import1.h5$n.png" "$folder/import2$n.png" || fail "pixels of episode $n differ"; done
expect 2 "" "expected a folder without data sets, into which several processes write one each, found part_0001.h5" ranks 2 "$VPD" $import -o "$folder/import2"
expect 2 "" "expected at most 3 processes, one for each recording, found 4" ranks 4 "$VPD" $import -o "$folder/x"
expect 2 "" 'expected what rank 0 has, "every: 1", found "every: 2"' ranks 1 "$VPD" $import -o "$folder/x" --every 1 : -n 1 "$VPD" $import -o "$folder/x" --every 2
rm "$folder/recordings/scene-3/frame-000000.color.png"
expect 2 "" "scene-3/frame-000000.color.png: cannot open: No such file" ranks 2 "$VPD" $import -o "$folder/x"
[ "$(grep -c '^vpd: rank 1 (' "$folder/stderr")" = 1 ] || fail "one line with the rank's name expected: $(cat "$folder/stderr")"
[ -z "$(ls "$folder/x")" ] || fail "an import that failed left $(ls "$folder/x")"
# Bad pictures of both ranks are told as by one process.
rm "$folder/recordings/scene-1/frame-000001.depth.png"
skipped() { sed 's/.*"skipped":\(.*\],\).*/\1/' "$folder/stdout"; }
expect 0 '"skipped":' "2 of 6 pictures cannot be read; 2 left out" "$VPD" $import -o "$folder/skipped.h5" --skip-bad --json
of_one=$(skipped)
expect 0 '"skipped":' "2 of 6 pictures cannot be read; 2 left out" ranks 2 "$VPD" $import -o "$folder/skipped" --skip-bad --json
[ "$of_one" = "$(skipped)" ] || fail "two processes leave out $(skipped), one $of_one"
[ "$(episodes "$folder/skipped.h5")" = "$(episodes "$folder/skipped")" ] || fail "episodes without bad pictures differ: $(episodes "$folder/skipped")"
rm -rf "$folder/x"

# What is wrong is told once, with the rank, and leaves nothing behind.
expect 2 "" "train.batch: expected 3 or more, one episode for each process, found 2" ranks 3 "$VPD" $run -o "$folder/x" --set train.batch=2
expect 2 "" 'expected what rank 0 has, "train: rate: 0.0007", found "rate: 0.01"' ranks 1 "$VPD" $run -o "$folder/x" : -n 1 "$VPD" $run -o "$folder/x" --set train.rate=0.01
[ "$(grep -c '^vpd: rank 1 (' "$folder/stderr")" = 1 ] || fail "one line with the rank's name expected: $(cat "$folder/stderr")"
# Another build, and other data under the same name.
commit=$("$VPD" --version | sed -n 's/^commit *//p')
mkdir "$folder/build" "$folder/here" "$folder/there"
first=e # of another commit; other strings of the program may be the end of this one
[ "${commit:0:1}" = e ] && first=f
for file in vpd libvpd_mpi.so; do LC_ALL=C sed "s/$commit/$first${commit:1}/g" "$(dirname "$VPD")/$file" >"$folder/build/$file"; done
chmod +x "$folder/build/vpd"
expect 2 "" "expected what rank 0 has, \"program: " ranks 1 "$VPD" $run -o "$folder/x" : -n 1 "$folder/build/vpd" $run -o "$folder/x"
cp "$data" "$folder/here/own.h5"
expect 0 "*" "*" "$VPD" data subset -q "$data" --split train:2,val:1 --first 1 -o "$folder/there/own.h5"
own="train $folder/config.yaml -q -d own.h5 --threads 1 -o $folder/x"
expect 2 "" "rank 1 (" ranks 1 --wdir "$folder/here" "$VPD" $own : -n 1 --wdir "$folder/there" "$VPD" $own
grep -q 'expected what rank 0 has, "data: ' "$folder/stderr" || fail "the data are not named: $(cat "$folder/stderr")"
eval="eval -q $folder/one $data --threads 1 --split train --json"
expect 2 "" 'expected what rank 0 has, "steps: 2", found "steps: 1"' ranks 1 "$VPD" $eval --steps 2 : -n 1 "$VPD" $eval --steps 1
expect 2 "" 'expected what rank 0 has, "command: train", found "command: eval"' ranks 1 "$VPD" $run -o "$folder/x" : -n 1 "$VPD" $eval
expect 2 "" 'expected what rank 0 has, "checkpoint: ' ranks 1 "$VPD" $eval --steps 2 : -n 1 "$VPD" eval -q "$folder/two" "$data" --threads 1 --split train --steps 2
expect 2 "" "missing.h5" ranks 1 "$VPD" $run -o "$folder/x" : -n 1 "$VPD" train "$folder/config.yaml" -q -d "$folder/missing.h5" -o "$folder/x"
[ -e "$folder/x" ] && fail "a refused run left $(find "$folder/x")"

# A signal to one of the processes stops all; the last step is saved.
mpirun -q -n 2 "$VPD" $run -o "$folder/stopped" --set train.steps=100000 --set train.motion_steps=0 2>"$folder/stderr" &
pid=$!
while [ "$(wc -l 2>/dev/null <"$folder/stopped/metrics.jsonl" || echo 0)" -lt 3 ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
for child in $(pgrep -P $pid); do
  tr '\0' '\n' <"/proc/$child/environ" | grep -q '^OMPI_COMM_WORLD_RANK=1$' && kill -USR1 "$child"
done
wait $pid && fail "a stopped run must not exit with 0"
grep -q "^vpd: stopped by SIGUSR1 after step [0-9]*, which is saved; go on with" "$folder/stderr" || fail "the message must name the signal: $(cat "$folder/stderr")"
[ -s "$folder/stopped/checkpoints/latest" ] || fail "nothing was saved"
finish
