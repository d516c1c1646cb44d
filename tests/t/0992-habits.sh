#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='what holds of this repository itself: messages of commits, the table of files, the measures of the house'
. ./lib.sh

tests=$KLINEAGE_TOP/tests
hook=$tests/hooks/commit-msg

# refused <message> <complaint>
refused () {
	printf '%s\n' "$1" >message &&
	exits 1 "$hook" message 2>err && says "$2" err
}

accepted () {
	printf '%s\n' "$1" >message && exits 0 "$hook" message 2>err && test_must_fail test -s err
}

test_expect_success 'a message as it should be is accepted' '
	accepted "gate: say why a job was refused" &&
	accepted "backend/cuda, worker/gpu: load a cubin once

The driver keeps it.

	quoted lines may be as long as they have to be: $(printf "%0100d" 0)
https://example.invalid/$(printf "%0100d" 0)
Reported-by: somebody with a name that is long, and an address that is longer <a@example.invalid>" &&
	accepted "Revert \"gate: say why a job was refused\"" &&
	accepted "fixup! gate: say why a job was refused" &&
	accepted "docs: name the hook
# Please enter the commit message; lines beginning with # are ignored, however long they may be
# ------------------------ >8 ------------------------
diff --git a/$(printf "%0100d" 0)"
'

test_expect_success 'others are refused, with the reason' '
	refused "say why a job was refused" "is not \"<area>: <imperative>\"" &&
	refused "kitchen: say why a job was refused" "\"kitchen\" is not a room" &&
	refused "gate, kitchen: say why a job was refused" "\"kitchen\" is not a room" &&
	refused "gate: says why a job was refused" "does not begin with a verb" &&
	refused "gate: a refused job says why" "does not begin with a verb" &&
	refused "gate: Say why a job was refused" "does not begin with a verb" &&
	refused "gate: say why a job was refused; wait for it" "joins two ideas" &&
	refused "gate: say why a job was refused." "full stop" &&
	refused "gate: say why a job was refused, in so many words that nobody reads them all" "72" &&
	refused "gate: say why a job was refused
at once" "second line is not empty" &&
	refused "gate: say why a job was refused

A line of the body that is wider than what a terminal of eighty columns shows of it." "line 3 has 84 columns" &&
	exits 129 "$hook" 2>err && says usage err
'

# top <directory>: a repository with the check and what it reads
top () {
	git init -q "$1" && mkdir -p "$1/tests/hooks" && cp "$tests/rooms" "$tests/verbs" "$1/tests/" && git -C "$1" add . &&
	git -C "$1" commit -q -m "in the beginning" && cp "$hook" "$1/tests/hooks/" && git -C "$1" add . &&
	git -C "$1" commit -q -m "tests: check the messages of commits"
}

# commit <directory> <message>
commit () {
	git -C "$1" commit -q --allow-empty -m "$2"
}

test_expect_success 'it is a hook, too' '
	top hooked && git -C hooked config core.hooksPath tests/hooks && commit hooked "gate: judge" &&
	test_must_fail git -C hooked commit -q --allow-empty -m "gate: judged" 2>err && says "commit-msg: " err &&
	test "$(git -C hooked rev-list --count HEAD)" = 3
'

test_expect_success 'commits since the one that brought it are checked, merges are not' '
	top r && r/tests/hooks/commit-msg --range 2>err && test_must_fail test -s err &&
	commit r "gate: judge" && git -C r checkout -q -b side HEAD~1 && commit r "docs: tell" &&
	git -C r merge -q --no-edit main && r/tests/hooks/commit-msg --range 2>err && test_must_fail test -s err &&
	commit r "gate: judging" && commit r "docs: tell" && exits 1 r/tests/hooks/commit-msg --range 2>err &&
	test "$(wc -l <err)" = 1 && says "\"gate: judging\": " err && exits 0 r/tests/hooks/commit-msg --range HEAD~1..HEAD &&
	exits 1 r/tests/hooks/commit-msg --range nonsense
'

test_expect_success 'a room that was there once is known' '
	top moved && echo "attic base *" >>moved/tests/rooms && git -C moved commit -q -a -m "attic: add a room" &&
	sed "/^attic/d" moved/tests/rooms >rooms && cp rooms moved/tests/ && git -C moved commit -q -a -m "attic: remove it" &&
	moved/tests/hooks/commit-msg --range
'

test_expect_success 'where it cannot be checked, it says so' '
	git clone -q --depth 2 "file://$PWD/r" shallow && exits 0 shallow/tests/hooks/commit-msg --range 2>err &&
	says "a shallow clone: only commits after" err &&
	git clone -q --depth 3 "file://$PWD/r" deeper && exits 1 deeper/tests/hooks/commit-msg --range 2>err &&
	says "a shallow clone: only commits after" err && says "\"gate: judging\": " err &&
	mkdir plain && cp -R r/tests plain/ && exits 0 plain/tests/hooks/commit-msg --range 2>err && says "not a git repository" err &&
	git init -q other && cp -R r/tests other/ && git -C other commit -q --allow-empty -m x &&
	exits 0 other/tests/hooks/commit-msg --range 2>err && says "does not have this check yet" err
'

