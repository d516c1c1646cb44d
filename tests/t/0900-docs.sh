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

test_expect_success 'every verb has a page and every page a verb' '
	{ echo git-klineage.adoc && sed "s/ .*/.adoc/; s/^/git-klineage-/" verbs; } | sort >want &&
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
		test -s built/$(basename $f .adoc).1 || return 1
	done
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
	grep -rhoE "\"klineage\.[A-Za-z]+\"" "$src" --include="*.c" | tr -d "\"" |
		grep -v "^klineage\.yaml$" | sort -u >want &&
	test "$(wc -l <want)" -ge 5 &&
	terms CONFIGURATION "$man/git-klineage.adoc" >have &&
	both want have
'

test_expect_success 'every variable of the environment that is read is documented, and no other' '
	grep -rhoE "getenv\(\"(KLINEAGE_[A-Z_]+|TMPDIR)\"" "$src" --include="*.c" |
		sed "s/.*(\"//; s/\"//" | sort -u >want &&
	test "$(wc -l <want)" -ge 5 &&
	terms ENVIRONMENT "$man/git-klineage.adoc" >have &&
	both want have
'

test_done
