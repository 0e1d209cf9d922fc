#!/usr/bin/env bash
# Train networks on a GPU that is there for minutes only, and on spare cores of its machine:
#
#   SAFENET_COMMIT=$(git describe --always) benchmarks/networks_device.sh OUT SECONDS WORKERS STUDIES [options of benchmarks.networks]
#   TWO_CORES=8-15   also the study two-cores, on pairs of these cores
#
# The same command continues what is saved in runs/networks. OUT gets networks.jsonl, two-cores.jsonl and runs.tar.gz, the
# networks of all runs that have ended: there, `python -m benchmarks.networks estimates networks.jsonl --runs DIR`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
out=${1:?a folder} seconds=${2:-560} workers=${3:-5} studies=${4:-default}
shift $(($# < 4 ? $# : 4))
python=${PYTHON:-python3}
export PYTHONPATH="$PWD/src:$PWD/.device-libs:$PWD" XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONUNBUFFERED=1
if command -v nvidia-cuda-mps-control >/dev/null && ! pgrep -f "nvidia-cuda-mps-control -d" >/dev/null; then
    nvidia-cuda-mps-control -d || echo "no MPS: workers take turns"
fi
mkdir -p runs "$out"
if [ -n "${TWO_CORES:-}" ]; then
    first=${TWO_CORES%-*} last=${TWO_CORES#*-}
    JAX_PLATFORMS=cpu taskset -c "$TWO_CORES" "$python" -m benchmarks.networks two-cores \
        runs/two-cores.jsonl --workers $(((last - first + 1) / 2)) --cores "$TWO_CORES" --seconds "$seconds" \
        --problems "${TWO_CORES_PROBLEMS:-}" &
fi
"$python" -m benchmarks.networks "$studies" runs/networks.jsonl --workers "$workers" --seconds "$((seconds - 10))" \
    --done results/networks.jsonl --runs runs/networks "$@"
wait
cp runs/networks.jsonl runs/two-cores.jsonl "$out" 2>/dev/null
# Without its history a run takes some 100 kB.
"$python" - "$out/runs.tar.gz" <<'PACK'
import io, json, sys, tarfile
from pathlib import Path
import numpy as np

with tarfile.open(sys.argv[1], "w:gz") as archive:
    for row in Path("runs/networks").glob("*"):
        state = np.load(row / "checkpoint.npz") if (row / "checkpoint.npz").exists() else None
        if state is None or any(name.startswith("state.") for name in state.files):
            continue  # it has not ended
        for name in ("plan.json", "problem.toml", "result.json", "curve.json"):
            if (row / name).exists():
                archive.add(row / name, f"{row.name}/{name}")
        stream = io.BytesIO()
        np.savez(stream, **{name: state[name] for name in state.files if name != "history"})
        entry = tarfile.TarInfo(f"{row.name}/checkpoint.npz")
        entry.size = stream.tell()
        stream.seek(0)
        archive.addfile(entry, stream)
PACK
du -sh runs/networks "$out"
