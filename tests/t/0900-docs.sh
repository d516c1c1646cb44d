#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='the manual says what the program does, and the other documents name what is there'
. ./lib.sh

man=$KLINEAGE_TOP/docs/man
docs=$KLINEAGE_TOP/docs
src=$KLINEAGE_TOP/src

# the lines below a heading of a page, up to the next heading
section () {
	sed -n "/^== $1\$/,/^== /{ /^== /d; p; }" "$2"
}

# the terms ("term:: text", or "term::") of a section, one a line
terms () {
	section "$1" "$2" | sed -n 's/^\([^ ].*\)::\( .*\)\{0,1\}$/\1/p' | sed 's/`//g' | sort
}

# "usage:" and "   or:" of a verb's -h, as one synopsis a line
usage () {
	sed -n 's/^usage: //p; s/^   or: //p' "$1"
}

# the options of a verb's -h, as the terms of its page
options () {
	sed -n 's/^    -\([a-z]\), --\([a-z-]*\)\( \([<a-z][^ ]*\)\)\{0,1\}\( .*\)\{0,1\}$/-\1 \4\n--\2 \4/p
		s/^        --\([a-z-]*\)\( \([<a-z][^ ]*\)\)\{0,1\}\( .*\)\{0,1\}$/--\1 \3/p' "$1" |
		sed 's/ $//' | sort
}

# both <file of what is> <file of what is said>: the same lines, else name them
both () {
	diff "$1" "$2" >both.diff && return 0
	echo "there but not documented (<), documented but not there (>):" >&2
	cat both.diff >&2
	return 1
}

git klineage help >help.out
sed -n 's/^    \([a-z]*\)  *\([a-z].*\)$/\1 \2/p' help.out >verbs
verbs=$(cut -d' ' -f1 verbs)

test_expect_success 'there are verbs to look at' '
	test "$(wc -l <verbs)" -ge 10
'

test_expect_success 'every verb has a page and every page a verb, or it is the worker' '
	{ printf "%s\n" git-klineage.adoc klineage-worker.adoc gitklineage-format.adoc gitklineage-tutorial.adoc && sed "s/ .*/.adoc/; s/^/git-klineage-/" verbs; } | sort >want &&
	ls "$man" | sort >have &&
	both want have
'

test_expect_success 'the list of verbs and the NAME of each page say what help says' '
	sed "s/ /:: /" verbs | sort >want &&
	section VERBS "$man/git-klineage.adoc" |
		sed -n "s/^git-klineage-\([a-z]*\)(1):: /\1:: /p" | sort >have &&
	both want have &&
	for v in $verbs; do
		section NAME "$man/git-klineage-$v.adoc" | sed -n "s/^git-klineage-$v - /$v /p"
	done | sort >have &&
	sort verbs >want &&
	both want have
'

test_expect_success 'the synopsis of each page is that of -h' '
	for v in $verbs; do
		git klineage $v -h >$v.h &&
		usage $v.h >want && test -s want &&
		section SYNOPSIS "$man/git-klineage-$v.adoc" | grep "^'\''" | sed "s/'\''//g" >have &&
		both want have || { echo "verb: $v" >&2; return 1; }
	done &&
	usage help.out >want &&
	section SYNOPSIS "$man/git-klineage.adoc" | grep "^'\''" | sed "s/'\''//g" >have &&
	both want have
'

test_expect_success 'the options of each page are those of -h, with their values' '
	for v in $verbs; do
		options $v.h >want &&
		test "$(grep -c -- "^ *\(-[a-z], \)\{0,1\}--[a-z]" $v.h)" = "$(grep -c "^--" want)" &&
		terms OPTIONS "$man/git-klineage-$v.adoc" >have &&
		both want have || { echo "verb: $v" >&2; return 1; }
	done
'

test_expect_success 'the page of the worker says what its -h says' '
	klineage-worker -h >worker.h && usage worker.h >want && test -s want &&
	section SYNOPSIS "$man/klineage-worker.adoc" | grep "^'\''" | sed "s/'\''//g" >have &&
	both want have &&
	sed -nE "s/^    (-[a-z]), (--[a-z-]+)( <[a-z]+>)?  .*/\1\3\n\2\3/p; s/^    (--[a-z-]+)( <[a-z]+>)?  .*/\1\2/p" worker.h |
		sort >want && test "$(wc -l <want)" -ge 5 &&
	terms OPTIONS "$man/klineage-worker.adoc" >have &&
	both want have
'

