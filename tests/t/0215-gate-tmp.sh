#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='what the gate has in the directory for temporary files: nothing stays, and nothing there stops it'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp

gates () { find "$TMPDIR" -maxdepth 1 -name "klineage-gate-*" | wc -l; }

test_expect_success 'a kernel' '
	git init -q r && cp "$cheats"/klineage.yaml "$cheats"/oracle.c r && cp "$cheats"/accepted/plain.c r/mm.c &&
	git -C r add . && git -C r commit -q -m plain
'

test_expect_success 'a gate that ends leaves nothing' '
	(cd r && git klineage gate --no-profile --no-note --fresh) && test "$(gates)" = 0
'

# appears <pid>: wait for a directory of that process
appears () {
	n=0
	until ls -d "$TMPDIR/klineage-gate-$1-"* >/dev/null 2>&1; do
		n=$((n + 1))
		test $n -lt 500 && sleep 0.02 || return 1
	done
}

test_expect_success 'what a killed gate leaves goes with the next one; one that runs beside it keeps its own' '
	(
	cd r && { "$KLINEAGE_BUILD/git-klineage" gate --no-note --fresh >/dev/null 2>&1 & } && pid=$! && appears $pid && kill -KILL $pid &&
	{ wait $pid; test "$(gates)" = 1; } && dead=$(ls -d "$TMPDIR"/klineage-gate-*) && echo left >"$dead/truth" &&
	{ "$KLINEAGE_BUILD/git-klineage" gate --no-note --fresh >../beside 2>&1 & } && pid=$! && appears $pid && test ! -e "$dead" &&
	git klineage gate --no-profile --no-note --fresh && ls -d "$TMPDIR/klineage-gate-$pid-"* && wait $pid && says "mm: pass" ../beside && test "$(gates)" = 0
	)
'

test_expect_success 'names of the like that are no directories of ours are neither followed nor removed' '
	mkdir victim && echo mine >victim/file && ln -s "$PWD/victim" "$TMPDIR/klineage-gate-7-LLLLLL" && mkfifo "$TMPDIR/klineage-gate-7-FFFFFF" &&
	mkdir "$TMPDIR/klineage-gate-7-toolong" && mkdir "$TMPDIR/klineage-gate-x-AAAAAA" && ln -s ../victim tmp/klineage-gate-8-BBBBBB &&
	(cd r && timeout 60 git klineage gate --no-profile --no-note --fresh) && test "$(cat victim/file)" = mine && test "$(gates)" = 5
'

test_done
