#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/real/run.sh [<options>] <list> [<row>...] - judges kernels of other people's repositories as they lie there:
# for each row of the list (or each named one) clones the repository, has `adopt` or `init` write the contract, edits it
# as tests/real/contracts/<row> says, and runs the gate, a walk and the cards. Prints a table and shares of it.
# tests/real/README.md has the form of a list.
#
#   -o <directory>   keep clones, logs and results there; rows that have a result are not run again
#   -q               only the quick stages of the gate; no walk, no cards
#   -w               no walk, no cards
#   -s <steps>       end each walk after so many accepted steps (24)
#   -t <seconds>     limit of one command (600)
#
# Whoever runs this reaches the network (git clone); nothing of a repository is copied elsewhere. A clone can come
# from a local copy: git config url.<directory>.insteadOf https://github.com/
# Ends with 1 if a row could not be set up: no clone, no such commit, edits that miss.
set -u
here=$(cd "$(dirname "$0")" && pwd)
usage () {
	echo "usage: run.sh [-q | -w] [-o <directory>] [-s <steps>] [-t <seconds>] <list> [<row>...]" >&2
	exit 129
}
kept='' quick='' walks=yes steps=24 limit=600
while getopts o:qws:t: option; do
	case $option in
	o) kept=$OPTARG ;;
	q) quick=yes walks='' ;;
	w) walks='' ;;
	s) steps=$OPTARG ;;
	t) limit=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage
[ -r "$1" ] || { echo "run.sh: cannot read the list '$1'" >&2; exit 129; }
list=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
contracts=$(dirname "$list")/contracts
PATH=${KLINEAGE_BUILD:-$here/../../build}:$PATH
if [ "$kept" ]; then
	mkdir -p "$kept" && work=$(cd "$kept" && pwd) || exit 129
else
	work=$(mktemp -d "${TMPDIR:-/tmp}/klineage-real-XXXXXX")
	trap 'rm -rf "$work"' EXIT
fi
trap 'exit 130' INT TERM
export LC_ALL=C TZ=UTC PATH
export GIT_AUTHOR_NAME=real GIT_AUTHOR_EMAIL=real@klineage.invalid
export GIT_COMMITTER_NAME=real GIT_COMMITTER_EMAIL=real@klineage.invalid
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
mkdir -p "$work/rows" "$work/clones"

talk () { echo "real: $*" >&2; }
put () { printf '%s\t%s\n' "$1" "$2" >>"$row/result"; }

# timed <name> <command...>: run it within the limit; output, errors, seconds and status in files called <name>.*
timed () {
	timed_name=$1
	shift
	timed_from=$(date +%s%N)
	timeout -s INT "$limit" "$@" >"$row/$timed_name.out" 2>"$row/$timed_name.err"
	rc=$?
	echo "$timed_from $(date +%s%N)" | awk '{ printf "%.1f\n", ($2 - $1) / 1e9 }' >"$row/$timed_name.seconds"
	echo $rc >"$row/$timed_name.rc"
	put "$timed_name" "$(cat "$row/$timed_name.seconds")"
	return $rc
}

# reason <name>: what stood in the way, as the command said it
reason () {
	perl "$here/facts.pl" reason "$row/$1.err" "$row/$1.out"
}

# at_commit <repository> <commit>: clone into the row's directory, through one bare clone for all rows
at_commit () {
	bare=$work/clones/$(printf '%s' "$1" | tr -c 'A-Za-z0-9._-' +)
	case $1 in
	/* | *:*) from=$1 ;;
	*) from=$(dirname "$list")/$1 ;;
	esac
	[ -d "$bare" ] || git clone -q --bare "$from" "$bare" || return
	rm -rf "$row/repo"
	git clone -q --shared --no-checkout "$bare" "$row/repo" && git -C "$row/repo" checkout -q -b real "$2" --
}

# written <how>: have the contract written, or take the one of the row
written () {
	case $1 in
	adopt)
		# shellcheck disable=SC2046 # a line is an option
		timed adopt git klineage adopt --workload "$name" $(cat "$contracts/$name/options" 2>/dev/null) "$kernel" || return
		made=klineage/$name.klineage.yaml oracle=klineage/$name.oracle ;;
	init)
		timed adopt git klineage init --workload "$name" --entry "${kernel#*:}" "${kernel%%:*}" || return
		made=$(sed -n 's/^wrote \([^ ]*\.yaml\).*/\1/p' "$row/adopt.out")
		made=$(dirname "${kernel%%:*}")/$made
		oracle=${made%.yaml}
		[ "$(basename "$made")" = klineage.yaml ] && oracle=$(dirname "$made")/oracle || oracle=${oracle%.klineage}.oracle ;;
	given)
		mkdir -p klineage && cp -R "$contracts/$name/." klineage/ && return ;;
	*)
		talk "$name: the contract is from adopt, init or given, not '$1'"
		return 2 ;;
	esac
}

