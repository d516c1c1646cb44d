#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/rejudge.sh [-n] [<lineage>...] - judge the shipped lineages anew, under the gate's present policy
#
# <lineage> is a directory below skills/lineages or skills/held-out; without one, all of them are judged. Each is imported
# into a scratch repository, and every commit of it is judged, with the profile, -n: without. A step must pass, and so must
# an attempt that was rejected because it changed nothing or was slower. Any other rejected attempt must fail; its class may
# differ from the recorded one, since inputs are drawn anew, and both are printed.
# Lineages of a GPU are skipped on a machine without one. The exit status is 1 if a verdict differs from the recorded one.
# KLINEAGE_BUILD is the build to use (build/).
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
: "${KLINEAGE_BUILD:=$top/build}"
profile=
test "${1-}" != -n || { profile=--no-profile; shift; }
test $# -gt 0 || set -- "$top"/skills/lineages/* "$top"/skills/held-out/*
work=$(mktemp -d "${TMPDIR:-/tmp}/klineage-rejudge-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
HOME=$work GIT_CONFIG_NOSYSTEM=1 GIT_CEILING_DIRECTORIES=$work PATH=$KLINEAGE_BUILD:$PATH
GIT_AUTHOR_NAME=rejudge GIT_AUTHOR_EMAIL=rejudge@klineage.invalid
GIT_COMMITTER_NAME=rejudge GIT_COMMITTER_EMAIL=rejudge@klineage.invalid
export HOME GIT_CONFIG_NOSYSTEM GIT_CEILING_DIRECTORIES PATH
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

judged=0 differ=0 skipped=0
# judge <lineage> <commit> <recorded verdict> <recorded class>
judge () {
	# shellcheck disable=SC2086
	git klineage gate --fresh --no-note -q $profile --porcelain "$2" >"$work/out" 2>"$work/err"
	verdict=$(cut -f3 "$work/out")
	class=$(cut -f4 "$work/out")
	judged=$((judged + 1))
	mark=
	if test "$verdict" != "$3"; then
		differ=$((differ + 1))
		mark=' differs'
	fi
	printf '%s %.10s: %s%s, now %s%s%s\n' "$1" "$2" "$3" "${4:+ ($4)}" "${verdict:-no verdict}" "${class:+ ($class)}" "$mark"
	test -z "$mark" || { cut -f15- "$work/out"; cat "$work/err"; } | sed 's/^/    /'
}

have_gpu () { nvidia-smi -L 2>/dev/null | grep -q GPU; }
for lineage; do
	lineage=$(cd "$lineage" && pwd) || exit 1
	name=${lineage#"$top"/skills/}
	case $(basename "$lineage") in cuda*)
		have_gpu || { echo "$name: skipped, since this machine has no GPU"; skipped=$((skipped + 1)); continue; } ;;
	esac
	rm -rf "$work/repo"
	git init -q "$work/repo" && cd "$work/repo" || exit 1
	if ! git klineage import "$lineage" >"$work/out" 2>&1; then
		cat "$work/out" >&2
		echo "$name: cannot import" >&2
		exit 1
	fi
	branch=$(git for-each-ref --format='%(refname)' refs/heads/klineage/lineage)
	git checkout -q --detach "$branch"
	for commit in $(git rev-list --reverse HEAD); do
		judge "$name" "$commit" pass ""
	done
	for commit in $(git for-each-ref --format='%(objectname)' refs/klineage/rejected); do
		git rev-list --reverse "$commit" --not HEAD
	done >"$work/rejected"
	while read -r commit; do
		class=$(git log -1 --format='%(trailers:key=Klineage-Class,valueonly)' "$commit" | tr -d '\n')
		case $class in no-change | slower) want=pass ;; *) want=fail ;; esac
		judge "$name" "$commit" $want "$class"
	done <"$work/rejected"
	cd "$top" || exit 1
done
echo "$judged commits judged anew, $differ with another verdict; $skipped lineages skipped"
test $judged -gt 0 && test $differ -eq 0
