#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='the commands of the tutorial do what it says, typed one after the other'
. ./lib.sh

page=$KLINEAGE_TOP/docs/man/gitklineage-tutorial.adoc
grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo && test_set_prereq AVX2

# a script: each command, whose end must be 0, or what a remark says
sed -n 's/^	\$ //p' "$page" >typed
sed 's/^\(.*[^ 	]\)[ 	]*# exit \([0-9]*\).*$/\1; test $? = \2 || exit 99/; t
	s/$/ || exit 99/' typed | awk '{ print "echo \"> " NR "\" >&3"; print }' >script

test_expect_success 'there are commands to type' '
	test "$(wc -l <typed)" -ge 15 && grep "deopt" typed && grep "exit 1" typed
'

test_expect_success AVX2 'all of them end as the page says' '
	sh script >out 2>err 3>at || { n=$(tail -n 1 at | tr -dc 0-9); echo "failed:" >&2; sed -n "${n}p" typed >&2; cat err >&2; false; }
'

test_expect_success AVX2 'and the repository is as it says: a lineage, verdicts, no hooks' '
	git -C topk for-each-ref --format="%(refname)" refs/heads/klineage/lineage/topk/ | grep . &&
	git -C topk notes --ref=klineage/gate list >/dev/null && test_must_fail test -e topk/.git/hooks/pre-commit &&
	says "topk: FAIL" err && says "topk: pass" out && git -C topk fsck --strict
'

test_expect_success AVX2 'elsewhere a card became a commit that is faster, and nothing else moved' '
	git -C there notes --ref=klineage/gate show klineage/materialize/topk/first >note &&
	grep "\"verdict\":\"fast\",\"what\":\"parent\"" note && git -C there log -1 --format=%B klineage/materialize/topk/first >out &&
	says "Klineage-Skill: bounded-heap-" out && test "$(git -C there log -1 --format=%s)" = "a line of our own" &&
	test -z "$(git -C there status --porcelain)" && git -C there fsck --strict
'

test_expect_success 'the pages are found by their names' '
	mkdir -p fake && printf "#!/bin/sh\necho \"man \$*\"\n" >fake/man && chmod +x fake/man &&
	mkdir -p share/build/man && echo x >share/build/man/gitklineage-tutorial.7 && echo x >share/build/man/gitklineage-format.5 &&
	KLINEAGE_SHARE=$PWD/share PATH=$PWD/fake:$PATH git klineage help tutorial >out && says gitklineage-tutorial.7 out &&
	KLINEAGE_SHARE=$PWD/share PATH=$PWD/fake:$PATH git klineage help format >out && says gitklineage-format.5 out
'

test_done
