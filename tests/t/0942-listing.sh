#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='verbs that list: lines for scripts, and every kind of place to print to'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"

lineage=$KLINEAGE_TOP/skills/lineages/cuda-topk
esc=$(printf '\033')
tab=$(printf '\t')
tty () {
	script -qec "$1" /dev/null </dev/null
}
tty 'test -t 1 && test -t 2' && test_set_prereq TTY
test -c /dev/full && test_set_prereq FULL

# verb, the list of its JSON (-: the document is the line), then its arguments; all that have --porcelain
cat >listings <<'X'
log|steps|log
blame|rows|blame k/topk.cu
hooks|hooks|hooks status
skills|cards|skills list
skills|findings|skills lint
retrieve|cards|retrieve --status hypothesis cuda-topk
chat|conversations|chat log
chat|phases|chat cost
sync|items|sync --dry-run origin
fsck|findings|fsck
init|templates|init --list
status|states|status
doctor|findings|doctor --no-clock
study|cells|study cells toy
step|-|step --quiet --workload bad
gate|-|gate --worktree --quick --workload scale
lift|cards|lift --dry-run ../more
admit|-|admit --dry-run warp-scan
materialize|tries|materialize --dry-run --status hypothesis cuda-topk
X

# each <function>: for each of these with `what`, `list` and the words after it in "$@"; in the repository
each () {
	while IFS='|' read -r verb list words; do
		# shellcheck disable=SC2086 # words
		(cd repo && $1 $words) || { echo "verb: $words" >&2; return 1; }
	done <listings
}

test_expect_success 'a repository with something of everything' '
	git init -q --bare up.git && git init -q repo && (
		cd repo && git klineage import --json "$lineage" >../imported && mkdir k &&
		git archive klineage/lineage/cuda-topk/sm_90-12b611a | tar -x -C k &&
		mkdir s && contract s scale scale.c v && plain s/scale.c scale v "" && mkdir bad && contract bad bad bad.c v && plain bad/bad.c bad v "" &&
		git add . && git commit -q -m expert &&
		printf "%s\n" "klineage-study: 1" "name: toy" "tasks: [{id: scale, workload: scale, root: HEAD}]" "policies: [{policy: climb}]" "seeds: 2" \
			"budget: {usd: \"0.50\", candidates: 2}" "model: {provider: exec, name: fake}" "judge: {mode: real}" >../plan.yaml && git klineage study start ../plan.yaml && plain bad/bad.c bad "v + 1" "" &&
		git remote add origin ../up.git && git klineage hooks install && git klineage lift >/dev/null 2>&1 &&
		cp -R "$KLINEAGE_TOP/skills/lineages/cuda-gdn-cumsum" ../more
	) && says "\"schema\":\"klineage.imported/1\"" imported && says "\"steps\":11" imported &&
	(cd repo && git klineage export --json cuda-topk ../out) >exported && says "\"schema\":\"klineage.exported/1\"" exported &&
	test "$(find out -type f | wc -l)" = "$(sed "s/.*\"files\":\([0-9]*\).*/\1/" exported)"
'

test_expect_success 'every verb that can print lines for scripts is looked at here' '
	for v in $(git klineage --git-completion-helper); do
		git klineage $v -h | grep -q -e --porcelain && echo $v
	done | sort >want && cut -d"|" -f1 listings | sort -u >have && test_cmp want have &&
	for v in $(cat want); do
		git klineage $v -h | grep -e "-z, --null" && git klineage $v -h | grep -e "--json" || return 1
	done
'

