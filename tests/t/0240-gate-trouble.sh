#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate in trouble: what the machine lacks is never a verdict'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
test_expect_success 'a kernel that passes' '
	git init -q repo && cp "$cheats"/klineage.yaml "$cheats"/oracle.c repo && cp "$cheats"/accepted/plain.c repo/mm.c &&
	git -C repo add . && git -C repo commit -q -m plain && (cd repo && git klineage gate --quick --no-note) && rm -rf repo/.git/klineage
'

# troubled <text> <command...>: the gate, run by the command, exits with 125 and a message that contains the text, caches no
# verdict and writes no note
troubled () {
	text=$1
	shift
	(cd repo && exits 125 "$@" git klineage gate --quick) >out 2>err || {
		cat out err >&2
		return 1
	}
	says "$text" err && ! grep -E "pass|fail" out &&
		! find repo/.git/klineage -name "*.json" 2>/dev/null | grep . && ! git -C repo rev-parse -q --verify refs/notes/klineage/gate
}

# a sanitizer reserves terabytes of address space and reads /proc/self/maps
case ${KLINEAGE_BUILD##*/} in *-san*) ;; *) test_set_prereq UNSANITIZED ;; esac

# limited <options of ulimit> <command...>
limited () { (ulimit "$1" "$2" && shift 2 && "$@"); }

# troubled_at_each <option of ulimit> <limits> <texts...>: under no limit is there a verdict, a cached one or a note, and each text
# is in the message under one limit or another, as the programs that run out differ by their sizes; a library of the tool that
# crashes for want of memory is no verdict either
troubled_at_each () {
	option=$1 limits=$2
	shift 2
	: >all
	for limit in $limits; do
		(cd repo && limited "$option" "$limit" git klineage gate --quick) >out 2>err
		status=$?
		cat err >>all
		test $status -eq 125 || grep -F "git-klineage died of signal" err >/dev/null ||
			{ echo "exit status $status under 'ulimit $option $limit'" >&2; cat out err >&2; return 1; }
		! grep -E "pass|fail:" out && ! find repo/.git/klineage -name "*.json" 2>/dev/null | grep . &&
			! git -C repo rev-parse -q --verify refs/notes/klineage/gate || return 1
	done
	for text in "$@"; do says "$text" all || return 1; done
}

test_expect_success 'few descriptors' 'troubled "git-klineage: " limited -n 20 && troubled "git-klineage: " limited -n 28'
test_expect_success UNSANITIZED 'little memory' '
	troubled_at_each -v "20000 28000 30000 32000 33000 34000 35000 36000 38000 40000 60000 200000" "gcc: internal compiler error" "Cannot allocate memory"
'
test_expect_success 'small files' '
	troubled_at_each -f "1 2 4 8 12 16 20 24 30 40" "File too large" "the program was killed by signal"
'
test_expect_success 'a small stack' 'troubled "terminated program cc1" limited -s 64'
test_expect_success 'no directory for temporary files' 'troubled "/nonexistent/" env TMPDIR=/nonexistent && troubled "/proc/" env TMPDIR=/proc'

# with_fs <options of bwrap...> -- <command...>: the same system with other files in it
bwrap --dev-bind / / true 2>/dev/null && test_set_prereq BWRAP
with_fs () { bwrap --dev-bind / / "$@"; }
cc1=$(gcc -print-prog-name=cc1)
as=$(gcc -print-prog-name=as)
as=$(readlink -f "$(command -v "$as")")
objdump=$(readlink -f "$(command -v objdump)")
printf '#!/bin/sh\nkill -KILL $$\n' >killed
printf '#!/bin/sh\necho "mm.c:3:1: error: odd" >&2\necho "mm.c:3:1: internal compiler error: Segmentation fault" >&2\nexit 4\n' >crashed
chmod +x killed crashed

test_expect_success BWRAP 'nothing is wrong in the same system' '(cd repo && with_fs -- git klineage gate --quick --no-note) && rm -rf repo/.git/klineage'
test_expect_success BWRAP 'a compiler without its parts' 'troubled "cannot execute" with_fs --ro-bind /dev/null "$cc1" --'
test_expect_success BWRAP 'a compiler without its libraries' '
	library=$(ldd "$cc1" | sed -n "s/.*libmpc.* => \([^ ]*\) .*/\1/p") && test -n "$library" &&
	troubled "error while loading shared libraries" with_fs --ro-bind /dev/null "$library" --
'
test_expect_success BWRAP 'a compiler without the headers of C' '
	troubled "stddef.h: No such file" with_fs --tmpfs /usr/include --tmpfs "$(gcc -print-file-name=include)" --
'
test_expect_success BWRAP 'a compiler that is killed' 'troubled "Killed signal terminated program cc1" with_fs --ro-bind "$PWD/killed" "$cc1" --'
test_expect_success BWRAP 'a compiler that crashes' 'troubled "internal compiler error" with_fs --ro-bind "$PWD/crashed" "$cc1" --'
test_expect_success BWRAP 'an assembler that is killed' 'troubled "Killed signal terminated program as" with_fs --ro-bind "$PWD/killed" "$as" --'
test_expect_success BWRAP 'a disassembler that is killed' 'troubled "killed by signal 9" with_fs --ro-bind "$PWD/killed" "$objdump" --'
test_expect_success BWRAP,UNSANITIZED 'no /proc' 'troubled "/proc/" with_fs --tmpfs /proc --'
test_expect_success BWRAP 'a full disk' 'troubled "No space left on device" with_fs --size 100000 --tmpfs /mnt -- env TMPDIR=/mnt'
test_expect_success BWRAP 'a directory for temporary files that cannot be written' 'troubled "Read-only file system" with_fs --tmpfs /mnt --remount-ro /mnt -- env TMPDIR=/mnt'
test_expect_success BWRAP 'no anonymous memory' '
	perl -e "print pack q(SCCL)x4, 0x20, 0, 0, 0, 0x15, 0, 1, 319, 6, 0, 0, 0x50001, 6, 0, 0, 0x7fff0000" >no-memfd &&
	troubled "memfd" with_fs --seccomp 9 -- 9<no-memfd
'
test_expect_success BWRAP 'no /dev/shm is no trouble' '(cd repo && with_fs --tmpfs /dev/shm --remount-ro /dev/shm -- git klineage gate --quick --no-note) && rm -rf repo/.git/klineage'

test_expect_success 'without the trouble it passes' '(cd repo && git klineage gate --quick)'

test_done