test_expect_success 'every option that a page speaks of is one' '
	for v in $verbs; do
		{ options $v.h | sed "s/ .*//" && options $v.h | sed -n "s/ .*//; s/^--/--no-/p" && echo -h && echo --help; } |
			sort -u >want &&
		grep -o "\*--*[a-z-]*\*" "$man/git-klineage-$v.adoc" | sed "s/\*//g" | sort -u >have &&
		comm -13 want have >unknown &&
		! grep . unknown || { echo "verb: $v" >&2; return 1; }
	done
'

if command -v asciidoctor >/dev/null
then
	test_set_prereq ASCIIDOCTOR
else
	say "# no asciidoctor here: the pages are not built"
fi
test_expect_success ASCIIDOCTOR 'every page builds without a warning' '
	asciidoctor -b manpage -a version=1 --failure-level=INFO -v -D built "$man"/*.adoc 2>err &&
	test_must_fail test -s err &&
	for f in "$man"/*.adoc; do
		test -s built/$(basename $f .adoc).$(sed -n "1s/.*(\([0-9]\)).*/\1/p" $f) || return 1
	done
'

test_expect_success 'pages write {cpp}, since asciidoctor takes the plus signs of two "C++" for markup' '
	test_must_fail grep -n "C++" "$man"/*.adoc
'

# a PATH with the program and without man
mkdir bare && for p in git sh cat; do ln -s "$(command -v $p)" bare/$p; done
test_expect_success 'without man, help shows the source of a page' '
	for v in $verbs; do
		PATH=$KLINEAGE_BUILD:$PWD/bare git-klineage help $v >out &&
		test_cmp "$man/git-klineage-$v.adoc" out &&
		PATH=$KLINEAGE_BUILD:$PWD/bare git-klineage $v --help >out &&
		test_cmp "$man/git-klineage-$v.adoc" out || return 1
	done
'

# one that only says what it was asked for
mkdir fake && cat >fake/man <<-\EOF && chmod +x fake/man
	#!/bin/sh
	echo "man $*"
EOF
test_expect_success 'with man, help shows the built page, or the installed one' '
	mkdir -p share/build/man &&
	echo page >share/build/man/git-klineage-gate.1 &&
	KLINEAGE_SHARE=$PWD/share PATH=$PWD/fake:$PATH git klineage help gate >out &&
	says "man -l $PWD/share/build/man/git-klineage-gate.1" out &&
	mkdir -p usr/bin usr/share/man/man1 usr/share/git-klineage &&
	cp "$KLINEAGE_BUILD/git-klineage" usr/bin/ &&
	echo page >usr/share/man/man1/git-klineage-log.1 &&
	PATH=$PWD/fake:$PATH usr/bin/git-klineage log --help >out &&
	says "/man/man1/git-klineage-log.1" out &&
	exits 129 git klineage help nonsense 2>err &&
	says "not a verb" err
'

test_expect_success 'every configuration key that is read is documented, and no other' '
	grep -rhoE "\"klineage(\.[A-Za-z]+)+\"" "$src" --include="*.c" | tr -d "\"" |
		grep -vE "^klineage\.(yaml|h)$" | sort -u >want &&
	test "$(wc -l <want)" -ge 5 &&
	terms CONFIGURATION "$man/git-klineage.adoc" >have &&
	both want have
'

test_expect_success 'every variable of the environment that is read is documented, and no other' '
	{ grep -rhoE "getenv\(\"(KLINEAGE_[A-Z_]+|TMPDIR)\"" "$src" --include="*.c" &&
	  grep -rhoE "\"[A-Z]+_API_KEY\"" "$src" --include="*.c"; } |
		sed "s/.*(//; s/\"//g" | sort -u >want &&
	test "$(wc -l <want)" -ge 5 &&
	terms ENVIRONMENT "$man/git-klineage.adoc" >have &&
	both want have
'

# --- the other documents ----------------------------------------------------------

# the paths in backticks or links that begin with a folder of ours, relative to the top
paths () {
	{ grep -oE "\`[^\` ]+\`" "$1" | tr -d "\`"; grep -oE "\]\([^)]+\)" "$1" | sed "s/](//; s/)//; s/#.*//"; } |
		sed -nE "s,^(\.\./|\./)*,,
			/^(src|docs|templates|tests|hooks|skills)\//p
			/^(Makefile|LICENSE)$/p
			s,^(cmd|review|sync|fsck|learn|apply|lineage|retrieve|walk|gate|card|rewrite|backend|event|contract|model|plan|repo|job|jail|text|base|worker)/,src/&,p" |
		sort -u
}

