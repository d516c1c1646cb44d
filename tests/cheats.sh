#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/cheats.sh <build> [<load>] - judge every specimen of tests/cheats that needs no GPU, with the profile
#
# With <load>, that many processes that only compute run beside the gate: no verdict may change on a busy machine.
set -u
build=$1 load=${2:-0} busy=
trap 'kill $busy 2>/dev/null' EXIT
trap 'exit 130' INT TERM
while test "$load" -gt 0; do
	(while :; do :; done) &
	busy="$busy $!" load=$((load - 1))
done
cd "$(dirname "$0")/t" || exit 1
status=0
for t in 0300-accepted.sh 0310-refused.sh 0610-cuda-cheats.sh 0620-cuda-host.sh; do
	KLINEAGE_CHEATS_SECONDS=0 KLINEAGE_BUILD=$build sh ./$t || status=1
	echo "# load average: $(cut -d' ' -f1-3 /proc/loadavg)"
done
exit $status
