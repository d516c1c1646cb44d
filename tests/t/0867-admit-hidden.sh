#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='admission: the command that tries a card does not find the repository, or the trial says that it could'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi
if ! bwrap --dev-bind / / --unshare-pid --proc /proc true 2>/dev/null
then
	skip_all='bubblewrap cannot be used here'
	test_done
fi

answering "$PWD/answers"

# A command that looks for the repository before it answers: each part of one that it sees is a line of `found`, each way that
# it tried a line of `looked`. Other processes and the environment may name other repositories, so only ours counts there.
cat >spy <<'S'
found () { echo "$1: $2" >>"$ANSWERS/found"; }
look () {
	echo "$1" >>"$ANSWERS/looked"
	for f in poly/poly.c refs/klineage .git/refs/klineage objects/pack .git/objects/pack pack c-conv2d; do
		case $1 in environment|parent|proc) case $f in *pack) continue; esac; esac
		test -e "$2/$f" && found "$1" "$2/$f"
	done
	:
}
look cwd "$(pwd)"
up=$(pwd)
while test "$up" != / -a -n "$up"; do up=$(dirname "$up"); look parent "$up"; done
for p in /proc/[0-9]*; do
	test "$(readlink "$p/cwd")" = "$PWD" || look proc "$p/cwd"
	for fd in "$p"/fd/*; do look proc "$fd"; done
done
env | sed -n 's/^[A-Za-z_0-9]*=\(\/.*\)/\1/p' | tr : '\n' >"$ANSWERS/paths"
while read -r path; do look environment "$path"; done <"$ANSWERS/paths"
while read -r d; do umount "$d" 2>/dev/null; done <"$ANSWERS/repositories"
while read -r d; do look absolute "$d"; done <"$ANSWERS/repositories"
git rev-parse --git-dir >/dev/null 2>&1 && found rev-parse "$(git rev-parse --git-dir)"
while read -r d; do
	echo git >>"$ANSWERS/looked"
	git -C "$d" rev-parse --git-dir >/dev/null 2>&1 && test "$(git -C "$d" for-each-ref refs/heads)" && found git "$d"
done <"$ANSWERS/repositories"
exec perl "$ANSWERS/model"
S
spy="sh '$PWD/spy'"

# spied <repository>: forget what was asked and found, and tell the spy where the repository is
spied () {
	: >"$ANSWERS/log" && rm -f "$ANSWERS/found" "$ANSWERS/looked" && printf '%s\n' "$@" "$KLINEAGE_TOP/skills/lineages" >"$ANSWERS/repositories"
}

test_expect_success 'a library with a card, and an answer that admits it' '
	(library lib && the_card >../id) && eight K.poly poly "v * v $chain" "for (; x != end; x++) { float v = *x; *y++ = ELEMENT(v); }" &&
	answer admit.0 poly.c K.poly && echo "<nothing-left>no idea</nothing-left>" >answers/control.0
'

test_expect_success 'by its own directory, those above, other processes, the environment, git and the path: nothing is found' '
	(cp -R lib alone && cd alone && spied "$PWD" && again git klineage admit --arms card,intent --rewriter exec --exec "$spy" $(cat ../id) >out && cat out &&
	sort -u "$ANSWERS/looked" >../looked && printf "%s\n" absolute cwd environment git parent proc | sort | test_cmp - ../looked &&
	if test -e "$ANSWERS/found"; then cat "$ANSWERS/found"; false; fi && ! grep "not isolated" out &&
	git show klineage/skills:cards/$(cat ../id).yaml >card && says "isolated: true" card && says "status: admitted" card)
'

test_expect_success 'from a linked worktree of a repository that borrows objects: neither tree, nor the lender' '
	(git clone -q --bare lib lender.git && git -C lib for-each-ref --format="%(refname):%(refname)" refs/klineage refs/notes |
		xargs git -C lender.git fetch -q ../lib && git clone -q --shared lender.git main && cd main &&
	git fetch -q origin "refs/klineage/*:refs/klineage/*" "refs/notes/*:refs/notes/*" "refs/heads/klineage/*:refs/heads/klineage/*" &&
	git config klineage.profileMs 1200 && git worktree add -q ../linked HEAD && cd ../linked && spied "$PWD" "$PWD/../main" "$PWD/../lender.git/objects" &&
	again git klineage admit --arms card,intent --rewriter exec --exec "$spy" $(cat ../id) >out && cat out &&
	if test -e "$ANSWERS/found"; then cat "$ANSWERS/found"; false; fi &&
	git show klineage/skills:cards/$(cat ../id).yaml >card && says "isolated: true" card)
'

test_expect_success 'where it cannot be hidden the trial says so, and admits nothing' '
	(cp -R lib seen && cd seen && git config klineage.chat.hide false && spied "$PWD" &&
	again git klineage admit --arms card,intent --rewriter exec --exec "$spy" $(cat ../id) >out && cat out && says "$PWD" "$ANSWERS/found" &&
	says "passed; " out && says "not isolated" out && says "hypothesis -> hypothesis" out &&
	git show klineage/skills:cards/$(cat ../id).yaml >card && says "isolated: false" card && says "status: hypothesis" card &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out)
'

test_done
