# What vpd export writes, read by Python with numpy alone; and where they are there (VPD_PYTHON names a Python that has them) checkpoints by h5py,
# glTF by pygltflib and trimesh, USD by Pixar's library and its validators.
. "$VPD_SOURCE/tests/cli/common"
seeds=$VPD_SOURCE/tests/fuzz/corpus/checkpoint
for python in "${VPD_PYTHON:-}" /opt/vpdpy/bin/python python3; do
  [ -n "$python" ] && "$python" -c "import numpy" 2>/dev/null && break
  python=
done
[ -n "$python" ] || skip "no Python with numpy"

expect 0 "" "" "$VPD" export -q "$seeds/training.h5" --safetensors "$folder/a.safetensors"
expect 0 "" "" "$VPD" export -q "$seeds/training.h5" --safetensors "$folder/half.safetensors" --half
"$python" - "$folder/a.safetensors" "$folder/half.safetensors" "$seeds/training.h5" <<'END' || fail "Python reads something else"
import json, sys
import numpy as np

def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    metadata = header.pop("__metadata__")
    types = {"F32": "<f4", "F16": "<f2"}
    arrays = {n: np.frombuffer(data[slice(*e["data_offsets"])], types[e["dtype"]]).reshape(e["shape"]) for n, e in header.items()}
    assert sum(a.nbytes for a in arrays.values()) == len(data)
    return arrays, metadata

shapes = {"encoder.down0.conv0.weight": (3, 3, 3, 5), "encoder.down0.conv0.bias": (5,), "gnn.edge.weight0": (7, 9),
          "gnn.edge.weight00": (1, 1), "gnn.edge.bias0": (17,), "renderer.bias": (2, 3, 4)}
arrays, metadata = read(sys.argv[1])
assert {n: a.shape for n, a in arrays.items()} == shapes
for name, a in arrays.items():  # tests/checkpoint_model.h: model_fill, the average's base is 4
    assert np.array_equal(a.ravel(), 4 + len(name) % 8 + np.arange(a.size) % 64 / 16), name
assert metadata["format"] == "vpd" and metadata["weights"] == "ema" and metadata["step"] == "10"
assert float(metadata["gnn.length_scale"]) == 0.1 and "length_scale: 0.1" in metadata["config"]
halves, _ = read(sys.argv[2])
assert all(h.dtype == np.float16 and np.array_equal(h, arrays[n]) for n, h in halves.items())
try:
    import h5py
except ImportError:
    sys.exit(0)
with h5py.File(sys.argv[3]) as file:
    assert file.attrs["format"] == b"vpd-checkpoint" and file.attrs["step"] == 10
    assert all(np.array_equal(file["ema"][n], a) for n, a in arrays.items())
END

# ---- rollouts, moving and still
rollout=$VPD_SOURCE/tests/fuzz/corpus/rollout/file.h5
expect 0 "" "" "$VPD" export -q "$rollout" --npz "$folder/a.npz" --gltf "$folder/a.glb" --usda "$folder/a.usda"
expect 0 "*" "*" "$VPD" edit -q "$rollout" --do "move: {all: true, by: [0, 0, 0]}" -o "$folder/still.h5"
expect 0 "" "" "$VPD" export -q "$folder/still.h5" --npz "$folder/still.npz" --gltf "$folder/still.glb" --usda "$folder/still.usda"
"$python" - "$folder/a" "$folder/still" >"$folder/read" <<'END' || fail "other programs read something else"
import json, struct, sys, warnings
import numpy as np

