# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # chain is of materials.sh
# steps.sh - an expert kernel of four steps and its lineage, for tests that try steps at other places. Source this file
# after materials.sh. `pass` drops a long pass over the input; `half` computes the first half of the elements eight at a
# time; `guard` gains nothing, and `rest` leaves nothing of it in the machine code; `rest` does the same as `half` for the
# other elements, with the type that `half` defines, so that it does not compile without it.

# kernel <steps>: print the kernel with these steps
kernel () {
	has () { case " $steps " in *" $1 "*) shift; printf "%s\n" "$@" ;; esac; }
	lacks () { case " $steps " in *" $1 "*) ;; *) shift; printf "%s\n" "$@" ;; esac; }
	steps=$*
	cat <<-X
	#include <stdint.h>

	/* the type of eight elements */
	$(has half "typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));")
	/* that was it */

	/* whether the rest is done, too */
	$(has rest "#define REST")
	/* that was it */

	#define ELEMENT(v) ((v) $chain)

	/* one element after the other */
	void scale(int64_t n, const float *x, float *y)
	{
		int64_t i = 0;

		/* what there is nothing to do for */
	$(has guard "#ifndef REST" "	if (n <= 0)" "		return;" "#endif")
		/* that was it */

		/* a look at all elements */
	$(lacks pass "	static volatile float seen;" "	for (int64_t k = 0; k < 8 * n; k++)" "		seen = x[k % n];")
		/* that was it */

		/* eight at a time, in the first half */
	$(has half "	for (; i + 8 <= n / 2; i += 8)" "		*(eight *)(y + i) = ELEMENT(*(const eight *)(x + i));")
		/* that was it */

		/* eight at a time, in the rest */
	$(has rest "	for (; i + 8 <= n; i += 8)" "		*(eight *)(y + i) = ELEMENT(*(const eight *)(x + i));")
		/* that was it */

		for (; i < n; i++)
			y[i] = ELEMENT(x[i]);
	}
	X
}

# commit <name> <steps>: commit the kernel with these steps, the last of which is new
commit () {
	name=$1
	shift
	kernel "$@" >scale.c &&
	printf "scale: %s\n\nKlineage-Action: drop-%s\nKlineage-Mechanism: %s\n" "$name" "$name" "$name" >.git/message &&
	git add . && git commit -q -F .git/message
}

# steps <repository> [<ms>]: make a repository with the lineage scale/x of the four steps, each state measured for <ms>
steps () {
	git init -q "$1" && (
		cd "$1" && git config klineage.profileMs "${2:-300}" && contract . scale scale.c "v $chain" &&
		commit plain && commit pass pass && commit half pass half && commit guard pass half guard &&
		commit rest pass half guard rest &&
		git klineage deopt --keep-all --rewriter history --no-rederive --name x
	)
}
