#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='a talk that is stopped at every durable step loses nothing and buys nothing twice'
. ./lib.sh

fault=$KLINEAGE_TOP/build-fault/tests/test_model_fault
http=$KLINEAGE_TOP/build-fault/tests/test_provider_fault
if test -x "$fault" && test -x "$http"; then
	test_set_prereq FAULT
else
	say "skipped: no fault build here (make FAULT=1 build-fault/tests/test_model_fault build-fault/tests/test_provider_fault)"
fi

test_expect_success FAULT 'every point, killed and failed, gone on with' '
	"$fault"
'

test_expect_success FAULT 'the same with a server, by both protocols, and while a reply comes in' '
	"$http"
'

test_done