# JSON, lines and NUL say the same; fields are as many in each row, and none is for people
agree () {
	git-klineage "$@" --json >../json; rc=$?
	git-klineage "$@" --porcelain >../lines; test $? = $rc &&
	git-klineage "$@" -z >../nul; test $? = $rc && test $rc -le 1 &&
	LIST=$list perl -MJSON::PP -e '
		local $/; my ($json, $lines, $nul) = map { open my $f, "<", "../$_" or die; <$f> } qw(json lines nul);
		my $rows = decode_json($json)->{$ENV{LIST}};
		my %c = (a => 7, b => 8, t => 9, n => 10, v => 11, f => 12, r => 13, q(") => 34, "\\" => 92);
		my @line = map { [map { my $f = $_;
			$f =~ s/\\([0-7]{3}|.)/chr(length $1 == 3 ? oct $1 : $c{$1})/ge if $f =~ s/^"(.*)"$/$1/s; $f } split /\t/, $_, -1]
			} split /\n/, $lines;
		die "rows\n" if $rows && @$rows != @line;
		my $width = @line ? @{$line[0]} : 0;
		for (@line) { die "ragged\n" if @$_ != $width }
		die "not the same fields\n" if join("", map { map { "$_\0" } @$_ } @line) ne $nul;
		die "a colour\n" if $lines =~ /\e/ || $nul =~ /\e\[/;
	'
}
test_expect_success 'lines, NUL-ended fields and JSON say the same' 'each agree'

both () {
	exits 129 git-klineage "$@" --json --porcelain 2>../err && says "cannot be used with" ../err && exits 129 git-klineage "$@" -z --json 2>../err
}
test_expect_success 'not two kinds at once, and not where nothing is listed' '
	each both && (cd repo && exits 129 git klineage skills show -z x 2>../err) && says "and -z need" err &&
	(cd repo && exits 129 git klineage chat show --porcelain a/b/c 2>../err) && says "and -z need" err &&
	(cd repo && exits 129 git klineage init --json k.c 2>../err) && says "need --list" err
'

test_expect_success 'the fields are those that the pages promise' '
	(
		cd repo && git klineage log --porcelain >../log && git klineage hooks status --porcelain >../hooks &&
		git klineage init --list --porcelain >../init && git klineage skills list -z | tr "\000" "\n" >../cards &&
		git rev-list --first-parent --reverse klineage/lineage/cuda-topk/sm_90-12b611a >../commits &&
		git klineage log --json >../json && git klineage gate --no-profile --workload scale --porcelain >../gate &&
		git klineage gate --no-profile --workload scale --json >../event && git rev-parse HEAD >../head &&
		git klineage lift -n --porcelain ../more >../lift && git klineage lift -n --json ../more >../lift.json &&
		exits 1 git klineage admit -n --porcelain warp-scan >../admit &&
		git klineage materialize -n --porcelain --status hypothesis cuda-topk >../tries
	) &&
	cut -f2 log >have && test_cmp commits have && cut -f5 log | sed -n 12p >have && echo topk.cu:rank_list >want && test_cmp want have &&
	test "$(sed -n 4p log | cut -f8)" = "$(perl -MJSON::PP -e "print decode_json(<STDIN>)->{steps}[3]{previous}{ratio_ppm}" <json)" &&
	grep "^pre-push${tab}ours${tab}/" hooks && grep "^c-topk${tab}11${tab}" init &&
	test "$(sed -n 2p cards)" = hypothesis && test "$(($(wc -l <cards) % 12))" = 0 &&
	test "$(cut -f1-5 gate)" = "scale$tab$(cat head)${tab}pass$tab${tab}gate" && cut -f15 gate >have &&
	sed "s/.*\"id\":\"\([0-9a-f]\{64\}\)\".*/\1/" event >want && test_cmp want have &&
	perl -MJSON::PP -e "my \$j = decode_json(<STDIN>);
		print join(qq(\t), \$_->{id}, \$_->{new} ? q(true) : q(false)), qq(\n) for @{\$j->{cards}}" <lift.json >want &&
	cut -f1,2 lift >have && test_cmp want have && grep "${tab}true" lift && grep "${tab}false" lift &&
	cut -f2,3 admit >have && echo "hypothesis${tab}hypothesis" >want && test_cmp want have && grep "^warp-scan-" admit &&
	test "$(cut -f4,8 tries | sort -u)" = "card${tab}left"
'

cat >quoted <<'X'
"\t/* a\\b \"c\" \001 */"
"\"d"
€
X
test_expect_success 'a field with a tab, a quote, a backslash; a name in another script' '
	(
		cd repo && { printf "\t/* a\\\\b \"c\" \\001 */\n\"d\n\342\202\254\n"; cat k/topk.cu; } >x && mv x k/topk.cu &&
		git klineage blame --porcelain k/topk.cu >../lines && git klineage blame -z k/topk.cu >../nul && git checkout -q k/topk.cu
	) &&
	head -n 3 lines | cut -f10 >have && test_cmp quoted have && test "$(head -n 1 lines | cut -f1-3)" = "1$tab$tab" &&
	tr "\000" "\n" <nul | sed -n 10p >have && printf "\t/* a\\\\b \"c\" \001 */\n" >want && test_cmp want have
'

# --- what it is printed to -------------------------------------------------------------------------

# neither width, colours nor language change what a program reads
steady () {
	git-klineage "$@" --porcelain >../want
	COLUMNS=10 LC_ALL=C.UTF-8 TERM=xterm git -c color.ui=always -c core.pager=false klineage "$@" --porcelain >../have
	test_cmp ../want ../have
}
test_expect_success 'lines for scripts are the same whatever the terminal' 'each steady'

narrow () {
	COLUMNS=40 git-klineage "$@" >../got 2>../err; a=$?
	TERM=dumb git-klineage "$@" >../dumb 2>../err; b=$?
	test $a -le 1 && test $b = $a && ! grep -q "$esc" ../got ../dumb ../err
}
test_expect_success '40 columns, and a dumb terminal' 'each narrow'

dumb () {
	tty "stty cols 40; TERM=dumb git --no-pager klineage $* 2>&1" >../got; a=$?
	test $a -le 1 && ! grep "$esc" ../got
}
test_expect_success TTY 'a real terminal that is dumb and has 40 columns' 'each dumb'

nobody () {
	git-klineage "$@" >../want 2>/dev/null; a=$?
	setsid git-klineage "$@" </dev/null >../have 2>../err; b=$?
	test $a = $b && test_cmp ../want ../have || return 1
	git-klineage "$@" <&- >../have 2>../err; b=$?
	test $a = $b && test_cmp ../want ../have
}
test_expect_success 'no terminal at all, stdin closed' 'each nobody'

broken () {
	{ git-klineage "$@" --json; echo $? >../rc; } 2>../err | :
	test "$(cat ../rc)" = 141 || test "$(cat ../rc)" -le 1 && ! grep -v "^note: " ../err
}
# whoever reads is gone before a word is written
gone () {
	{ sleep 0.1; git-klineage "$@" --porcelain; echo $? >../rc; } 2>../err | :
	git-klineage "$@" --porcelain 2>/dev/null >../lines
	if test -s ../lines; then test "$(cat ../rc)" = 141; fi && ! grep -v "^hint\|^no stored conv\|^no money\|^left out\|^note" ../err
}
test_expect_success 'a closed pipe ends it without a word' 'each broken && each gone'

full () {
	git-klineage "$@" --porcelain 2>/dev/null >../lines
	git-klineage "$@" --porcelain >/dev/full 2>../err; a=$?
	test ! -s ../lines || { test $a = 128 && says "write" ../err; }
}
test_expect_success FULL 'a full disk is an error, and said' 'each full'

closed () {
	git-klineage "$@" --porcelain 2>/dev/null >../lines
	git-klineage "$@" --porcelain >&- 2>../err; a=$?
	test ! -s ../lines || test $a = 128
}
test_expect_success 'a closed stdout is one, too' 'each closed'

test_done
