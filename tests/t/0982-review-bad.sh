#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage review: histories that are cut off or strange, notes of others, hostile words'
. ./lib.sh
. "$KLINEAGE_TOP"/tests/t/review.sh

top=$PWD

test_expect_success 'a pull request' '
	pull_request r && exits 1 git klineage review main..topic >../out && says "points to answer" ../out
'

# --- ranges ------------------------------------------------------------------------

test_expect_success 'how a range may be written' '
	cd "$top/r" && for range in main..topic main...topic main main.. ..topic ..; do
		exits 1 git klineage review --json $range >../again && git klineage review --json main..topic >../want
		test_cmp ../want ../again || return 1
	done &&
	exits 128 git klineage review nowhere..topic 2>../err && says "nowhere" ../err &&
	exits 128 git klineage review main..nowhere 2>../err && says "nowhere" ../err &&
	exits 129 git klineage review main topic 2>../err && exits 129 git klineage review --format html 2>../err && says "not '\''html'\''" ../err
'

test_expect_success 'without a range: from the upstream, else from main; without either it says what to do' '
	git clone -q -b topic . ../clone && cd ../clone && git klineage review >../out && says "0 commits, nothing to answer" ../out &&
	git branch -q --set-upstream-to=origin/main && exits 1 git klineage review >../out && says "4 commits" ../out &&
	git branch -q --unset-upstream && git remote set-head origin main && exits 1 git klineage review >../out && says "4 commits" ../out &&
	git init -q ../alone && cd ../alone && git checkout -q -b other && git commit -q --allow-empty -m one &&
	exits 128 git klineage review 2>../err && says "there is no base" ../err && says "<base>..<head>" ../err &&
	git init -q ../unborn && cd ../unborn && exits 128 git klineage review 2>../err
'

test_expect_success 'histories that have nothing in common' '
	cd "$top/r" && git checkout -q --orphan lonely && git commit -q -m lonely && git checkout -q -f topic &&
	exits 128 git klineage review main..lonely 2>../err && says "no commit in common" ../err && says "klineage/skills" ../err
'

test_expect_success 'the base has gone on: its own changes are not the head'\''s' '
	git checkout -q main && echo more >readme && git add readme && cp "$KLINEAGE_TOP"/tests/cheats/c/accepted/libm.c mm.c &&
	git commit -q -a -m more && exits 1 git klineage review --json main..topic >../again && test_cmp ../want ../again
'

test_expect_success 'a shallow clone: the base itself, and it is said' '
	cd "$top" && git clone -q --depth 1 --no-single-branch "file://$top/r" shallow && cd shallow &&
	git fetch -q origin "+refs/notes/klineage/gate:refs/notes/klineage/gate" && git checkout -q topic &&
	exits 1 git klineage review origin/main..topic >../out && says "this clone is shallow" ../out &&
	says "the tolerance of '\''C'\'' is looser" ../out && says "'\''align'\'' is weaker" ../out && says "mm'\'' in '\''.'\'': pass" ../out
'

test_expect_success 'a bare repository' '
	git clone -q --bare "$top/r" ../bare.git && cd ../bare.git && exits 1 git klineage review main..topic >../out && says "is looser" ../out
'

# --- notes --------------------------------------------------------------------------

test_expect_success 'a fork with no notes: each kernel is named, the rest is as ever' '
	git clone -q "$top/r" "$top/fork" && cd "$top/fork" && exits 1 git klineage review origin/main..origin/topic >../out &&
	says "! the kernel has not been judged" ../out && says "'\''align'\'' is weaker" ../out &&
	test "$(grep -c missing ../out)" = 4
'

command -v ssh-keygen >/dev/null && test_set_prereq KEYGEN

# sign <key> <event file>: the event with a signature of its id
sign () {
	KEY=$1 perl -MJSON::PP -e 'shift; my $j = decode_json(scalar <STDIN>);
		open my $f, ">", "id.tmp"; print $f $j->{id}; close $f;
		system("ssh-keygen -q -Y sign -n klineage-gate -f \"\$KEY\" id.tmp 2>/dev/null"); local $/;
		open $f, "<", "id.tmp.sig"; $j->{sig} = <$f>; unlink "id.tmp", "id.tmp.sig";
		print JSON::PP->new->canonical->ascii->encode($j), "\n"' "$1" <"$2"
}

test_expect_success KEYGEN 'where signatures are required, verdicts and evidence need that of an allowed signer' '
	for k in alice mallory; do ssh-keygen -q -t ed25519 -N "" -C $k -f "$top/$k" || return 1; done &&
	echo "alice@example.invalid $(cat "$top/alice.pub")" >"$top/allowed" &&
	cd "$top/r" && git config gpg.ssh.allowedSignersFile "$top/allowed" && git config klineage.requireSigned true &&
	exits 1 git klineage review main..topic >../out && says "! a note says that the kernel passed, but no allowed signer" ../out &&
	exits 1 git klineage review --json main..topic >../out &&
	says "no allowed signer (gpg.ssh.allowedSignersFile, klineage.signers) has signed the verdict" ../out &&
	says "1 of 1 new events are not signed by an allowed signer (gpg.ssh.allowedSignersFile, klineage.signers)" ../out &&
	git notes --ref=klineage/gate show topic~1 >../event && sign "$top/alice" ../event >../signed && note topic~1 ../signed &&
	exits 1 git klineage review --json main..topic >../out && says "\"signer\":\"alice@example.invalid\"" ../out &&
	says "\"answer\":false,\"code\":\"speed\"" ../out && git config klineage.requireSigned false
