#!/usr/bin/env bash
# Run what the paper's claims still need (the suite `verdicts`) on a GPU that is there for minutes only:
#
#   SAFENET_COMMIT=$(git describe --always) benchmarks/paper_device.sh OUT [SECONDS [WORKERS [options of safenet.bench]]]
#
# Workers share the GPU through MPS, with other programs too. It stops by itself; the same command continues from the
# checkpoints in runs/verdicts. OUT/paper-verdicts.jsonl has the rows that
# results/ has not: put it there, or append it to the file of that name.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
out=${1:?a folder for the rows} seconds=${2:-500} workers=${3:-5}
shift $(($# < 3 ? $# : 3))
python=${PYTHON:-python3}
export PYTHONPATH="$PWD/src:$PWD/.device-libs" XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONUNBUFFERED=1
shopt -s nullglob
known=(results/paper-*.jsonl)
if command -v nvidia-cuda-mps-control >/dev/null && ! pgrep -f "nvidia-cuda-mps-control -d" >/dev/null; then
    nvidia-cuda-mps-control -d || echo "no MPS: workers take turns"
fi
mkdir -p "$out"
minutes=$(awk "BEGIN { print ($seconds - 20) / 60 }") # what is left of it writes the rows
timeout -k 5 "$((seconds - 10))" "$python" -m safenet.bench verdicts --out runs/verdicts --merge "${known[@]}" \
    --workers "$workers" --minutes "$minutes" "$@" || echo "safenet.bench ended with $?"
"$python" - "$out/paper-verdicts.jsonl" "${known[@]}" <<'ROWS'
import json, sys
from safenet.bench import Store

new, *known = sys.argv[1:]
stored = {json.loads(line)["id"] for path in known for line in open(path)}
with Store("runs/verdicts") as store, open(new, "w") as stream:
    rows = [row.to_json() for row in store.every() if row.id not in stored]
    stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
print(len(rows), "new rows in", new)
ROWS
tail -n 200 runs/verdicts/logs/*.log >"$out/workers.log" 2>/dev/null
