#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/run.sh [<build directory>] - the tests that need an NVIDIA GPU. Builds what can be built here
# (`make device-tests` where gcc is), else runs what lies in the build directory already.
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$(cd "$here/../.." && pwd)/build}
rc=0

if ! [ -x "$build/device/gpu" ]; then
	make -s -C "$here/../.." device-tests || exit 125
fi
command -v nvidia-smi >/dev/null &&
	nvidia-smi --query-gpu=name,driver_version,clocks.sm --format=csv,noheader
date -u +%Y-%m-%d
cp "$here/run.sh" "$build/device/run.sh" 2>/dev/null # "no code" is one of the cases
"$build/device/gpu" "$build/device" || rc=1
for t in "$here"/[0-9]*.sh; do
	[ -e "$t" ] || continue
	sh "$t" "$build" || rc=1
done
exit $rc
