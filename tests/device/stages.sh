#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/stages.sh - the mean milliseconds of each stage of the worker, and how many results have it, in one line:
#
#	stages.sh <results>	JSON Lines of klineage-worker
#
# Exit 1: no result has a stage.
grep -o '"ms":{[^}]*}' "$1" | tr -d '{}"' | sed 's/^ms://' | tr ',' '\n' |
	awk -F: '!($1 in n) { name[++many] = $1 } { n[$1]++; ms[$1] += $2 }
		END {
			for (i = 1; i <= many; i++)
				printf("%s %.0f ms (%d)%s", name[i], ms[name[i]] / n[name[i]], n[name[i]], i < many ? ", " : "\n")
			exit !many
		}'
