#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: files that a checkout of git changes are not judged'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
test_expect_success 'a kernel' '
	git init -q repo && mkdir repo/k && cp "$cheats"/klineage.yaml "$cheats"/oracle.c repo/k &&
	{ echo "/* \$Id\$ \$Format:%H\$ */"; cat "$cheats"/accepted/plain.c; } >repo/k/mm.c && sed "1d" repo/k/mm.c >plain.c &&
	git -C repo add . && git -C repo commit -q -m plain && cd repo && git klineage gate --quick --no-note && cd ..
'

# commits <attributes> [<file of attributes>] [<source>]: commit the attributes and the source
commits () {
	(cd repo && rm -f .gitattributes k/.gitattributes .git/info/attributes && cp "${3:-../ids.c}" k/mm.c && echo "$1" >"${2:-.gitattributes}" &&
	git -c core.autocrlf=false add -A -f && git commit -q --allow-empty -m "attributes: $1")
}
cp repo/k/mm.c ids.c

# differs: does git give a clone, or an archive, other bytes of the source than the commit has?
differs () {
	rm -rf clone archive && git clone -q --no-checkout repo clone &&
	{ cp repo/.git/info/attributes clone/.git/info/attributes 2>/dev/null || :; } &&
	git -C clone checkout -q -f 2>/dev/null && mkdir archive && git -C repo archive HEAD | tar x -C archive &&
	git -C repo cat-file blob HEAD:k/mm.c >committed && ! { cmp -s committed clone/k/mm.c && cmp -s committed archive/k/mm.c; }
}

# refused <attribute>: the gate exits with 125 and names the attribute, for the commit and the index; git does change the file
refused () {
	differs && (cd repo && exits 125 git klineage gate --quick 2>../err) && says "the attribute $1" err && says "k/mm.c" err &&
	(cd repo && exits 125 git klineage gate --quick --staged 2>../err) && says "the attribute $1" err &&
	! git -C repo rev-parse -q --verify refs/notes/klineage/gate
}

# judged: the gate judges it, and git does not change it
judged () { ! differs && (cd repo && git klineage gate --quick --no-note >../out) && says "pass" out; }

test_expect_success 'ident' 'commits "*.c ident" && refused ident'
test_expect_success 'ident, in the directory' 'commits "mm.c ident" k/.gitattributes && refused ident'
test_expect_success 'ident, in info/attributes' 'commits "*.c ident" .git/info/attributes && refused ident'
test_expect_success 'ident, by core.attributesFile' '
	commits "" && echo "*.c ident" >mine && git config --global core.attributesFile "$PWD/mine" && refused ident &&
	git config --global --unset core.attributesFile
'
test_expect_success 'ident, by the default file of the user' '
	mkdir -p "$HOME/.config/git" && echo "*.c ident" >"$HOME/.config/git/attributes" && refused ident && rm "$HOME/.config/git/attributes"
'
test_expect_success 'ident, by a macro' 'commits "[attr]marked ident
*.c marked" && refused ident'
test_expect_success 'ident, taken back' 'commits "*.c ident
k/mm.c -ident" && judged'
test_expect_success 'ident without a keyword' 'commits "*.c ident" .gitattributes ../plain.c && judged'
test_expect_success 'ident of another file' 'commits "*.h ident" && judged'
test_expect_success 'export-subst' 'commits "*.c export-subst" && refused export-subst'
test_expect_success 'export-subst without a keyword' 'commits "*.c export-subst" .gitattributes ../plain.c && judged'
test_expect_success 'a filter' '
	git config --global filter.shout.smudge "tr a-z A-Z" && git config --global filter.shout.clean cat &&
	commits "*.c filter=shout" .gitattributes ../plain.c && refused "filter=shout"
'
test_expect_success 'a filter that nobody has defined may be defined elsewhere' '
	commits "*.c filter=whisper" .gitattributes ../plain.c && (cd repo && exits 125 git klineage gate --quick 2>../err) && says "filter=whisper" err
'
test_expect_success 'an encoding' '
	commits "# none" .gitattributes ../plain.c && echo "*.c working-tree-encoding=UTF-16" >repo/.gitattributes &&
	git -C repo add .gitattributes && git -C repo commit -q -m encoding &&
	git -C repo cat-file blob HEAD:k/mm.c | cmp -s - plain.c && refused "working-tree-encoding=UTF-16"
'
test_expect_success 'UTF-8 is what the blob has' 'commits "*.c working-tree-encoding=UTF-8" .gitattributes ../plain.c && judged'
test_expect_success 'eol=crlf' 'commits "*.c text eol=crlf" && refused "eol=crlf"'
test_expect_success 'eol=lf' 'commits "*.c text eol=lf" && judged'
test_expect_success 'text' 'commits "*.c text" && judged'
test_expect_success 'text=auto' 'commits "* text=auto" && judged'

# with <key> <value> <command...>: with that configuration, also of the clone
with () {
	key=$1
	git config --global "$1" "$2" && shift 2 && "$@"
	code=$?
	git config --global --unset "$key"
	return $code
}
test_expect_success 'core.autocrlf' 'commits "# none" && with core.autocrlf true refused text && with core.autocrlf input judged'
test_expect_success 'core.autocrlf, switched off for the file' 'commits "* -text" && with core.autocrlf true judged'
test_expect_success 'core.eol' 'commits "* text=auto" && with core.eol crlf refused text && with core.eol lf judged'
test_expect_success 'the older attribute crlf' '
	commits "*.c crlf" && with core.eol crlf refused text && commits "* -crlf" && with core.autocrlf true judged &&
	commits "* crlf=input" && with core.autocrlf true judged
'

test_expect_success 'the worktree: what a commit of it would change' '
	commits "*.c text" && sed "s/\$/\r/" plain.c >repo/k/mm.c && (cd repo && exits 125 git klineage gate --quick --worktree 2>../err) &&
	says "the attribute text" err && commits "*.c -text" .gitattributes && sed "s/\$/\r/" plain.c >repo/k/mm.c &&
	(cd repo && git klineage gate --quick --worktree) && commits "*.c ident" && (cd repo && exits 125 git klineage gate --quick --worktree 2>../err) &&
	says "the attribute ident" err
'
test_expect_success 'the oracle and the contract' '
	commits "oracle.c filter=x" k/.gitattributes && (cd repo && exits 125 git klineage gate --quick 2>../err) && says "k/oracle.c" err &&
	commits "klineage.yaml text eol=crlf" k/.gitattributes && (cd repo && exits 125 git klineage gate --quick 2>../err) && says "k/klineage.yaml" err
'
test_expect_success 'a bare repository' '
	commits "*.c ident" && git clone -q --bare repo bare && (cd bare && exits 125 git klineage gate --quick 2>../err) && says "the attribute ident" err
'
test_expect_success '--since names the file' '
	(cd repo && exits 125 git klineage gate --quick --since HEAD~1 HEAD 2>../err || exits 0 true) && commits "# none" &&
	commits "*.c ident" .gitattributes ../plain.c && { cat ids.c && echo "/* changed */"; } >changed.c && commits "*.c ident" .gitattributes ../changed.c &&
	(cd repo && exits 125 git klineage gate --quick --since HEAD~1 2>../err) && says "the attribute ident" err
'
test_expect_success 'a walk does not start' '(cd repo && exits 125 git klineage deopt 2>../err) && says "the attribute ident" err'

test_done
