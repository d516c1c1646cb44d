#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='some of the fault points of deopt; tests/fault/sweep.sh <build> tries them all'
. ./lib.sh

if test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
else
	say "skipped: no fault build here (make FAULT=1)"
fi

test_expect_success FAULT 'every ninth point, killed and failed, continued and aborted' '
	sh "$KLINEAGE_TOP/tests/fault/sweep.sh" "$KLINEAGE_TOP/build-fault" 9
'

test_expect_success FAULT 'with a model: some points of a walk whose steps are derived anew' '
	sh "$KLINEAGE_TOP/tests/fault/sweep.sh" "$KLINEAGE_TOP/build-fault" 29 model
'

test_done