def rules_of_gltf(name, x, time):
    """What the specification asks of chunks, accessors, nodes and animations (glTF 2.0)."""
    glb = open(name + ".glb", "rb").read()
    magic, version, length, size, kind = struct.unpack("<4sIIII", glb[:20])
    assert (magic, version, length, kind) == (b"glTF", 2, len(glb), 0x4E4F534A) and size % 4 == 0
    g = json.loads(glb[20:20 + size])
    binary = glb[28 + size:]
    assert struct.unpack("<II", glb[20 + size:28 + size]) == (len(binary), 0x004E4942) and len(binary) % 4 == 0
    assert len(binary) == g["buffers"][0]["byteLength"]
    sizes = {5126: ("<f4", 4), 5123: ("<u2", 2)}
    parts = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}
    arrays = []
    for a in g["accessors"]:
        view, (dtype, each) = g["bufferViews"][a["bufferView"]], sizes[a["componentType"]]
        start, count = view["byteOffset"] + a["byteOffset"], a["count"] * parts[a["type"]]
        assert start % 4 == 0 and a["byteOffset"] + count * each <= view["byteLength"] and a["count"] > 0
        assert view["byteOffset"] + view["byteLength"] <= len(binary)
        arrays.append(np.frombuffer(binary, dtype, count, start).reshape(a["count"], -1))
        assert np.isfinite(arrays[-1]).all()
        if "min" in a:
            assert np.array_equal(np.float32(a["min"]), arrays[-1].min(0)) and np.array_equal(np.float32(a["max"]), arrays[-1].max(0))
    assert len(g["meshes"]) == len(x)
    for mesh, positions in zip(g["meshes"], x):
        attributes = mesh["primitives"][0]["attributes"]
        assert np.array_equal(arrays[attributes["POSITION"]], positions) and "min" in g["accessors"][attributes["POSITION"]]
        assert {g["accessors"][i]["count"] for i in attributes.values()} == {len(positions)}
    nodes = {i for scene in g["scenes"] for i in scene["nodes"]}
    for node in g["nodes"]:
        children = set(node.get("children", []))
        assert not nodes & children and abs(np.linalg.norm(node.get("rotation", [0, 0, 0, 1])) - 1) < 1e-6
        nodes |= children
    assert nodes == set(range(len(g["nodes"]))) and ("animations" in g) == (len(x) > 1)
    for animation in g.get("animations", []):
        targets = [(c["target"]["node"], c["target"]["path"]) for c in animation["channels"]]
        assert len(set(targets)) == len(targets) == len(x)
        shown = np.zeros((len(x), len(x)), bool)  # [moment, step]
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            keys, scale = arrays[sampler["input"]][:, 0], arrays[sampler["output"]]
            assert len(keys) == len(scale) and (np.diff(keys) > 0).all() and keys[0] >= 0 and "min" in g["accessors"][sampler["input"]]
            moments = (time - time[0]).astype(np.float32) + np.float32(1e-4)
            at = np.searchsorted(keys, moments, "right") - 1
            shown[:, channel["target"]["node"] - 1] = scale[at, 0] == 1
        assert (shown == np.eye(len(x), dtype=bool)).all(), "one step is seen at a time"

def by_pygltflib(name, x):
    from pygltflib import GLTF2
    from pygltflib.validator import validate
    g = GLTF2().load(name + ".glb")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        validate(g)
    assert len(g.meshes) == len(x)

def by_trimesh(name, x):
    import trimesh
    scene = trimesh.load(name + ".glb")
    assert len(scene.geometry) == len(x)
    for step, positions in enumerate(x):
        transform, geometry = scene.graph[f"step {step}"]
        assert np.array_equal(np.float32(scene.geometry[geometry].vertices), positions)
        if step == 0:  # the camera's y is down, and has become -y
            world = trimesh.transform_points(positions, transform)
            assert np.allclose(world, positions * [1, -1, -1], atol=1e-5)

def by_usd(name, x, time, widths):
    from pxr import Usd, UsdGeom
    stage = Usd.Stage.Open(name + ".usda")
    points = UsdGeom.Points(stage.GetDefaultPrim())
    assert points.GetPointsAttr().GetTimeSamples() == list(range(len(x)))
    for step, positions in enumerate(x):
        assert np.array_equal(np.array(points.GetPointsAttr().Get(step)), positions)
        assert np.array_equal(np.array(points.GetExtentAttr().Get(step)), [positions.min(0), positions.max(0)])
    assert widths is None or np.allclose(points.GetWidthsAttr().Get(), widths / 2, rtol=1e-5)
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and UsdGeom.GetStageMetersPerUnit(stage) == 1
    if len(x) > 1:
        assert abs(stage.GetTimeCodesPerSecond() * np.diff(time).mean() - 1) < 1e-3
    try:
        from pxr import UsdValidation
    except ImportError:  # an older USD
        return
    found = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators()).Validate(stage)
    assert not found, [(e.GetName(), e.GetMessage()) for e in found]

for name in sys.argv[1:]:
    with np.load(name + ".npz", allow_pickle=False) as z:
        x, time, widths = z["positions"], z["time"], z["radius"] if "radius" in z else None
    assert (len(x) > 1) == name.endswith("/a")
    rules_of_gltf(name, x, time)
    for reader, arguments in ((by_pygltflib, (x,)), (by_trimesh, (x,)), (by_usd, (x, time, widths))):
        try:
            reader(name, *arguments)
            print("read", reader.__name__)
        except ModuleNotFoundError as error:
            print("not here:", error.name)