# a path, or one without the ending that its .c and .h share
is_there () {
	test -e "$KLINEAGE_TOP/$1" || test -e "$KLINEAGE_TOP/$1.c" || test -e "$KLINEAGE_TOP/$1.h"
}

test_expect_success 'every path that a document names is in the tree' '
	for f in README.md src/README.md $(cd "$KLINEAGE_TOP" && ls docs/*.md); do
		paths "$KLINEAGE_TOP/$f" >named &&
		while read -r p; do
			case $p in *"<"*|*"*"*) continue ;; esac
			is_there "$p" || { echo "$f names $p, which is not there" >&2; return 1; }
		done <named || return 1
	done &&
	paths "$docs/architecture.md" >named && test "$(wc -l <named)" -ge 20
'

test_expect_success 'every link of a document leads somewhere' '
	for f in README.md src/README.md skills/README.md $(cd "$KLINEAGE_TOP" && ls docs/*.md); do
		grep -oE "\]\([^)#:]+\)" "$KLINEAGE_TOP/$f" | sed "s/](//; s/)//" >links
		while read -r to; do
			test -e "$KLINEAGE_TOP/$(dirname "$f")/$to" ||
				{ echo "$f links to $to, which is not there" >&2; return 1; }
			echo "$to" >>followed
		done <links || return 1
	done &&
	test "$(wc -l <followed)" -ge 20
'

# commands of documents: "git klineage <verb> ..." to the end of its line, of its quotes or of its comment
commands () {
	grep -ohE "git klineage [a-z].*" "$@" | sed -E "s/[\`#|;].*//; s/ && .*//; s/'.*//"
}

test_expect_success 'every command of a document is a verb of ours, and its options are that verb'\''s' '
	for v in $verbs; do
		git klineage "$v" -h >"help-$v" || return 1
	done &&
	commands "$KLINEAGE_TOP"/README.md "$docs"/*.md >shown &&
	test "$(wc -l <shown)" -ge 50 &&
	while read -r line; do
		rest=${line#git klineage } && v=${rest%% *} &&
		case $v in *[!a-z]*) continue ;; esac
		test -e "help-$v" || { echo "no verb: $line" >&2; return 1; }
		for option in $(echo "$line" | grep -oE " --[a-z][a-z-]*"); do
			option=--${option#*--} plain=--${option#--no-}
			grep -qE -e "(^|[^a-z-])($option|$plain)([^a-z-]|\$)" "help-$v" ||
				{ echo "$v has no $option: $line" >&2; return 1; }
		done || return 1
	done <shown
'

test_expect_success 'architecture.md has every file of src, in its own words' '
	"$KLINEAGE_TOP/tests/files.pl" --check "$KLINEAGE_TOP"
'

test_expect_success 'README.md says what every package that is installed is for' '
	make -s -C "$KLINEAGE_TOP" -p -n -q style 2>/dev/null | sed -n "s/^PACKAGES := //p" | tr -s " " "\n" >want &&
	test "$(wc -l <want)" -ge 20 &&
	sed -n "/^## Dependencies/,/^## /p" "$KLINEAGE_TOP/README.md" | sed -n "s/^| \([a-z].*\) | .*/\1/p" |
		tr -s ", " "\n" | grep -v "^(\|^package$" >have &&
	sort want >want.sorted && sort have >have.sorted && both want.sorted have.sorted
'

test_expect_success 'src/README.md has every layer' '
	(cd "$src" && ls -d */) | sed "s,/$,," | sort >want &&
	sed -nE "s,^- \`([a-z]+)/\`.*,\1,p" "$src/README.md" | sort >have &&
	both want have
'

test_expect_success 'the sections of formats.md are numbered in order, and references to them hold' '
	sed -nE "s/^## ([0-9]+)\. .*/\1/p" "$docs/formats.md" >have &&
	seq 1 "$(grep -c "^## " "$docs/formats.md")" >want &&
	both want have &&
	last=$(wc -l <have) &&
	grep -oE "§[0-9]+" "$docs/formats.md" | tr -d "§" | sort -un >cited &&
	test -s cited &&
	while read -r n; do
		test "$n" -le "$last" || { echo "there is no section $n" >&2; return 1; }
	done <cited &&
	grep -rhoE "docs/formats\.md, \"[^\"]+\"" "$src" | sed "s/.*, \"//; s/\"//" | sort -u >cited &&
	test -s cited &&
	while read -r name; do
		grep -qiE "^(## [0-9]+\. |\*\*).*$name" "$docs/formats.md" ||
			{ echo "the sources cite a section \"$name\"" >&2; return 1; }
	done <cited
