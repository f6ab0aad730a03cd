# --json: every command that reports says what it did as JSON on stdout, and nothing else there; without it, a sentence.
. "$VPD_SOURCE/tests/cli/common"
python3 -c '' 2>/dev/null || skip "no python3 to read JSON with"

# object "expression of o" COMMAND...: its stdout is lines of JSON, of which the last is o; the expression must hold.
object() {
  local expression=$1
  shift
  "$@" >"$folder/stdout" 2>"$folder/stderr"
  local got=$?
  [ "$got" = 0 ] || fail "exit status $got: $* ($(head -c 300 "$folder/stderr"))"
  python3 - "$folder/stdout" "$expression" <<'PYTHON' || fail "$expression does not hold for $*: $(head -c 600 "$folder/stdout")"
import json, os, sys
def no_number(name):
    raise ValueError(name + " is no JSON")
text = open(sys.argv[1], encoding="utf-8").read()
try:
    lines = [json.loads(line, parse_constant=no_number) for line in text.splitlines()]
except ValueError:  # one object on several lines
    lines = [json.loads(text, parse_constant=no_number)]
o = lines[-1]
for path in o.get("written", []):
    assert os.path.exists(path), path
assert "command" not in o or o["seconds"] > 0
sys.exit(not eval(sys.argv[2]))
PYTHON
}

sample=$VPD_SOURCE/data/mujoco_blocks_sample.h5
data=$folder/data.h5
object 'o["command"] == "data subset" and o["episodes"] == 3 and o["frames"] == 48 and o["images"] > 48 and o["splits"]["val"] == 1' \
  "$VPD" data subset --json "$sample" --split train:1,val:1,test:1 --frames 16 -o "$data"
object 'o["command"] == "data convert" and o["written"][0].endswith("c.h5") and len(lines) == 1' \
  "$VPD" data convert --json "$data" --frames 2 -o "$folder/c.h5"
object 'len(o["episodes"]) == 3' "$VPD" data info --json "$data"
object 'o["findings"] is not None' "$VPD" data check --json "$data"
object 'len(o["written"]) == 1' "$VPD" data show --json "$data" -o "$folder/sheet.png"
object 'len(o["written"]) > 1 and o["written"][0].endswith("_view0.gif")' "$VPD" data show --json "$data" --width 16 -o "$folder/film.gif"
object 'o["command"] == "init" and o["written"]' "$VPD" init --json "$folder/config.yaml"

tiny=(--data "$data" -o "$folder/run" --threads 1 --set train.steps=2 --set train.motion_steps=0 --set encoder.N=300 --set model.C=8 --set model.D=6
  --set "encoder.widths=[4,6]" --set gnn.M=16 --set gnn.L=1 --set "renderer.widths=[8,8]" --set renderer.S=4 --set renderer.K=4 --set "train.rollout=[1]" --set "train.rollout_from=[0]"
  --set train.rays=8 --set train.picture_every=0 --set train.eval_every=0 --set train.log_every=1)
object 'o["dry_run"] and o["weights"] > 100 and o["seconds_per_step"] > 0 and not o["written"]' "$VPD" train --json --dry-run "${tiny[@]}"
object 'o["command"] == "train" and o["step"] == 2 and o["loss"] > 0 and [l["step"] for l in lines[:2]] == [1, 2] and lines[1]["kind"] == "train"' \
  "$VPD" train --json "${tiny[@]}"
grep -v '"command"' "$folder/stdout" | cmp -s - "$folder/run/metrics.jsonl" || fail "train --json is not metrics.jsonl: $(cat "$folder/stdout")"

out=$folder/out.h5
object 'o["command"] == "rollout" and o["steps"] == 3 and o["particles"] == 300' "$VPD" rollout --json "$folder/run" "$data" --steps 3 --threads 1 -o "$out"
object 'o["steps"] == 4' "$VPD" rollout --json "$folder/run" "$out" --steps 1 --threads 1 -o "$folder/on.h5"
object 'o["frames"] == 4 and o["width"] >= 16 and not o["truth"]' \
  "$VPD" render --json "$out" --views 0 --no-truth --size 16x12 --threads 1 -o "$folder/out.gif"
object 'o["edits"] == 1 and o["left_out"] == 1 and o["particles"] == o["particles_before"] == 300 and o["hidden_points"] == o["hidden_points_before"] > 0 and o["labels"][0]["name"] == "background"' \
  "$VPD" edit --json "$out" --show-labels --do "move: {label: 1, by: [0, 0, 1]}" --do "remove: {height: {above: 99}, if_empty: skip}" -o "$folder/e.h5"
object '"- move:" in o["history"]' "$VPD" edit --json "$folder/e.h5" --show-history
object 'len(o["written"]) == 3 and o["steps"] == 3' "$VPD" export --json "$out" --npz "$folder/o.npz" --gltf "$folder/o.glb" --ply "$folder/ply"
object 'o["weights"] == "averaged" and o["step"] == 2' "$VPD" export --json "$folder/run" --safetensors "$folder/w.safetensors"
object '"particles" in str(o)' "$VPD" inspect --json "$out"
object 'o["libraries"]["HDF5"]' "$VPD" version --json
object 'o["rollouts"] == 4' "$VPD" eval -q "$folder/run" "$data" --motion --steps 1 --threads 1 --json
object 'o["failed"] == 0 and o["results"]' "$VPD" selftest --steps 1 --threads 1 --json
object 'o["command"] == "page"' "$VPD" page -q --json "$data" --run "$folder/run" --carried "$folder/run" --carried-note "Said of it." --start 1 --steps 1 --threads 1 -o "$folder/page.html"
grep -q "Said of it. [0-9]* training steps" "$folder/page.html" || fail "the page lacks --carried-note"

# Two pictures of a wall, as nerfstudio writes them.
python3 - "$folder/scene" <<'PYTHON' || fail "no scene was made"
import json, os, struct, sys, zlib
os.makedirs(sys.argv[1])
def png(name, depth, kind, row):
    def chunk(tag, data):
        return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 12, depth, kind, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(12 * (b"\0" + row))) + chunk(b"IEND", b""))
frames = []
for i in range(2):
    png(f"c{i}.png", 8, 2, 16 * b"\x80\x40\x20")
    png(f"d{i}.png", 16, 0, 16 * struct.pack(">H", 1500))
    pose = [[1, 0, 0, 0.1 * i], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    frames.append({"file_path": f"c{i}.png", "depth_file_path": f"d{i}.png", "transform_matrix": pose})
scene = {"fl_x": 20, "fl_y": 20, "cx": 8, "cy": 6, "w": 16, "h": 12, "frames": frames}
json.dump(scene, open(os.path.join(sys.argv[1], "transforms.json"), "w"))
PYTHON
object 'o["command"] == "data import" and o["images"] == 2 and o["moments_left_out"] == 0 and o["splits"]["train"] == 1' "$VPD" data import --json "$folder/scene" -o "$folder/i.h5"
expect 2 "" "expected a recording" "$VPD" data import --json "$folder/run" -o "$folder/x.h5" # what is wrong comes as a sentence all the same

# Without it: the sentence.
expect 0 "out.h5: episode" "*" "$VPD" rollout "$folder/run" "$data" --steps 1 --threads 1 -o "$out"
expect 0 "" "next: vpd train" "$VPD" init "$folder/second.yaml"
# Every command that writes or measures has the flag.
for command in bench "data check" "data convert" "data import" "data info" "data show" "data subset" edit eval export init inspect page render \
  rollout selftest train version; do
  "$VPD" help $command | grep -q -- '--json' || fail "vpd $command has no --json"
done
finish
