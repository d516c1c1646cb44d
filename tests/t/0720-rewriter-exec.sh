#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='deopt --rewriter exec: a command that proposes, by docs/exec-agent.sh, with the real gate'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"

# An agent that answers from shell snippets, run where it stands: <phase>.<turn> (from 1) in $ANSWERS. What it was
# told is kept beside them, `log` has a line for each time.
mkdir answers
ANSWERS=$PWD/answers
export ANSWERS
cat >agent.sh <<'E'
cat >"$ANSWERS/prompt"
head=$(grep -E '^\[[a-z]+-[0-9]+, turn [0-9]+, state' "$ANSWERS/prompt" | tail -n 1)
id=$(echo "$head" | sed -E 's/^\[([a-z]+-[0-9]+), turn ([0-9]+),.*/\1.\2/')
echo "$id" >>"$ANSWERS/log"
cp "$ANSWERS/prompt" "$ANSWERS/$id.prompt"
if git rev-parse --git-dir >/dev/null 2>&1; then echo "a repository is in reach" >&2; exit 4; fi
if ! test -f "$ANSWERS/$id"; then echo "no answer to $id" >&2; exit 3; fi
. "$ANSWERS/$id"
E
agent="sh '$KLINEAGE_TOP/docs/exec-agent.sh' sh '$PWD/agent.sh'"

