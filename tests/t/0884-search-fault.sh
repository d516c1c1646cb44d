#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='some of the fault points of search; tests/fault/search.sh <build> tries them all'
. ./lib.sh

if ! grep -q avx2 /proc/cpuinfo; then
	say "skipped: the kernels need AVX2"
elif test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
else
	say "skipped: no fault build here (make FAULT=1)"
fi

test_expect_success FAULT 'every sixty-seventh point, killed and failed, gone on with' '
	sh "$KLINEAGE_TOP/tests/fault/search.sh" "$KLINEAGE_TOP/build-fault" 67
'

test_done
