#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='what holds of this repository itself: the table of files'
. ./lib.sh

tests=$KLINEAGE_TOP/tests

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

test_done