# edited: what a person fills in: edits of the contract and of the launch plans, and the oracle
edited () {
	for script in "$contracts/$name"/*.sed; do
		[ -e "$script" ] || continue
		case $(basename "$script") in
		contract.sed) file=$made ;;
		*) file=$(dirname "$made")/$(basename "$script" .sed).yaml ;;
		esac
		sed --sandbox -f "$script" "$file" >"$row/edited" && cp "$row/edited" "$file" || return
	done
	for file in "$contracts/$name"/oracle.c "$contracts/$name"/oracle.cu; do
		[ -e "$file" ] && cp "$file" "$oracle.${file##*.}"
	done
	for file in "$contracts/$name"/beside.*; do
		[ -e "$file" ] && cp "$file" "$(dirname "$made")/$(basename "$file" | sed 's/^beside\.//')"
	done
	grep -n "^[^#]*TODO" "$made" >"$row/todo" || return 0
	talk "$name: the edits leave $(wc -l <"$row/todo") places marked TODO in $made: $(head -n 1 "$row/todo")"
}

# judged <name> <option>...: the gate in the worktree
judged () {
	timed "$@" --worktree --workload "$name" --json
	perl "$here/facts.pl" gate "$timed_name" "$row/$timed_name.out" "$row/$timed_name.err" "$rc" >>"$row/result"
}

# learned <walk>: a walk through the history of the kernel, and the cards that act on it
learned () {
	git klineage skills import --shipped >/dev/null 2>&1
	if [ "$1" = walk ]; then
		timed walk git klineage deopt --rewriter history --steps "$steps" --json "$name"
		ended=walk
		[ $rc = 124 ] && ended=quit && timed quit git klineage deopt --quit
		git klineage log --json "$name" >"$row/log.out" 2>"$row/log.err"
		git klineage log --no-bars "$name" >"$row/log.text" 2>/dev/null
		perl "$here/facts.pl" steps "$row/log.out" >>"$row/result"
		[ -s "$row/log.out" ] || put walk-reason "$(reason $ended)"
	fi
	timed retrieve git klineage retrieve --status admitted,provisional,hypothesis --json "$name"
	timed cards git klineage materialize --status admitted,provisional,hypothesis --json "$name"
	perl "$here/facts.pl" tries "$row/cards.out" >>"$row/result"
}

# one <walk> <how> <repository> <commit> <needs>: a row, in its clone
one () {
	[ "$5" = - ] || [ -d "$contracts/$name" ] || {
		put reason "no contract yet"
		return 0
	}
	at_commit "$3" "$4" 2>"$row/clone.err" || {
		talk "$name: no clone of $3 at $4: $(tail -n 1 "$row/clone.err")"
		return 1
	}
	cd "$row/repo" || return
	git config klineage.progress false
	written "$2"
	case $? in
	0) ;;
	2) return 1 ;;
	*) put reason "$(reason adopt)"; return 0 ;;
	esac
	[ "$2" = given ] || edited || return
	git diff --quiet || put touched yes
	git ls-files --others --exclude-standard | git add --pathspec-from-file=- || return
	[ -s "$row/todo" ] && return 1
	judged quick git klineage gate --quick
	# a GPU elsewhere can judge what is compiled and audited here: klineage-worker on the bundle, gate --import
	if grep -q "no GPU here" "$row/quick.err"; then
		timed bundle git klineage gate --worktree --workload "$name" --runner bundle -o "$row/job.tar"
		[ -s "$row/job.tar" ] && put quick-verdict compiled && put reason ''
		return 0
	fi
	[ "$quick" ] && return 0
	grep -q '^quick-verdict	pass$' "$row/result" || return 0
	judged full git klineage gate
	[ "$walks" ] && grep -q '^full-verdict	pass$' "$row/result" || return 0
	git commit -q -m "$name: contract and oracle" && timed noted git klineage gate --workload "$name" && learned "$1"
}

failed=0
wanted=" $* "
grep -v '^[[:space:]]*\(#\|$\)' "$list" >"$work/list"
while read -r name repository commit kernel how walk needs <&3; do
	[ "$wanted" = "  " ] || case $wanted in *" $name "*) ;; *) continue ;; esac
	row=$work/rows/$name
	[ -e "$row/done" ] && continue
	rm -rf "$row" && mkdir -p "$row"
	put kernel "$kernel"
	put how "$how"
	put asked-walk "$walk"
	put needs "$needs"
	talk "$name"
	(one "$walk" "$how" "$repository" "$commit" "$needs") || failed=1
	touch "$row/done"
done 3<"$work/list"

while read -r name more; do
	[ -e "$work/rows/$name/done" ] && echo "$work/rows/$name"
done <"$work/list" | perl "$here/facts.pl" table
exit $failed
