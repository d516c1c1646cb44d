#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='some of the fault points of an import into a segment; tests/fault/segments.sh <build> tries them all'
. ./lib.sh

if test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
else
	say "skipped: no fault build here (make FAULT=1)"
fi

test_expect_success FAULT 'every second point, killed and failed, and imported again' '
	sh "$KLINEAGE_TOP/tests/fault/segments.sh" "$KLINEAGE_TOP/build-fault" 2
'

test_done
