#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: odd but honest kernels pass'
. ./lib.sh
. "$KLINEAGE_TOP"/tests/t/cheats.sh
judge_all accepted
test_done
