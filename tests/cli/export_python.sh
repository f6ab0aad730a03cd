# What vpd export writes, read by Python with numpy alone; and checkpoints by h5py where there is one.
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
finish
