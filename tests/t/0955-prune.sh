#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage prune: the simplest kernel that is not slower than the expert, as a lineage

The steps are those of steps.sh: without `guard` the expert has the same machine code, `rest` needs `half`, and `pass`
and `rest` pay.'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
. "$KLINEAGE_TOP/tests/t/steps.sh"

# ask <expression on $j>: print what it gives for the document in the file json; %end has how each step ended
ask () {
	perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>);
		my %end = map { ($_->{mechanism} => $_->{end}) } @{$j->{steps}};
		print eval($ARGV[0]), "\n"; die $@ if $@' "$1" <json
}

test_expect_success 'a dry run judges nothing' '
	steps repo >out 2>err &&
	(cd repo && git klineage prune -n >../out) && says "nothing was judged" out && grep "^K_3  *guard .*not tried yet$" out &&
	exits 1 git -C repo rev-parse -q --verify refs/klineage/transplant/scale/x
'

test_expect_success 'the step that gains nothing is undone, the others are kept' '
	(cd repo && git klineage prune --json >../json 2>../err) || { cat err; false; } && test "$(ask "\"@{\$j->{undone}}\"")" = 3 &&
	test "$(ask "\$end{rest} . \" \" . \$end{half}")" = "slower fails" &&
	test "$(ask "\$end{pass}")" = slower &&
	test "$(ask "\$j->{complete} && \$j->{ref}")" = refs/heads/klineage/lineage/scale/x-pruned
'

test_expect_success 'the lineage has the kept steps, numbered anew, and the kernel without the undone one' '
	git -C repo log --reverse --format="%(trailers:key=Klineage-Step,valueonly,separator=)%(trailers:key=Klineage-Mechanism,valueonly,separator=)" \
		klineage/lineage/scale/x-pruned >have && printf "0\n1pass\n2half\n3rest\n" >want && test_cmp want have &&
	git -C repo show klineage/lineage/scale/x-pruned:scale.c >have && kernel pass half rest >want && test_cmp want have &&
	guard=$(git -C repo rev-parse klineage/lineage/scale/x~1) &&
	test "$(git -C repo log -1 --format="%(trailers:key=Klineage-Pruned,valueonly,separator=)" klineage/lineage/scale/x-pruned~3)" = $guard &&
	test "$(git -C repo log -1 --format="%(trailers:key=Klineage-Of,valueonly,separator=)" klineage/lineage/scale/x-pruned)" = \
		"$(git -C repo rev-parse klineage/lineage/scale/x)"
'

test_expect_success 'it is a lineage like any other' '
	(cd repo && git klineage log scale/x-pruned >../out && git klineage fsck && git fsck --strict --no-dangling &&
	 git klineage export scale/x-pruned ../exported && git init -q ../other && cd ../other && git klineage import ../exported) &&
	grep "^K_3 .*rest .*pass" out &&
	test "$(git -C other rev-parse klineage/lineage/scale/x-pruned)" = "$(git -C repo rev-parse klineage/lineage/scale/x-pruned)"
'

test_expect_success 'a second run finds it there and judges only what noise hid' '
	(cd repo && git klineage prune scale/x >../out) && cat out && says "there already" out && says "1 of 4 steps undone" out && grep "^K_3  *guard .*undone: the code is the same without it$" out &&
	says "git diff klineage/lineage/scale/x klineage/lineage/scale/x-pruned" out
'

test_expect_success 'a killed run goes on where it ended' '
	git -C repo update-ref -d refs/heads/klineage/lineage/scale/x-pruned && rm -rf repo/.git/klineage/cache
	git -C repo update-ref -d refs/klineage/transplant/scale/x
	(cd repo && exec git-klineage prune -q --json >../json 2>../err) & pid=$!
	for i in $(seq 300); do
		git -C repo rev-parse -q --verify refs/klineage/transplant/scale/x >one && break
		sleep 0.1
	done
	kill -9 $pid; wait $pid; test -s one && test ! -s json &&
	(cd repo && git klineage fsck && git klineage prune --json >../json) && test "$(ask "\$j->{known} > 0")" = 1 &&
	git -C repo rev-parse -q --verify klineage/lineage/scale/x-pruned
'

test_expect_success 'the name of another lineage is refused' '
	(
	cd repo && git branch -f klineage/lineage/scale/other klineage/lineage/scale/x~1 &&
	exits 128 git klineage prune --name other scale/x 2>err && says "is another lineage" err && says "choose another name" err &&
	exits 129 git klineage prune --name x scale/x 2>err && says "is the lineage to prune" err &&
	exits 129 git klineage prune --name "a b" scale/x 2>err && says "is not the name of a lineage" err &&
	exits 129 git klineage prune -n scale/x:K_2 2>err && says "not one of its steps" err &&
	exits 129 git klineage prune --within nonsense scale/x 2>err && says "such as 1% or 0.5%" err &&
	exits 128 git klineage prune scale/none 2>err && says "scale/none" err
	)
'

test_expect_success 'a walk in progress is not touched' '
	(
	cd repo && git klineage deopt --rewriter stepwise --no-rederive --name y >out 2>err; op=$(git rev-parse -q --verify refs/klineage/op/main) &&
	git klineage prune -n scale/x >out && test "$op" = "$(git rev-parse refs/klineage/op/main)" && git klineage deopt --abort
	)
'

test_done
