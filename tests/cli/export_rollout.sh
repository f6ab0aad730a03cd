# vpd export of rollouts and particles, and vpd inspect of everything. Where numpy is at hand it reads what was written.
. "$VPD_SOURCE/tests/cli/common"
. "$VPD_SOURCE/tests/cli/tiny_run"
out=$folder/out.h5
expect 0 "*" "*" "$VPD" rollout "$run" "$data" --steps 3 --threads 1 -o "$out"

expect 0 "" "3 steps written" "$VPD" export "$out" --ply "$folder/a/ply" --npz "$folder/a.npz" --gltf "$folder/a.glb" --usda "$folder/a.usda"
[ "$(find "$folder/a/ply" -name 'step_000[0123].ply' | wc -l)" = 4 ] || fail "PLY files: $(ls "$folder/a/ply")"
grep -qa "^property ushort label$" "$folder/a/ply/step_0003.ply" || fail "a PLY file has no labels"
[ "$(head -c 4 "$folder/a.glb")" = glTF ] || fail "a.glb is no glTF"
[ "$(head -c 9 "$folder/a.usda")" = "#usda 1.0" ] || fail "a.usda is no USD"
expect 0 "" "" "$VPD" export -q "$out" --npz "$folder/b.npz"
cmp -s "$folder/a.npz" "$folder/b.npz" || fail "two exports of one rollout differ"

