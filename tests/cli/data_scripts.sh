# What the programs in data/ say about wrong input. Modules that they need for more than that are made up.
. "$VPD_SOURCE/tests/cli/common"
cat >"$folder/run.py" <<'E2'
import runpy, sys, unittest.mock
for name in ("h5py", "mujoco", "numpy", "PIL"):
    sys.modules[name] = unittest.mock.MagicMock()
sample = sys.modules["h5py"].File.return_value.__enter__.return_value
sample.__getitem__.return_value.items.return_value = [("000000", unittest.mock.MagicMock())]
sys.argv[0:2] = sys.argv[1:2]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
names = runpy.run_path(sys.argv[0], run_name="__main__" if len(sys.argv) > 1 else "loaded")
print(names["splits"]("train:2,val:1,test:0,train:1"))
E2
run() { python3 "$folder/run.py" "$VPD_SOURCE/data/$1" "${@:2}"; }

expect 0 "['train', 'train', 'val', 'train']" "" run make_mujoco_scenes.py
for split in validation:3 train train:x train:-1 train:2,,val:1; do
  expect 2 "" "expected NAME:COUNT with a name of train, val, test; found" run make_mujoco_scenes.py --out "$folder/x.h5" --split "$split"
done
mkdir -p "$folder/recordings/000000"
expect 1 "" "recordings/000000: cannot make this folder (File exists); give a new one" run make_recordings.py "$folder/recordings"
[ "$(wc -l <"$folder/stderr")" = 1 ] || fail "more than one line: $(cat "$folder/stderr")"
finish
