#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: cheats and broken kernels are refused, each for the right reason'
. ./lib.sh
. "$KLINEAGE_TOP"/tests/t/cheats.sh
judge_all refused
test_done