expect 2 "" "export of a rollout needs --ply FOLDER" "$VPD" export "$out"
expect 2 "" "--half: $out is a rollout, which has no such export" "$VPD" export "$out" --half --npz "$folder/x.npz"
expect 2 "" "--safetensors: $out is a rollout" "$VPD" export "$out" --safetensors "$folder/x.safetensors"
expect 2 "" "/dev/null/x" "$VPD" export "$out" --gltf /dev/null/x.glb
expect 2 "" "x.usdc: expected a name that ends in .usda, which is what --usda writes" "$VPD" export "$out" --usda "$folder/x.usdc"
expect 2 "" "x.usdz: expected a name that ends in .usda" "$VPD" export "$out" --force --usda "$folder/x.usdz"
expect 2 "" "x.obj: expected a name that ends in .glb, which is what --gltf writes" "$VPD" export "$out" --gltf "$folder/x.obj"
expect 2 "" "x.txt: expected a name that ends in .npz, which is what --npz writes" "$VPD" export "$out" --npz "$folder/x.txt"
expect 2 "" "x.npz: expected a name that ends in .h5, which is what --output writes" "$VPD" rollout "$run" "$out" --steps 1 -o "$folder/x.npz"
expect 0 "" "" "$VPD" export -q "$out" --usda "$folder/a.usd"
expect 2 "" 'expected a rollout (format "vpd-rollout"), found a data set' "$VPD" export "$data" --gltf "$folder/x.glb"
expect 2 "" "expected a checkpoint" "$VPD" export "$data" --safetensors "$folder/x.safetensors"
expect 2 "" "a.npz" "$VPD" export "$out" --ply "$folder/a.npz"
head -c 3000 "$out" >"$folder/cut.h5"
expect 2 "" "cut.h5" "$VPD" export "$folder/cut.h5" --npz "$folder/x.npz"
[ -n "$(find "$folder" -name "x*")" ] && fail "a failed export left a file"
for kind in npz:kept.npz gltf:kept.glb usda:kept.usda; do # a full disk: status 1, and the file that was there stays
  kept=$folder/${kind#*:}
  echo before >"$kept"
  (ulimit -f 1; trap '' XFSZ; "$VPD" export -q "$out" --force --"${kind%:*}" "$kept" 2>"$folder/stderr2"; echo $? >"$folder/status")
  [ "$(cat "$folder/status")" = 1 ] && grep -q kept "$folder/stderr2" || fail "$kind on a full disk: $(cat "$folder/status") $(cat "$folder/stderr2")"
  [ "$(cat "$kept")" = before ] || fail "$kind: a full disk harmed the earlier file"
done

# ---- films, counted by another program
if command -v ffprobe >/dev/null && command -v ffmpeg >/dev/null; then
  for kind in gif mp4; do
    expect 0 "4 frames of" "*" "$VPD" render -q "$out" --views 0 --no-truth --size 32x32 --fps 5 --threads 1 -o "$folder/film.$kind"
    size=$(sed -n 's/.* of \([0-9]*\) x \([0-9]*\) pixels/\1,\2/p' "$folder/stdout")
    found=$(ffprobe -v error -count_frames -show_entries stream=width,height,nb_read_frames -of csv=p=0 "$folder/film.$kind" 2>&1)
    [ "$found" = "$size,4" ] || fail "ffprobe finds $found in film.$kind, not $size,4"
  done
fi

# ---- inspect
line() { grep -qE "^ *$1 +$2\$" "$folder/stdout" || fail "no line \"$1 $2\" of inspect: $(cat "$folder/stdout")"; }
expect 0 "" "" "$VPD" export -q "$run" --safetensors "$folder/w.safetensors"
expect 0 "kind" "" "$VPD" inspect "$out"
line kind rollout; line steps 3; line bodies "[0-9]+"; line hidden_points "[0-9]+"; line features 6; line cameras 5; line "background" "[0-9]+"; line edits -
grep -q "past_particles" "$folder/stdout" && fail "inspect tells of past particles, which rollouts of bodies do not have"
expect 0 "kind" "" "$VPD" inspect "$data"
line kind "data set"; line episodes 3; line frames 9; line width 64; line mask yes
expect 0 "kind" "" "$VPD" inspect "$run"
line kind run; line checkpoints "step_00000000.h5 step_00000001.h5"; line step 1
expect 0 "kind" "" "$VPD" inspect "$run/checkpoints/step_00000001.h5"
line kind checkpoint; line contents training; line N 300; line half no
expect 0 "kind" "" "$VPD" inspect "$folder/w.safetensors"
line kind safetensors; line weights ema; line encoder.down0.conv0.bias 4
mkdir "$folder/set" && cp "$data" "$folder/set"
expect 0 "data set" "" "$VPD" inspect "$folder/set"
echo set/data.h5 >"$folder/list.txt"
expect 0 "data set" "" "$VPD" inspect "$folder/list.txt"
expect 0 '{"kind":"rollout"' "" "$VPD" inspect --json "$out"
[ "$(wc -l <"$folder/stdout")" = 1 ] || fail "inspect --json is not one line"

expect 2 "" "$folder/none" "$VPD" inspect "$folder/none"
expect 2 "" "expected an HDF5 file, found a text file" "$VPD" inspect "$0"
expect 2 "" "found a text file; a scene is simulated first: vpd sim run SCENE.yaml -o OUT.h5" "$VPD" inspect "$VPD_SOURCE/scenes/ball.yaml"
expect 2 "" "cut.h5" "$VPD" inspect "$folder/cut.h5"
cp "$run/checkpoints/step_00000001.h5" "$folder/flipped.h5"
printf '\xff\xff' | dd of="$folder/flipped.h5" bs=1 seek=$(($(stat -c %s "$folder/flipped.h5") / 2)) conv=notrunc status=none
# HDF5 itself leaks where an object is damaged, which is not what is looked for here.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 expect 2 "" "flipped.h5" "$VPD" inspect "$folder/flipped.h5"

# ---- read back by another program
python=${VPD_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || finish
for file in "$out" "$data" "$run" "$folder/w.safetensors"; do "$VPD" inspect --json "$file"; done >"$folder/inspect.jsonl"
expect 0 "" "" "$python" - "$folder" <<'END'
import ast, json, re, struct, sys, zipfile
import numpy as np
folder = sys.argv[1]
kinds = [json.loads(line) for line in open(folder + "/inspect.jsonl")]
assert [k["kind"] for k in kinds] == ["rollout", "data set", "run", "safetensors"], kinds
assert zipfile.ZipFile(folder + "/a.npz").testzip() is None
with np.load(folder + "/a.npz", allow_pickle=False) as file:
    z = dict(file)
N = kinds[0]["particles"] + kinds[0].get("hidden_points", 0)
assert z["positions"].shape == (4, N, 3) and z["positions"].dtype == np.float32 and z["moving"].dtype == bool
assert z["features"].shape[-2:] == (N, 6) and z["world_from_camera"].shape == (1, 5, 4, 4) and (np.diff(z["time"]) > 0).all()
assert json.loads(z["meta"].item())["episode"] == kinds[0]["episode"]
assert sum(kinds[0]["labels"].values()) == kinds[0]["particles"] and np.bincount(z["labels"][z["radius"] > 0])[0] == kinds[0]["labels"]["background"]
assert np.allclose(kinds[0]["box_last"][0], z["positions"][3].min(0), atol=1e-6)

for step in range(4):
    head, body = open(f"{folder}/a/ply/step_{step:04}.ply", "rb").read().split(b"end_header\n", 1)
    names = {"float": "<f4", "uchar": "u1", "ushort": "<u2"}
    rows = np.frombuffer(body, [(n, names[t]) for t, n in re.findall(r"property (\w+) (\w+)", head.decode())])
    assert len(rows) == N and np.array_equal(np.stack([rows[c] for c in "xyz"], 1), z["positions"][step])
    assert np.array_equal(rows["label"], z["labels"]) and np.array_equal(rows["green"], z["colour"][:, 1])

glb = open(folder + "/a.glb", "rb").read()
size = struct.unpack("<I", glb[12:16])[0]
gltf, binary = json.loads(glb[20:20 + size]), glb[28 + size:]
assert gltf["asset"]["version"] == "2.0" and len(binary) == gltf["buffers"][0]["byteLength"]
for step in range(4):
    a = gltf["accessors"][gltf["meshes"][step]["primitives"][0]["attributes"]["POSITION"]]
    start = gltf["bufferViews"][a["bufferView"]].get("byteOffset", 0) + a["byteOffset"]
    x = np.frombuffer(binary, "<f4", 3 * N, start).reshape(N, 3)
    assert np.array_equal(x, z["positions"][step]) and np.array_equal(x.max(0), np.float32(a["max"]))

usd = open(folder + "/a.usda").read()
samples = re.findall(r"^        (\d): (\[.*\]),$", usd.split("points.timeSamples")[1].split("}")[0], re.M)
assert [int(s[0]) for s in samples] == [0, 1, 2, 3]
for step, text in samples:
    assert np.array_equal(np.float32(ast.literal_eval(text)), z["positions"][int(step)])
END
finish