'

test_expect_success KEYGEN 'a note with a wrong signature: told, and not counted' '
	git notes --ref=klineage/gate remove topic~1 && sign "$top/mallory" ../event >../signed && note topic~1 ../signed &&
	exits 1 git klineage review --json main..topic >../out && says "\"signature\":\"unknown key\"" ../out &&
	perl -pe "s/\"sig\":\"/\"sig\":\"x/" ../signed >../wrong && git notes --ref=klineage/gate remove topic~1 && note topic~1 ../wrong &&
	exits 1 git klineage review main..topic >../out && says "has a wrong signature and does not count" ../out &&
	says "! the kernel has not been judged" ../out
'

test_expect_success KEYGEN 'evidence with a wrong signature, and with a right one' '
	git checkout -q -B signed topic && f=$(git diff --name-only main... -- "skills/evidence/*" | head -n 1) && sign "$top/alice" $f >new && mv new $f && git commit -q -a -m signed &&
	exits 1 git klineage review --json main..signed >../out && says "1 of 1 new events are signed by allowed signers, such as '\''alice@example.invalid'\''" ../out &&
	sed "s/\"sig\":\"/\"sig\":\"x/" $f >new && mv new $f && git commit -q -a -m wrong &&
	exits 1 git klineage review main..signed >../out && says "has a wrong signature" ../out
'

# --- hostile words --------------------------------------------------------------------

evil='@everyone ![x](https://evil.example/x.png) <img src=x onerror=y> ``` `a` </details> #1 [y](javascript:z)'

test_expect_success 'what a card says stays in its code span' '
	cd "$top/r" && git checkout -q -B hostile main &&
	EVIL=$evil perl -0pi -e "s/intent: .*/intent: \"\$ENV{EVIL}\"/; s/text: a tile fits the cache/text: \"\$ENV{EVIL}\"/" skills/cards/tile.yaml &&
	git commit -q -a -m hostile && exits 1 git klineage review --format markdown main..hostile >../out && says "everyone" ../out &&
	perl -ne "s/^<!-- klineage-review -->\$//; s/^<details><summary>\d+ [a-z]+<\/summary>\$//; s/^<\/details>\$//;
		1 while s/(?<!\`)(\`+)(?!\`).*?(?<!\`)\1(?!\`)//; exit 1 if /[<>\@]|!\[|\]\(|javascript|#\d/" ../out
'

test_expect_success 'nor can it steer a terminal' '
	printf "a: \033[31mred\033]0;title\007 \302\233 \342\200\256 end\n" >skills/cards/tile.yaml && git commit -q -a -m escapes &&
	for format in term markdown json; do
		exits 1 git klineage review --format $format main..hostile >../out && ! LC_ALL=C grep -a "[[:cntrl:]]" ../out &&
		! grep -a "$(printf "\342\200\256")" ../out || return 1
	done
'

test_expect_success 'nor can the name of a file or a directory' '
	name="@all <b>x" && mkdir -p "$name" && cp klineage.yaml oracle.c mm.c "$name" && cp skills/cards/tile.yaml "skills/cards/$name.yaml" &&
	git add . && git commit -q -m names && exits 1 git klineage review --format markdown main..hostile >../out &&
	perl -ne "s/^<!-- klineage-review -->\$//; s/^<details><summary>\d+ [a-z]+<\/summary>\$//; s/^<\/details>\$//;
		1 while s/(?<!\`)(\`+)(?!\`).*?(?<!\`)\1(?!\`)//; exit 1 if /[<>\@]/" ../out
'

test_expect_success 'a comment stays short enough, whatever there is to say' '
	git checkout -q -B many main && i=0 && while [ $((i += 1)) -le 400 ]; do
		sed "s/^id: .*/id: tile-$i/; s/intent: .*/intent: $(printf "%0300d" $i)words/" skills/cards/tile.yaml >skills/cards/tile-$i.yaml || return 1
	done && git add . && git commit -q -m many && git checkout -q -B fewer many &&
	for f in skills/cards/tile-*.yaml; do sed "s/words/other words/; s/cases: .gemm./cases: [a, b, c, d, e, f, gemm]/; s/K >= 64/K >= 1/" $f >new && mv new $f; done &&
	git commit -q -a -m fewer && exits 1 git klineage review --format markdown many..fewer >../out &&
	test "$(wc -c <../out)" -lt 65536 && test "$(wc -c <../out)" -gt 40000 && says "omitted from this comment" ../out &&
	test "$(grep -c "^<details>" ../out)" = "$(grep -c "^</details>" ../out)" && says "3200 points to answer" ../out && says "and " ../out
'

# --- where it is shown ------------------------------------------------------------------

test_expect_success 'a narrow terminal, colours, a closed pipe' '
	COLUMNS=40 exits 1 git klineage review main..topic >../out && ! grep "^.\{41,\}" ../out &&
	exits 1 git klineage review --color main..topic >../out && says "$(printf "\033[")" ../out &&
	exits 1 git klineage review main..topic >../out && ! grep "$(printf "\033")" ../out &&
	{ git klineage review many..fewer; echo $? >../code; } | head -n 1 >../out && test "$(cat ../code)" = 141
'

test_done