'

# the first column of the tables of a section of formats.md: the words in backticks
column () {
	sed -n "/^## [0-9]*\. $1\$/,/^## /p" "$docs/formats.md" | sed -nE "s/^\| (\`[^|]*) \|.*/\1/p" |
		grep -oE "\`[^\`]+\`" | tr -d "\`"
}

test_expect_success 'the table at the head of formats.md names each section by a word of its heading' '
	sed -n "s/^## \([0-9]*\)\. /\1 /p" "$docs/formats.md" >headings &&
	grep -E "^\| 1 contract" "$docs/formats.md" | grep -oE "[0-9]+ [a-z]+" >entries &&
	cut -d" " -f1 entries | sort -nu >have && cut -d" " -f1 headings | sort -nu >want && both want have &&
	while read -r number word; do
		grep -iqE "^$number .*$word" headings || { echo "section $number is not about $word" >&2; return 1; }
	done <entries
'

test_expect_success 'every trailer that is written or read is in formats.md, and no other' '
	{ grep -rhoE "\"Klineage-[A-Z][a-z]+\"" "$src" --include="*.c" | sed "s/\"//g; s/Klineage-//" &&
	  grep -rhoE "add_trailer\(out, \"[A-Z][a-z]+\"" "$src" --include="*.c" | sed "s/.*, \"//; s/\"//"; } |
		sort -u >want &&
	test "$(wc -l <want)" -ge 10 &&
	column Trailers | sed "s/^Klineage-//; s/:$//" | sort >have &&
	both want have
'

test_expect_success 'every feature that is read from machine code is in formats.md, and no other' '
	sed -nE "s/.*\{ \"([a-z0-9.-]+)\", VEC_.*/\1/p; s/.*kl_strvec_push\([^\"]*\"([a-z.-]+)\"\).*/\1/p
		s/.*kl_strvec_pushf\([^\"]*\"call\.%s\".*/call.<symbol>/p
		s/.*kl_strvec_pushf\([^\"]*\"pointer\.%s\".*/pointer.<feature>/p
		s/.*kl_strvec_pushf\([^\"]*\"accumulators\.%u\".*/accumulators.<n>/p
		s/.*kl_strvec_pushf\([^\"]*\"loop\.depth\.%u\".*/loop.depth.<n>/p" "$src/backend/c/features.c" >names &&
	grep -oE "\"vec\.[0-9]+\"" "$src/backend/c/features.c" | tr -d "\"" >>names &&
	sort -u names >want && test "$(wc -l <want)" -ge 30 &&
	column Features | sort >have &&
	both want have
'

test_expect_success 'so is every feature of device code' '
	sed -nE "s/^.*\{ \"([a-z0-9.-]+)\", \"[^\"]*\" \}.*$/&/p" "$src/backend/cuda/features.c" |
		grep -oE "\{ \"[a-z0-9.-]+\", \"[^\"]*[*?][^\"]*\"" | sed -E "s/^\{ \"([^\"]*)\".*/\1/" >names &&
	sed -nE "s/.*kl_strvec_push\([^\"]*\"([a-z0-9.-]+)\"\).*/\1/p" "$src/backend/cuda/features.c" >>names &&
	sort -u names >want && test "$(wc -l <want)" -ge 50 &&
	column "Features of device code" | sort -u >have &&
	both want have
'

test_expect_success 'every class of failure that is written is in formats.md' '
	find "$src" -name "*.c" -exec cat {} + | grep -oE "(class_ = |fail\([a-z]*, |KL_(CALL|FAILURE)_[A-Z_]+\] = )\"[a-z-]+\"" |
		grep -oE "\"[a-z-]+\"" | tr -d "\"" | sort -u >want &&
	grep -q "^compile$" want && grep -q "^launch$" want && grep -q "^cheat$" want &&
	while read -r c; do
		grep -qF "\`$c\`" "$docs/formats.md" || { echo "class $c is not in formats.md" >&2; return 1; }
	done <want
'

test_expect_success 'every schema that is written is in formats.md' '
	grep -rhoE "\"klineage\.[a-z-]+/[0-9]\\\\?\"" "$src" --include="*.[ch]" | tr -d "\\\\\"" | sort -u >want &&
	test "$(wc -l <want)" -ge 5 &&
	while read -r s; do
		grep -qF "$s" "$docs/formats.md" || { echo "$s is not in formats.md" >&2; return 1; }
	done <want
'

test_done
