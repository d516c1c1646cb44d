#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage transplant and prune with a runner that judges elsewhere: waves of kernels, a bundle each

The steps are those of steps.sh: `rest` needs `half`, `guard` gains nothing, `pass` and `rest` pay.'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
. "$KLINEAGE_TOP/tests/t/steps.sh"

# ask <expression on $j>: print what it gives for the document in the file json
ask () {
	perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>); my @s = ({}, @{$j->{steps}});
		sub words { my ($i, $k) = @_; my $c = $s[$i]{cells}[$k]; join " ", map { $_ // "-" } @$c{qw(state verdict class)} }
		print eval($ARGV[0]), "\n"; die $@ if $@' "$1" <json
}
# carry: let a worker judge the newest bundle, and import the results
carry () {
	# shellcheck disable=SC2012 # the names are digests
	klineage-worker --bundle "$(ls -t .git/klineage/bundles/*.tar | head -n 1)" -o ../results 2>../err &&
	git klineage gate --import ../results >../out && rm ../results
}
# waves <verb>: run the verb and carry its bundles until it ends; wave counts them
waves () {
	wave=0
	while git klineage "$@" >../json 2>../err; test $? = 125 && test $wave -lt 8; do
		wave=$((wave + 1))
		says "gate --import" ../err && carry || return 1
	done
	test $wave -lt 8 && test -s ../json
}

test_expect_success 'all kernels that can be judged are one bundle, and nothing is claimed yet' '
	steps repo >out 2>err && git -C repo config klineage.profileMs 400 && cp -R repo over && git -C repo config klineage.runner bundle &&
	(cd repo && exits 125 git klineage transplant --json >../json 2>../err) && says "job" err && says "klineage-worker --bundle" err &&
	test "$(ask "\$j->{waiting} > 5")" = 1 && test "$(ask "words(4, 3)")" = "open - -" &&
	test "$(ask "words(2, 4)")" = "judged fail compile" && ls repo/.git/klineage/bundles >names && test "$(wc -l <names)" = 1
'

test_expect_success 'when the results are imported, the table is that of a run on this machine' '
	(cd repo && waves transplant --json) && test "$(ask "\$j->{waiting}")" = 0 && test "$(ask "words(4, 3)")" = "judged pass -" &&
	test "$(ask "words(4, 1)")" = "judged fail compile" && test "$(ask "words(4, 2)")" = "judged pass -" &&
	for cell in "1, 0" "2, 0" "2, 1" "3, 0" "3, 1" "3, 2" "1, 4" "3, 4"; do
		ask "words($cell)" >word && grep -x -e "judged pass -" -e "judged fail no-change" word || return 1
	done && (cd repo && git klineage transplant >../out) && says "K_4 (rest) requires K_2 (half): fails (compile) without it, passes with it" out
'

test_expect_success 'the verdicts are kept as those of a local run: commits, notes, chain' '
	commit=$(ask "\$s[4]{cells}[2]{commit}") && event=$(ask "\$s[4]{cells}[2]{event}") &&
	git -C repo notes --ref=klineage/gate show $commit >note && says "\"id\":\"$event\"" note && says "\"tier\":\"host-restricted\"" note &&
	git -C repo merge-base --is-ancestor $commit refs/klineage/transplant/scale/x &&
	(cd repo && git klineage fsck >../out && says ": 0 errors, 0 warnings" ../out && git fsck --strict --no-dangling)
'

test_expect_success 'prune undoes a step in each wave, and confirms what is left by a second measurement' '
	(cd repo && waves prune --json && echo $wave >../waves) && cat waves && test "$(ask "\"@{\$j->{undone}}\"")" = 3 && test "$(ask "\$j->{complete} && \$j->{waiting} == 0")" = 1 &&
	git -C repo show klineage/lineage/scale/x-pruned:scale.c >have && kernel pass half rest >want && test_cmp want have &&
	(cd repo && git klineage fsck >../out && says ": 0 errors, 0 warnings" ../out)
'

mkdir fake && cat >fake/ssh <<-\EOF && chmod +x fake/ssh
	#!/bin/sh
	# -o BatchMode=yes -o ServerAliveInterval=30 <host> <program> ...
	echo wave >>"$FAKE_LOG"
	shift 5
	exec sh -c "$*"
EOF
FAKE_LOG=$PWD/log
export FAKE_LOG

test_expect_success 'over ssh all waves are one command' '
	(cd over && PATH=$PWD/../fake:$PATH git -c klineage.runner=ssh:gpu klineage prune --json >../json 2>../err) || { cat err; false; } &&
	test "$(ask "\"@{\$j->{undone}}\"")" = 3 && test "$(ask "\$j->{complete} && \$j->{waiting} == 0")" = 1 && test "$(wc -l <log)" -ge 2 &&
	git -C over show klineage/lineage/scale/x-pruned:scale.c >have && test_cmp want have
