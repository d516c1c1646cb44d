#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/installcheck.sh <bin directory> <man directory> - does an installed git-klineage work: every verb and its page, a
# template, the gate, hooks, completion. Sources and build directory are not looked at.
set -eu
bin=$(cd "$1" && pwd)
man=$(cd "$2" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/klineage-installed-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
HOME=$work/home
mkdir "$HOME"
PATH=$bin:$PATH
GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$work LC_ALL=C
GIT_AUTHOR_NAME=check GIT_AUTHOR_EMAIL=check@klineage.invalid
GIT_COMMITTER_NAME=check GIT_COMMITTER_EMAIL=check@klineage.invalid
export HOME PATH GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES LC_ALL
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE KLINEAGE_SHARE
cd "$work"

# is <what> <command...>: its end, said
is () {
	what=$1
	shift
	if "$@" >out 2>&1; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		cat out
		exit 1
	fi
}

page () { test -s "$man/man1/$1.1" || test -s "$man/man1/$1.1.gz"; }
git_finds_it () { test "$(git --exec-path)" && git klineage version && test "$(command -v git-klineage)" = "$bin/git-klineage"; }
verbs_and_pages () {
	for v in $(git klineage --git-completion-helper); do
		git klineage "$v" -h && page "git-klineage-$v" || return 1
	done
	page git-klineage && page klineage-worker
}
manual_without_man () { mkdir -p none && for p in git cat; do ln -sf "$(command -v $p)" none/; done && PATH=$bin:$work/none git klineage help gate; }
from_template () { git klineage init --template c-topk topk && git -C topk log -1; }
gate () { (cd topk && git klineage gate --quick --no-note); }
hooks () {
	(
		cd topk && git klineage hooks install && echo '/* a comment */' >>topk.c && git commit -q -a -m comment &&
		git notes --ref=klineage/gate show HEAD && git klineage hooks uninstall
	)
}
shipped_cards () { git init -q cards && (cd cards && git klineage skills import --shipped && git klineage fsck); }
completion () {
	share=$(dirname "$man") && test -s "$share/bash-completion/completions/git-klineage" &&
		test -s "$share/zsh/site-functions/_git-klineage" && test -s "$share/fish/vendor_completions.d/git-klineage.fish"
}

is 'git finds it' git_finds_it
is 'every verb answers and has a page' verbs_and_pages
is 'the manual can be read without man' manual_without_man
is 'a template becomes a repository' from_template
is 'the shipped cards come in' shipped_cards
is 'the gate judges' gate
is 'hooks are installed, called and taken away' hooks
is 'completion is in place' completion