END
cat "$folder/read"

# ---- what the simulator made: surfaces and springs
expect 0 "*" "*" "$VPD" sim run "$VPD_SOURCE/scenes/cloth.yaml" -o "$folder/cloth.h5" --threads 1
expect 0 "" "" "$VPD" export -q "$folder/cloth.h5" --ply "$folder/cloth" --npz "$folder/cloth.npz" --gltf "$folder/cloth.glb" --usda "$folder/cloth.usda"
"$python" - "$folder/cloth" >"$folder/read" <<'END' || fail "other programs read other surfaces"
import json, re, struct, sys
import numpy as np
name = sys.argv[1]
with np.load(name + ".npz", allow_pickle=False) as z:
    x, triangles, springs, labels = z["positions"], z["triangles"], z["springs"], z["labels"]
    assert z["touching"].shape == x.shape[:2] and (labels[triangles] == 1).all() and triangles.max() < len(labels)
flag, chain = np.flatnonzero(labels == 1), np.flatnonzero(labels == 2)
of_chain = springs[labels[springs[:, 0]] == 2]
assert len(flag) == 169 and len(triangles) == 288 and len(of_chain) == 4

glb = open(name + ".glb", "rb").read()
size = struct.unpack("<I", glb[12:16])[0]
g, binary = json.loads(glb[20:20 + size]), glb[28 + size:]
def array(i):
    a = g["accessors"][i]
    view, parts = g["bufferViews"][a["bufferView"]], {"SCALAR": 1, "VEC3": 3}[a["type"]]
    out = np.frombuffer(binary, {5126: "<f4", 5125: "<u4"}[a["componentType"]], a["count"] * parts, view["byteOffset"] + a["byteOffset"])
    return out.reshape(-1, parts)
sampler = g["animations"][0]["samplers"][0]
assert sampler["interpolation"] == "LINEAR"
weights = array(sampler["output"]).reshape(len(x), -1)
for mesh, own in zip(g["meshes"], (flag, chain)):
    for primitive in mesh["primitives"]:
        base = array(primitive["attributes"]["POSITION"])
        ways = np.stack([array(t["POSITION"]) for t in primitive["targets"]])
        assert np.allclose(base + np.tensordot(weights, ways, 1), x[:, own], atol=1e-6)
surface, (points, lines) = g["meshes"][0]["primitives"][0], g["meshes"][1]["primitives"]
assert np.array_equal(flag[array(surface["indices"])].reshape(-1, 3), triangles) and surface["mode"] == 4
assert np.array_equal(chain[array(lines["indices"])].reshape(-1, 2), of_chain) and lines["mode"] == 1

def by_trimesh():
    import scipy, trimesh  # of scipy it needs edges in PLY
    mesh = trimesh.load(name + "/step_0030.ply", process=False)
    assert np.array_equal(mesh.faces, triangles) and np.allclose(mesh.vertices, x[30], atol=1e-7)
    mesh = trimesh.load(name + ".glb", process=False).geometry["cloth"]
    assert np.array_equal(flag[mesh.faces], triangles) and np.allclose(mesh.vertices, x[0][flag], atol=1e-7)

def by_usd():
    from pxr import Usd, UsdGeom
    stage = Usd.Stage.Open(name + ".usda")
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/scene/cloth"))
    curves = UsdGeom.BasisCurves(stage.GetPrimAtPath("/scene/chain/chain_springs"))
    points = UsdGeom.Points(stage.GetPrimAtPath("/scene/chain/chain_particles"))
    assert np.array_equal(flag[np.array(mesh.GetFaceVertexIndicesAttr().Get())].reshape(-1, 3), triangles)
    for step in range(len(x)):
        assert np.array_equal(np.array(mesh.GetPointsAttr().Get(step)), x[step, flag])
        assert np.array_equal(np.array(points.GetPointsAttr().Get(step)), x[step, chain])
        assert np.array_equal(np.array(curves.GetPointsAttr().Get(step)), x[step, of_chain.ravel()])
    try:
        from pxr import UsdValidation
    except ImportError:
        return
    found = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators()).Validate(stage)
    assert not found, [(e.GetName(), e.GetMessage()) for e in found]

for reader in (by_trimesh, by_usd):
    try:
        reader()
        print("surfaces read", reader.__name__)
    except ModuleNotFoundError as error:
        print("not here:", error.name)
END
cat "$folder/read"
finish
