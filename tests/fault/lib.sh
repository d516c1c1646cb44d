# SPDX-License-Identifier: Apache-2.0
# lib.sh - what every sweep of fault points begins with: `. "$(dirname "$0")/lib.sh"` by a script whose arguments are a fault build
# and a stride. An empty home, a fixed identity, the fault build first in the path; $top is a directory that goes at the end,
# $top/out and $top/err are the last command's words.
set -u
build=$(cd "$1" && pwd) || exit 1
stride=${2:-1}
materials=$(cd "$(dirname "$0")/../t" && pwd)
PATH=$build:$PATH
top=$(mktemp -d "${TMPDIR:-/tmp}/klineage-sweep-XXXXXX")
trap 'rm -rf "$top"' EXIT INT TERM
HOME=$top GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$top LC_ALL=C
GIT_AUTHOR_NAME='A U Thor' GIT_AUTHOR_EMAIL=author@example.invalid
GIT_COMMITTER_NAME='C O Mitter' GIT_COMMITTER_EMAIL=committer@example.invalid
export PATH HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES LC_ALL
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unset KLINEAGE_FAULT KLINEAGE_FAULT_LOG GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

die () {
	echo "sweep: $*" >&2
	echo "sweep: the repository was $(pwd)" >&2
	cat "$top/out" "$top/err" >&2
	exit 1
}

# point <n> <log>: its name
point () { sed -n "$1s/^[0-9]* *//p" "$2"; }

# points_of <log> <at least>: how many there are
points_of () {
	n=$(wc -l <"$1")
	test "$n" -gt "$2" || die "only $n fault points: is this a FAULT=1 build?"
	echo "$n"
}

sound () {
	git fsck --strict --no-dangling >"$top/fsck" 2>&1 || { cat "$top/fsck" >&2; die "$1: git fsck"; }
}

no_locks () {
	locks=$(find .git -name '*.lock' -not -path '*/klineage/*')
	test -z "$locks" || die "$1: $locks"
}

# every reply that is stored was asked for once; only what came and was not stored yet is asked for again
bought () {
	case $1 in *"(chat-heard)"*|*"(chat-answered)"*|*"(chat-objects)"*|*"(ledger-"*|*"(txn-"*) lost=1 ;; *) lost=0 ;; esac
	stored=$(git for-each-ref --format='%(refname)' refs/klineage/chat | while read -r r; do git rev-list "$r"; done | wc -l)
	asked=$(wc -l <"$ANSWERS/log")
	test "$asked" -le $((stored + lost)) || die "$1: $asked requests for $stored replies"
}
