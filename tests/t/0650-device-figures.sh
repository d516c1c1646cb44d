#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='figures of a GPU get into the docs by tests/device/docs.sh, from what a run left'
. ./lib.sh

docs=$KLINEAGE_TOP/tests/device/docs.sh

test_expect_success 'profiles, of results and of events' '
	cat >gemm-1.results <<-\X &&
	{"bundle":"b","schema":"klineage.results/1"}
	{"job":"j","result":{"status":"pass","profile":{"points":[{"aa":{"lo_ppm":998000,"hi_ppm":1001000},"ns":175198,"vs":[{"what":"cublas.gemm","library":"cuBLAS 1","ratio_ppm":981360,"lo_ppm":980062,"hi_ppm":982379}]}]}}}
	{"job":"k","result":{"status":"cannot"}}
	X
	echo "{\"workload\":\"topk\",\"profile\":{\"aa_ppm\":3000,\"ns\":2500000,\"vs\":[{\"what\":\"parent\"},{\"what\":\"cub.topk\",\"ratio_ppm\":2500000,\"lo_ppm\":2400000,\"hi_ppm\":2600000}]}}" >events &&
	sh "$docs" profile gemm-1.results events >out && cat >want <<-\X && tail -n +3 out >have && test_cmp want have
	| gemm-1 | 175.20 µs | 0.20 % | cublas.gemm, cuBLAS 1 | 0.981x [0.980, 0.982] |
	| topk | 2.500 ms | 0.30 % | cub.topk | 2.500x [2.400, 2.600] |
	X
'

test_expect_success 'stages of the worker, as means over results' '
	cat >staged <<-\X &&
	{"schema":"klineage.results/1"}
	{"job":"j","ms":9,"result":{"ms":{"correct":100,"profile":300}}}
	{"job":"k","ms":9,"result":{"ms":{"audit":7,"correct":202}}}
	X
	sh "$KLINEAGE_TOP/tests/device/stages.sh" staged >out && echo "correct 151 ms (2), profile 300 ms (1), audit 7 ms (1)" >means &&
	test_cmp means out &&
	exits 1 sh "$KLINEAGE_TOP/tests/device/stages.sh" gemm-1.results >out && test_must_fail test -s out
'

test_expect_success 'they take their place, and no other; nothing there is no table' '
	printf "a\n<!-- profile -->\nold\n<!-- end of profile -->\nb\n" >page && sh "$docs" put page profile <want &&
	printf "a\n<!-- profile -->\n\n" >all && cat want >>all && printf "\n<!-- end of profile -->\nb\n" >>all && test_cmp all page &&
	! sh "$docs" put page other <want 2>err && says "no place for other" err && test_cmp all page &&
	echo "{}" >none && ! sh "$docs" profile none 2>err && says "no profile there" err && ! sh "$docs" profile missing 2>err
'

test_expect_success 'what is between marks in the docs is a table; both marks are there' '
	for f in "$KLINEAGE_TOP"/docs/cuda-*.md; do
		sed -n "s/^<!-- \([a-z-]*\) -->$/\1/p" "$f" >begin && sed -n "s/^<!-- end of \([a-z-]*\) -->$/\1/p" "$f" >end &&
		test_cmp begin end || return 1
	done
'

test_done
