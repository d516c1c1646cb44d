#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: what a kernel can reach from its first byte on, in each jail and on another machine'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c

test_expect_success 'a repository with an honest kernel' '
	git init -q repo &&
	cp "$cheats"/klineage.yaml "$cheats"/oracle.c repo/ && cp "$cheats"/accepted/plain.c repo/mm.c &&
	(cd repo && git add . && git commit -q -m plain)
'

# kernel <name> <C statements> [<bytes>]: write a kernel that computes nothing but runs the statements, which can call
# sys(number, a, b, c, d, e, f). The instruction, syscall or <bytes>, lies in the constant of another, where no audit sees it.
kernel () {
	cat >"$1.c" <<-EOF
	#include <stdint.h>
	static long sys(long number, long a, long b, long c, long d, long e, long f)
	{
		register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
		void *volatile at;
		long result;

		__asm__("lea 1f(%%rip), %0\n\tjmp 2f\n1:\tmovabs \$0x${3:-9090909090c3050f}, %0\n2:" : "=r"(at));
		__asm__ volatile("call *%1" : "=a"(result) : "r"((char *)at + 2), "a"(number), "D"(a), "S"(b), "d"(c),
				 "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
		return result;
	}
	void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
	{
		$2
	}
	EOF
}

kernel open-here 'sys(257, -100, (long)".", 0x10000, 0, 0, 0);'
kernel open-pool 'sys(257, -100, (long)"pool", 0x10000, 0, 0, 0);'
kernel open-proc 'sys(257, -100, (long)"/proc", 0x10000, 0, 0, 0);'
kernel read-descriptor 'for (int i = 0; i < 300; i++) sys(0, i, (long)C, 4, 0, 0, 0);'
kernel map 'sys(9, 0, 4096, 7, 0x22, -1, 0);'
kernel signal 'sys(62, -1, 9, 0, 0, 0, 0);'
kernel trace 'sys(101, 16, 1, 0, 0, 0, 0);'
kernel socket 'sys(41, 1, 1, 0, 0, 0, 0);'
kernel clock 'sys(0, 0, 0, 0, 0, 0, 0);' 9090909090c3310f
kernel clock-and-processor 'sys(0, 0, 0, 0, 0, 0, 0);' 90909090c3f9010f
kernel 32-bit 'sys(39, 0, 0, 0, 0, 0, 0);' 9090909090c380cd
attempts='open-here:257 open-pool:257 open-proc:257 read-descriptor:0 map:9 signal:62 trace:101 socket:41
	clock:rdtsc clock-and-processor:rdtscp 32-bit:39'

# refused <event> <attempt> <number>: succeed if the event fails for that system call, or for that clock
refused () {
	case $2 in
	clock*) did="read a clock: $3" ;;
	32-bit) did="made the 32-bit system call $3" ;;
	*) did="made the system call $3" ;;
	esac
	says '"class":"cheat"' "$1" && says "$did" "$1"
}

# In each level that works here: the verdict is the system call, and an honest kernel passes.
for level in bwrap landlock chroot none
do
	if (cd repo && KLINEAGE_JAIL=$level git klineage gate --quick --fresh --no-note) >out 2>&1
	then
		works=1
	elif grep -e "does not work here" -e "not available" -e "is not installed" -e "needs root" -e "cannot build" out >/dev/null
	then
		works=
		echo "# jail $level does not work here"
	else
		works=1 # the tests show why it failed
	fi
	test "$works" || continue
	test_expect_success "$level: an honest kernel passes" '
		(cd repo && KLINEAGE_JAIL=$level git klineage gate --no-profile --fresh --no-note --json) >event &&
		says "\"verdict\":\"pass\"" event
	'
	for attempt in $attempts
	do
		name=${attempt%:*} number=${attempt#*:}
		test_expect_success "$level: $name" '
			cp $name.c repo/mm.c &&
			(cd repo && KLINEAGE_JAIL=$level exits 1 git klineage gate --worktree --fresh --no-profile --json) >event &&
			refused event $name $number
		'
	done
	(cd repo && git checkout -q mm.c)
done

# The same kernels, sent to a worker that runs alone.
for attempt in $attempts
do
	name=${attempt%:*} number=${attempt#*:}
	test_expect_success "sent away: $name" '
		cp $name.c repo/mm.c &&
		(cd repo && exits 125 git klineage gate --worktree --no-profile --runner bundle -o ../sent.tar --fresh) &&
		klineage-worker --bundle sent.tar >results 2>progress &&
		refused results $name $number && says "\"jail\":[\"capabilities\"" results
	'
done

# An image that no audit has seen: the worker refuses it, and does not run it.
test_expect_success 'a bundle with an image that calls the system openly' '
	cat >openly.c <<-\EOF &&
	#include <stdint.h>
	void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
	{
		long r;
		__asm__ volatile("syscall" : "=a"(r) : "a"(39) : "rcx", "r11", "memory");
	}
	EOF
	gcc -O2 -fPIC -fno-stack-protector -c openly.c &&
	"$KLINEAGE_BUILD"/tests/link_image openly.image mm "$KLINEAGE_BUILD"/tests/kernel_runtime.o 2 openly.o &&
	cp "$cheats"/accepted/plain.c repo/mm.c &&
	(cd repo && exits 125 git klineage gate --worktree --no-profile --runner bundle -o ../sent.tar --fresh) &&
	mkdir unpacked && tar -x -C unpacked -f sent.tar &&
	perl "$KLINEAGE_TOP"/tests/t/swap.pl unpacked candidate openly.image >hostile.tar &&
	klineage-worker --bundle hostile.tar >results 2>progress &&
	says "\"status\":\"cannot\"" results && says "the candidate: calls the system" results
'

test_expect_success 'a bundle with something else in place of an image' '
	for other in /bin/true openly.o openly.c
	do
		perl "$KLINEAGE_TOP"/tests/t/swap.pl unpacked candidate $other >hostile.tar &&
		klineage-worker --bundle hostile.tar >results 2>progress &&
		says "\"status\":\"cannot\"" results && says "is not a valid image" results || return 1
	done
'

test_expect_success 'a bundle with an oracle that calls the system openly' '
	perl "$KLINEAGE_TOP"/tests/t/swap.pl unpacked truth openly.image >hostile.tar &&
	klineage-worker --bundle hostile.tar >results 2>progress &&
	says "\"status\":\"cannot\"" results && says "the oracle: calls the system" results
'

test_expect_success 'a small stack limit of the caller is not the kernel'"'"'s' '
	(cd repo && git checkout -q mm.c && ulimit -S -s 64 &&
		git klineage gate --no-profile --fresh --no-note --json) >event &&
	says "\"verdict\":\"pass\"" event
'

test_expect_success 'a small stack limit that cannot be raised crashes nothing of ours' '
	(
		cd repo && ulimit -s 64 && git klineage gate --no-profile --fresh --no-note --json
		test $? -lt 128
	) >event 2>err
'

test_done