# --- the table of files -----------------------------------------------------------------

# tree <directory>: a source tree of two rooms
tree () {
	mkdir -p "$1/src/a/b" "$1/docs" &&
	printf "%s\n" "/* x */" "#ifndef A" "/*" " * one - the first of" " * two (docs/x.md), as it were: both" " */" "#endif" >"$1/src/a/one.h" &&
	printf "%s\n" "/* x */" "int one(int a)" "{" "	if (a)" "		while (a)" "			a--;" "	return a;" "}" >"$1/src/a/one.c" &&
	printf "%s\n" "/* x */" "/* two - the second: a | sign */" "#include \"a/one.h\"" "int state;" "const int table[] = { 1 };" \
		"static int take_it(int a, int b, int c, int d, int e, int f)" "{ return a; }" >"$1/src/a/b/two.c" &&
	printf "%s\n" "## Every file" "" "words" "" "| old |" "" "more" >"$1/docs/architecture.md"
}

test_expect_success 'the table is made of first sentences and second lines' '
	tree t && "$tests/files.pl" t >have && cat >want <<-\EOF && test_cmp want have &&
	| file | what it is |
	| --- | --- |
	| `a/one` | the first of two, as it were |
	| `a/b/two` | the second: a \| sign |
	EOF
	exits 1 "$tests/files.pl" --check t 2>err && says "--write" err && "$tests/files.pl" --write t && "$tests/files.pl" --check t &&
	{ printf "%s\n" "## Every file" "" words ""; cat have; printf "%s\n" "" more; } >want && test_cmp want t/docs/architecture.md
'

test_expect_success 'a file that says nothing, or too much, is an error' '
	echo "/* x */" >t/src/a/b/three.c && exits 1 "$tests/files.pl" --write t 2>err && says "src/a/b/three.c: the second line is not" err &&
	printf "%s\n" "/* x */" "/* three - $(printf "%0100d" 0) */" >t/src/a/b/three.c &&
	exits 1 "$tests/files.pl" --check t 2>err && says "longer than" err && rm t/src/a/b/three.c &&
	echo "/* x */" >t/src/a/one.h && exits 1 "$tests/files.pl" --check t 2>err && says "src/a/one.h: no comment" err &&
	exits 1 "$tests/files.pl" --check t/docs 2>err
'

# --- the measures -----------------------------------------------------------------------

# row <file> <beginning of its name> <value of the first tree>
row () {
	have=$(grep "^$2" "$1" | head -n 1 | sed "s/.*   *//") && test "$have" = "$3" && return 0
	echo "$2: '$have', not '$3'" >&2
	return 1
}

test_expect_success 'trees are measured, side by side' '
	rm -rf t && tree t && cp -R t u && printf "%s\n" "/* x */" "static char *loose, *const firm;" "#include \"a/b/back.h\"" >u/src/a/one.h &&
	echo "#include \"a/one.h\"" >u/src/a/b/back.h && "$tests/house.sh" --rooms t >out && row out ".c files" "2 / 15" &&
	row out "functions that nest" "0.00 %" && row out "functions with 6" "50.0 %" && row out "one-word function names" "50.0 % / 0.0 %" &&
	row out "file-scope variables" 1 && row out "header cycles" 0 && row out "folder cycles" 0 && row out "folders  " 2 &&
	row out "headers included from other" "1 of 1" && says "a                          1 of   1" out &&
	"$tests/house.sh" --rooms t u >out && row out "header cycles" 1 && row out "folder cycles" 1 && row out "file-scope variables" 2 &&
	says "folders that include each other: a a/b" out && exits 0 grep "^header cycles  *0  *1$" out
'

test_expect_success 'nesting, length and names are those of the code, however it is laid out' '
	mkdir laid && cat >laid/x.c <<-\EOF &&
	/* "{" */
	static int deep(int n) { for (;;) if (n) { while (n) do n--; while (n); } else if (n > 1) n = 1; else n = "}"[0]; return n; }
	EOF
	"$tests/house.sh" laid >out && row out "functions that nest" "100.00 %" && row out "function lines" "1 / 1 / 1 / 1" &&
	row out "one-word" "100.0 % / 100.0 %" && row out "lines over 100" 1 && row out "comment" "- / 50.0 %"
'

if command -v ctags >/dev/null && ctags --version | grep -q Universal
then
	test_set_prereq CTAGS
else
	say "# no universal-ctags here: one-letter names are not counted"
fi
test_expect_success CTAGS 'one-letter names are counted' '
	"$tests/house.sh" t >out && row out "one-letter" "100.0 % / - / -"
'

test_expect_success 'so are the subjects of commits' '
	top h && mkdir h/src && cp t/src/a/one.c h/src/ && git -C h add . && commit h "gate: judge; wait" && commit h "gate: judging" &&
	"$tests/house.sh" --commits HEAD h >out && row out "commits  " 4 && row out "subjects that begin" "50 %" &&
	row out "subjects joined" "25 %" && exits 1 "$tests/house.sh" --commits nonsense h >out 2>err &&
	exits 1 "$tests/house.sh" t/docs 2>err && says "no .c or .h file" err && exits 129 "$tests/house.sh" -x 2>err
'

test_done