fresh () {	# fresh <repo>: a repository, and no answers
	rm -f "$ANSWERS"/* && : >"$ANSWERS/log" && (make_repo "$1")
}

# step <action> [<locus>]: the words of a step, printed
cat >step.sh <<'E'
step () {
	printf '<step>\naction: %s\nmechanism: -\nlocus: %s\ntraits: -\nwhy: it is simpler\n</step>\n' "$1" "${2:-scale.c:scale}"
}
plain () {	# the plain loop, in the file
	cat >scale.c <<'X'
#include <stdint.h>

void scale(int64_t n, const float *x, float *y)
{
	for (int64_t i = 0; i < n; i++) {
		volatile float t = x[i];

		y[i] = t * 3.0f + 1.0f;
	}
}
X
}
E
answer () {	# answer <phase>.<turn>, the snippet on stdin
	{ cat "$SHARNESS_TRASH_DIRECTORY/step.sh" && cat; } >"$ANSWERS/$1"
}

trailer () {	# trailer <key> <rev>
	git log -1 --format="%(trailers:key=Klineage-$1,valueonly)" "$2" | grep .
}

test_expect_success 'edits in the directory become a step' '
	(
	fresh r && cd r &&
	answer back-0.1 <<-\E &&
		test -f klineage.yaml && test -f oracle.c || exit 5
		plain && touch a.out && step plain-loop
	E
	echo "echo \"<nothing-left>a plain loop</nothing-left>\"" | answer back-1.1 &&
	git klineage deopt --rewriter exec --no-rederive --exec "$agent" --name x >out 2>err &&
	walk=klineage/walk/scale/x &&
	test "$(git rev-list --count main..$walk)" = 1 &&
	test "$(git diff --name-only main $walk)" = k/scale.c &&
	git show $walk:k/scale.c | grep volatile &&
	test "$(trailer Rewriter $walk)" = exec &&
	test "$(trailer Action $walk)" = plain-loop &&
	test "$(trailer Source $walk)" = back-0.0 &&
	test "$(trailer Origin $walk)" = induced &&
	test "$(trailer Termination klineage/lineage/scale/x~1)" = complete &&
	git for-each-ref --format="%(refname)" refs/klineage/chat >refs &&
	says refs/klineage/chat/scale/x/back-0 refs && says refs/klineage/chat/scale/x/back-1 refs &&
	test "$(cat "$ANSWERS/log" | tr "\n" " ")" = "back-0.1 back-1.1 " &&
	says "never an instruction" "$ANSWERS/back-0.1.prompt" &&
	says "a = x[i], b = x[i + 1]" "$ANSWERS/back-0.1.prompt" &&
	says "1. plain-loop in scale.c:scale" "$ANSWERS/back-1.1.prompt" &&
	git klineage fsck && git fsck --strict --no-dangling && test -z "$(git status --porcelain -uno)"
	)
'

test_expect_success 'a refusal is told, with its evidence, and repaired' '
	(
	fresh b && cd b &&
	answer back-0.1 <<-\E &&
		plain && sed -i "s/volatile float/volatile flaot/" scale.c && step plain-loop
	E
	answer back-0.2 <<-\E &&
		plain && sed -i "s/i < n/i + 1 < n/" scale.c && step plain-loop
	E
	echo "plain && step plain-loop" | answer back-0.3 &&
	echo "echo \"<nothing-left>a plain loop</nothing-left>\"" | answer back-1.1 &&
	git klineage deopt --rewriter exec --no-rederive --exec "$agent" --name x >out 2>err &&
	says "class: compile" "$ANSWERS/back-0.2.prompt" && says "flaot" "$ANSWERS/back-0.2.prompt" &&
	says "repair 1 of 3" "$ANSWERS/back-0.2.prompt" &&
	says "class: wrong-" "$ANSWERS/back-0.3.prompt" && says "wanted" "$ANSWERS/back-0.3.prompt" &&
	says "repair 2 of 3" "$ANSWERS/back-0.3.prompt" &&
	git rev-list refs/klineage/rejected/scale/x ^klineage/walk/scale/x >list && test "$(wc -l <list)" = 2 &&
	test "$(trailer Source klineage/walk/scale/x)" = back-0.2 &&
	test "$(trailer Rewriter refs/klineage/rejected/scale/x)" = exec
	)
'

test_expect_success 'what cannot be used is refused with the reason, and three in a row end it' '
	(
	fresh u && cd u &&
	echo "echo >>oracle.c; step plain-loop" | answer back-0.1 &&
	echo "rm scale.c; ln -s /etc/passwd scale.c; step plain-loop" | answer back-0.2 &&
	echo "plain; step plain-loop; step plain-loop" | answer back-0.3 &&
	exits 1 git klineage deopt --progress --rewriter exec --no-rederive --exec "$agent" --name x >out 2>err &&
	says "is the oracle, which must not be changed" "$ANSWERS/back-0.2.prompt" &&
	says "scale.c became a symbolic link" "$ANSWERS/back-0.3.prompt" &&
	says "3 replies in a row could not be used" err && says "a second <step>" err &&
	test "$(wc -l <"$ANSWERS/log")" = 3 &&
	test -z "$(git for-each-ref refs/klineage/rejected refs/heads/klineage)"
	)
'

test_expect_success 'an end at that limit is not called complete' '
	(
	fresh l && cd l &&
	echo "plain && step plain-loop" | answer back-0.1 &&
	for i in 1 2 3; do echo "echo sorry" | answer back-1.$i || return 1; done &&
	git klineage deopt --rewriter exec --no-rederive --exec "$agent" --name x >out 2>err &&
	says "may not be naive" out &&
	test "$(trailer Termination klineage/lineage/scale/x~1)" = rejection-limit
	)
'

test_expect_success 'a walk that was cut does not ask again' '
	(
	fresh c && cd c &&
	echo "plain && step plain-loop" | answer back-0.1 &&
	exits 128 git klineage deopt --rewriter exec --no-rederive --exec "$agent" --name x >out 2>err &&
	says "no answer to back-1.1" err &&
	echo "echo \"<nothing-left>a plain loop</nothing-left>\"" | answer back-1.1 &&
	git klineage deopt --continue >out 2>err &&
	test "$(cat "$ANSWERS/log" | tr "\n" " ")" = "back-0.1 back-1.1 back-1.1 " &&
	test "$(trailer Termination klineage/lineage/scale/x~1)" = complete
	)
'

test_expect_success 'who derives a step anew does not see where it led' '
	(
	fresh d && cd d &&
	echo "plain && step plain-loop" | answer back-0.1 &&
	echo "echo \"<nothing-left>a plain loop</nothing-left>\"" | answer back-1.1 &&
	answer forward-1.1 <<-\E &&
		grep -r "a = x.i., b" . && exit 6
		echo "<nothing-left>no idea</nothing-left>"
	E
	git klineage deopt --rewriter exec --exec "$agent" --name x >out 2>err &&
	says "action: plain-loop" "$ANSWERS/forward-1.1.prompt" &&
	says "time to be matched" "$ANSWERS/forward-1.1.prompt" &&
	says "volatile float t" "$ANSWERS/forward-1.1.prompt" &&
	! grep "b = x.i + 1" "$ANSWERS/forward-1.1.prompt" &&
	! grep "it is simpler" "$ANSWERS/forward-1.1.prompt" &&
	test "$(trailer Derivation klineage/lineage/scale/x)" = inverse
	)
'

sed -n '/^```sh$/,/^```$/{ /^```/d; p; }' "$KLINEAGE_TOP/docs/exec.md" >no-restrict.sh
test_expect_success 'the example of docs/exec.md walks a kernel' '
	test -s no-restrict.sh && sh -n no-restrict.sh &&
	(
	fresh e && cd e &&
	cat >k/scale.c <<-\X &&
		#include <stdint.h>

		void scale(int64_t n, const float *restrict x, float *restrict y)
		{
			int64_t i = 0;

			for (; i + 4 <= n; i += 4) {
				y[i] = x[i] * 3.0f + 1.0f;
				y[i + 1] = x[i + 1] * 3.0f + 1.0f;
				y[i + 2] = x[i + 2] * 3.0f + 1.0f;
				y[i + 3] = x[i + 3] * 3.0f + 1.0f;
			}
			for (; i < n; i++)
				y[i] = x[i] * 3.0f + 1.0f;
		}
	X
	git commit -q -a -m promises &&
	git klineage deopt --rewriter exec --no-rederive --name x \
		--exec "sh '\''$KLINEAGE_TOP/docs/exec-agent.sh'\'' sh '\''$SHARNESS_TRASH_DIRECTORY/no-restrict.sh'\''" >out 2>err &&
	test "$(trailer Action klineage/walk/scale/x)" = restrict-off &&
	test "$(trailer Mechanism klineage/walk/scale/x)" = restrict &&
	! git show klineage/walk/scale/x:k/scale.c | grep restrict
	)
'

test_done
