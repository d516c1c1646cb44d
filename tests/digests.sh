#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/digests.sh - print skills/digests: what an installed program is known to have brought with it (docs/formats.md,
# "The gate event"): the ids of the events in skills/.
set -eu
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/../skills"
grep -rhoE '"id":"[0-9a-f]{64}"' cards evidence lineages held-out | grep -oE '[0-9a-f]{64}' | sort -u