'

ref=refs/klineage/transplant/scale/x
# links <repository>: how many there are
links () { git -C "$1" rev-list --count --first-parent "$ref" >/dev/null && git -C "$1" log --format=%B "$ref" | grep -c "^Klineage-Transplant:"; }
# link <repository> <kernel> <trailers>: put a link on top of the chain
link () { git -C "$1" update-ref $ref "$(printf 'forged\n\n%s\n' "$3" | git -C "$1" commit-tree -p "$2" -p $ref "$2^{tree}")"; }

test_expect_success 'fsck counts the chain, and finds links that are wrong' '
	(cd repo && git klineage fsck >../out) && says "1 chain of transplants" out && (cd repo && git klineage fsck --json >../out) && says "\"transplants\":1" out &&
	kernel=$(git -C repo rev-parse $ref^1) && at=$(git -C repo rev-parse $kernel^) && top=$(git -C repo rev-parse klineage/lineage/scale/x) && event=$(git -C repo log -1 --format="%(trailers:key=Klineage-Event,valueonly,separator=)" $ref) &&
	for wrong in "Klineage-Transplant: other" "Klineage-Transplant: undo" "Klineage-Transplant: undo|Klineage-Of: $top|Klineage-At: $(git -C repo rev-parse main)|Klineage-Event: $event" \
		"Klineage-Transplant: undo|Klineage-Of: $top|Klineage-At: $at|Klineage-Event: $(echo "$event" | tr 0-9a-f 1-9a-f0)"; do
		rm -rf forged && cp -R repo forged && link forged $kernel "$(echo "$wrong" | tr "|" "\n")" && (cd forged && exits 1 git klineage fsck >../out 2>&1) && cat out && says "$ref" out || return 1
	done && says "does not have event" out &&
	rm -rf forged && cp -R repo forged && git -C forged update-ref -d refs/heads/klineage/lineage/scale/x && (cd forged && git klineage fsck >../out 2>&1) && says "there is no lineage scale/x" out
'

test_expect_success 'sync gives the chain, and another clone reads the verdicts from it' '
	git init -q --bare hub.git && git -C repo remote add origin ../hub.git && (cd repo && git push -q origin main && git klineage sync origin >../out) && says "given    $ref" out &&
	git clone -q hub.git other && (cd other && git klineage sync origin >../out && git klineage fsck >../fsck && git klineage transplant -n --json scale/x >../json) && says "taken    $ref" out && says ": 0 errors" fsck &&
	test "$(git -C other rev-parse $ref)" = "$(git -C repo rev-parse $ref)" && test "$(ask "words(4, 2)")" = "judged pass -" &&
	(cd other && git klineage sync origin >../out) && says "nothing to exchange" out
'

test_expect_success 'what two clones tried is united, and neither loses a kernel' '
	n=$(links repo) && for one in repo other; do
		git -C $one update-ref $ref "$(git -C $one log -1 --format=%B $ref | sed "1s/.*/once more in $one/" | git -C $one commit-tree -p "$(git -C $one rev-parse $ref^1)" -p $ref "$ref^{tree}")" || return 1
	done && (cd repo && git klineage sync origin >../out) && says "given    $ref" out && (cd other && git klineage sync origin >../out) && cat out && says "united   $ref: 1 kernel" out && says "given    $ref" out &&
	(cd repo && git klineage sync origin >../out) && says "moved    $ref: 1 kernel" out && test "$(links repo)" = $((n + 2)) && test "$(git -C other rev-parse $ref)" = "$(git -C repo rev-parse $ref)" &&
	(cd repo && git klineage fsck >../out) && says ": 0 errors" out && git -C repo fsck --strict --no-dangling
'

test_expect_success 'a chain that is wrong is neither taken nor given, and one without its lineage stays' '
	rm -rf forged && cp -R other forged && link forged "$(git -C forged rev-parse $ref^1)" "Klineage-Transplant: other" && before=$(git -C hub.git rev-parse $ref) && (cd forged && exits 1 git klineage sync origin >../out) && says "left     $ref: our chain is invalid" out && test "$(git -C hub.git rev-parse $ref)" = $before &&
	git -C forged push -q origin $ref && (cd repo && exits 1 git klineage sync origin >../out) && cat out && says "left     $ref: invalid" out && test "$(git -C repo rev-parse $ref)" = $before &&
	git -C hub.git update-ref $ref $before && git -C hub.git update-ref -d refs/heads/klineage/lineage/scale/x && git clone -q hub.git third && (cd third && exits 1 git klineage sync origin >../out) && says "left     $ref: the lineage whose steps were tried" out
'

test_done
