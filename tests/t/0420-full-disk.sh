#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage deopt on a disk that fills up: nothing is lost, --continue ends the walk'
. ./lib.sh

mkdir small
if mount -t tmpfs -o size=900k tmpfs small 2>/dev/null; then
	test_set_prereq SMALL_DISK
else
	echo "# no right to mount a small file system here: skipped"
fi

# nothing of ours but the expert; verdicts stay in the cache, so that only the disk decides
fresh () {
	rm -f small/fill &&
	git -C small/repo for-each-ref --format='delete %(refname)' refs/heads/klineage refs/klineage refs/notes |
		git -C small/repo update-ref --stdin &&
	git -C small/repo gc -q --prune=now
}

results () {
	git -C small/repo for-each-ref --format='%(refname)' refs/heads/klineage/lineage refs/heads/klineage/walk | wc -l
}

test_expect_success SMALL_DISK 'a walk, undisturbed' '
	git init -q small/repo && (
		cd small/repo &&
		cp "$KLINEAGE_TOP"/tests/cheats/c/klineage.yaml "$KLINEAGE_TOP"/tests/cheats/c/oracle.c . &&
		cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/plain.c mm.c && git add . && git commit -q -m plain &&
		cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/packed-scratch.c mm.c && git commit -q -a -m packed &&
		git klineage deopt -q --rewriter history
	) && test "$(results)" = 2
'

for left in 12 40 80 120 160; do
	test_expect_success SMALL_DISK "$left KiB left" "
		fresh &&
		avail=\$(df --output=avail small | tail -n 1) &&
		dd if=/dev/zero of=small/fill bs=1k count=\$((avail - $left)) 2>/dev/null &&
		code=0 && { (cd small/repo && git klineage deopt -q --rewriter history) 2>err || code=\$?; } &&
		git -C small/repo fsck --strict &&
		rm small/fill &&
		if test \$code != 0; then
			test \$code = 128 && says 'No space left' err &&
			if git -C small/repo for-each-ref refs/klineage/op | grep . >/dev/null
			then (cd small/repo && git klineage deopt -q --continue)
			else (cd small/repo && git klineage deopt -q --rewriter history)
			fi
		fi &&
		test \"\$(results)\" = 2 && git -C small/repo fsck --strict
	"
done

test_expect_success SMALL_DISK 'the small disk goes' 'umount small'

test_done
