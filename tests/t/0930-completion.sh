#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='completion in bash, zsh and fish offers what the program has'
. ./lib.sh

scripts=$KLINEAGE_TOP/templates/completion
gits=/usr/share/bash-completion/completions/git

test_expect_success 'a repository with things to name' '
	git init -q repo && (
		cd repo && mkdir a b && printf "workload: mm  # words\n" >a/klineage.yaml &&
		printf "workload: topk\n" >b/klineage.yaml && git add . && git commit -q -m first &&
		git update-ref refs/heads/klineage/lineage/mm/one HEAD && git branch side && git remote add origin ../up.git
	)
'

# --- what the program says -----------------------------------------------------

git klineage help | sed -n 's/^    \([a-z]*\) .*/\1/p' >verbs

test_expect_success 'the verbs are those of help' '
	git klineage --git-completion-helper | tr " " "\n" | sort >have && sort verbs >want && test_cmp want have
'

test_expect_success 'the options of each verb are those of -h, with and without a value; no repository is needed' '
	for v in $(cat verbs); do
		(cd / && git klineage $v -h) | sed -nE "s/^ +(-[a-z], )?(--[a-z-]+)( .*)?$/\2\3/p" |
			sed -E "s/^(--[a-z-]+) [^ ].*/\1=/; s/ .*//" | sort >want &&
		(cd / && git klineage $v --git-completion-helper) | sed "s/ -- .*//; s/ --\$//" | tr " " "\n" | grep "^--." | sort >have
		test_cmp want have || { echo "verb: $v" >&2; return 1; }
	done &&
	git klineage gate --git-completion-helper >out && says " -- " out && says "--no-json" out && ! grep -e --no-workload out
'

test_expect_success 'the words after a verb are those of its synopsis' '
	git klineage hooks --git-completion-helper | tr " " "\n" | grep "^[a-z]" >have &&
	printf "%s\n" install uninstall status run >want && test_cmp want have &&
	git klineage gate --git-completion-helper | tr " " "\n" >out && ! grep "^[a-z]" out
'

# every expectation: a line, then a word that must be offered, then one that must not
cat >wishes <<'X'
git klineage |gate|uninstall
git klineage g|gate|deopt
git klineage gate --st|--staged|--worktree
git klineage gate -w |mm|--staged
git klineage gate --workload t|topk|mm
git klineage gate --require |not-slower|mm
git klineage hooks |install|mm
git klineage hooks un|uninstall|install
git klineage log |mm/one|--nothing
git klineage sync |origin|mm
git klineage gate s|side|topk
git klineage review s|side|topk
git klineage review --format |markdown|mm
git klineage search --policy s|shinka|climb
git -C . klineage deopt |topk|mm/one
git klineage help f|fsck|gate
git klineage show |K_0|mm/one
git klineage show K_0 |mm/one|K_0
git klineage init --template |c-topk|template
git-klineage s|show|gate
X

test_expect_success 'a library, whose cards can be named' '
	(cd repo && git klineage skills import --shipped >/dev/null && git klineage skills list --porcelain | cut -f1) >cards &&
	printf "git klineage skills show |%s|mm\n" "$(head -n 1 cards)" >>wishes && printf "git klineage admit |%s|mm\n" "$(tail -n 1 cards)" >>wishes
'

# check <shell>: offered.<shell> <line> prints what is offered, a word a line
check () {
	while IFS='|' read -r line wanted other; do
		(cd repo && "offered_$1" "$line") >offered 2>offered.err
		if ! grep -qx -e "$wanted" offered || grep -qx -e "$other" offered; then
			echo "'$line' offers this, '$wanted' is to be there and '$other' not:" >&2
			cat offered offered.err >&2
			return 1
		fi
	done <wishes
}

# --- bash ----------------------------------------------------------------------------

command -v bash >/dev/null && test -r "$gits" && test_set_prereq BASH
cat >drive.bash <<'X'
# the words as bash-completion would give them
_get_comp_words_by_ref () {
	while [ $# -gt 0 ]; do
		case $1 in
		cur) cur=${COMP_WORDS[COMP_CWORD]} ;;
		prev) prev=${COMP_WORDS[COMP_CWORD-1]} ;;
		words) words=("${COMP_WORDS[@]}") ;;
		cword) cword=$COMP_CWORD ;;
		esac
		shift
	done
}
. "$1"
. "$2"
COMP_LINE=$3 COMP_POINT=${#3}
read -ra COMP_WORDS <<<"$3"
case $3 in *' ') COMP_WORDS+=("") ;; esac
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
case $3 in
git-*) __git_wrap_git_klineage ;;
*) __git_wrap__git_main ;;
esac
printf '%s\n' "${COMPREPLY[@]}" | sed 's/ *$//'
X
offered_bash () {
	bash ../drive.bash "$gits" "$scripts/git-klineage.bash" "$1"
}
test_expect_success BASH 'bash, through git s own completion' 'check bash'

# --- fish ----------------------------------------------------------------------------

command -v fish >/dev/null && test_set_prereq FISH
mkdir -p fish/completions fish/conf.d
cp "$scripts/git-klineage.fish" fish/completions/
cp "$scripts/conf.fish" fish/conf.d/git-klineage.fish
offered_fish () {
	XDG_CONFIG_HOME=$(cd .. && pwd) XDG_DATA_HOME=$HOME XDG_CACHE_HOME=$HOME fish -c "complete -C '$1'" | cut -f1
}
test_expect_success FISH 'fish' 'check fish'

# --- zsh -----------------------------------------------------------------------------

command -v zsh >/dev/null && zsh -f -c 'zmodload zsh/zpty' 2>/dev/null && test_set_prereq ZSH
cat >drive.zsh <<'X'
# a shell behind a terminal of ours, whose compadd says what it is given
zmodload zsh/zpty
export TERM=vt100
zpty z zsh -f -i
zpty -w z "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; bindkey '^I' complete-word"
zpty -w z "compadd () { local -a o; builtin compadd -O o \"\$@\"; print -rl -- \$o >>'$3'; builtin compadd \"\$@\" }"
zpty -w z "TRAPEXIT () { }; done-now () { print END >>'$3'; }; zle -N done-now; bindkey '^X' done-now"
zpty -w z "print RE''ADY"
zpty -r -m z line '*READY*'
zpty -w -n z "$2"$'\t\C-x'
for ((i = 0; i < 200; i++)); do
	grep -q '^END' "$3" 2>/dev/null && break
	sleep 0.05
done
zpty -d z
X
offered_zsh () {
	rm -f ../zsh.out && zsh -f ../drive.zsh "$scripts" "$1" "$(cd .. && pwd)/zsh.out" && cat ../zsh.out
}
test_expect_success ZSH 'zsh, as its own completion of git calls us' 'check zsh'

test_done
