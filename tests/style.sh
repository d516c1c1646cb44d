#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/style.sh [--format]
#
# Check arrows between rooms, libraries in their folders, forbidden calls, line lengths,
# the table of files, format, shell scripts, messages of commits. --format: format C files instead.
cd "$(dirname "$0")/.." || exit 1
rc=0

bad () {
	echo "$1" >&2
	rc=1
}

# what git tracks; of an unpacked source package, or a tree within another repository, all that is there
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
	tree=$(git ls-files -z | xargs -0 ls -d 2>/dev/null)
else
	echo "style: this is no git repository: files are found by their names" >&2
	tree=$(find . -type f ! -path './build*' ! -path '*/trash*' | sed 's,^\./,,')
fi

# files <regex>: paths of the tree
files () {
	printf '%s\n' "$tree" | grep -E "$1"
}

# lines <regex of files> <regex> [<option of grep>]...: file:number:text
lines () {
	where=$1
	what=$2
	shift 2
	files "$where" | xargs grep -nHE "$@" -e "$what"
}

# what the format holds for: kernels, recorded data and what "make ptx" writes keep their bytes
formatted () {
	files '^src/.*\.[ch]$|^tests/(unit|bench|fake|fuzz|device)/.*\.[ch]$' |
		grep -vE '^src/worker/gpu/ptx\.c$|^tests/fuzz/corpus/'
}
# releases of clang-format differ in what they write
for tool in clang-format-14 clang-format ''; do
	[ "$tool" ] && command -v $tool >/dev/null && $tool --version | grep -q 'version 14\.' && break
done
if [ -z "$tool" ]; then
	bad "style: no clang-format 14 here (make deps): the format cannot be checked"
elif [ "$1" = --format ]; then
	formatted | xargs "$tool" -i
	exit
else
	formatted | xargs "$tool" --dry-run -Werror || bad "^ not the format of .clang-format: make format"
fi

sources='^src/.*\.[ch]$'

# only <header regex> <file regex>
only () {
	lines "$sources" "^#[[:space:]]*include <($1)" | grep -vE "^src/($2)" && bad "^ <$1> belongs to src/$2 alone"
	:
}

# arrows between rooms, and headers that are a room's own: tests/rooms
files "$sources" | xargs grep -nHoE '^#[[:space:]]*include "[^"]+/[^"]+"' | awk '
	function allowed(room, wanted,   i, n, part) {
		if (room == wanted)
			return 1
		n = split(uses[room], part, " ")
		for (i = 1; i <= n; i++)
			if (part[i] != "-" && allowed(part[i], wanted))
				return 1
		return 0
	}
	NR == FNR {
		if (/^#/ || !NF)
			next
		room = $1
		line = $0
		sub(/^[^ ]+ +/, "", line)
		at = index(line, "  ")
		uses[room] = substr(line, 1, at - 1)
		sub(/^.*  +/, "", line)
		public[room] = " " line " "
		next
	}
	{
		split($0, part, ":")
		from = part[1]
		sub(/^src\//, "", from)
		sub(/\/[^\/]+$/, "", from)
		to = $0
		sub(/^[^"]*"/, "", to)
		sub(/"$/, "", to)
		header = to
		sub(/\/[^\/]+$/, "", to)
		sub(/.*\//, "", header)
		sub(/\.h$/, "", header)
		if (!(from in uses)) {
			print $0 ": the room " from " is not in tests/rooms"
			bad = 1
		} else if (!allowed(from, to)) {
			print $0 ": " from " may not use " to
			bad = 1
		} else if (from != to && public[to] !~ /\*/ && index(public[to], " " header " ") == 0) {
			print $0 ": " header ".h is private to " to
			bad = 1
		}
	}
	END { exit bad }' tests/rooms - >&2 || bad "^ arrows that tests/rooms does not allow"
find src -mindepth 1 -type d | sed 's,^src/,,' | while read -r room; do
	grep -qE "^$room +" tests/rooms || echo "src/$room: this room is not in tests/rooms"
done | grep . >&2 && bad "^ a room that tests/rooms does not have"
lines '^src/(worker|job|plan)/' '^#include "text/' | grep -v '"text/json.h"' &&
	bad "^ the worker may use text's JSON alone"
only 'git2' 'repo/'
only 'yaml\.h|openssl/' 'text/'
only 'jansson' 'text/json\.h'
only 'ffi\.h' 'worker/'
only 'curl/' 'model/provider/'
only 'seccomp\.h' 'jail/'
only 'libelf|gelf' 'backend/'
only 'oneapi|cblas' 'worker/'

# recorded data keep the bytes that were asked about
files '^src/.*\.[ch]$|^tests/.*\.c$' | grep -v '^tests/data/' | while read -r f; do
	head -n 1 "$f" | grep -q 'SPDX-License-Identifier' || echo "$f: no SPDX line"
done | grep . && bad "^ SPDX line missing"
lines '^src/.*\.c$' \
	'strcpy|strcat|strncpy|sprintf|vsprintf|gets|strtok|tmpnam|mktemp|gmtime|localtime|ctime|alloca|system' -w |
	grep -vE '^\S+:\s*(/\*|\*)|"[^"]*(system|strcpy|strcat|strncpy|sprintf|alloca|gmtime|strtok)[^"]*"|(->|\.)system\>|^[^:]*:[0-9]*:[[:space:]]*\*|/\*.*\*/' &&
	bad "^ a call that is not allowed here"
files "$sources" | xargs awk '
	{ line = $0; gsub(/\t/, "        ", line) }
	length(line) > 110 { printf "%s:%d: %d columns\n", FILENAME, FNR, length(line); n++ }
	END { exit n > 0 }' || bad "^ longer than 110 columns"
lines "$sources" '^[[:space:]]*//' && bad "^ C comments are /* */"
lines '^src/.*\.[ch]$|^Makefile$|^tests/.*\.sh$' '[[:space:]]+$' && bad "^ trailing white space"

# what each file is, and the table of it
tests/files.pl --check || rc=1

if command -v shellcheck >/dev/null; then
	files '\.sh$|^git-klineage$|^\.ci/run$|^hooks/|^tests/hooks/' |
		xargs shellcheck -e SC1091,SC2034,SC2016 -s sh || rc=1
else
	bad "style: no shellcheck here (make deps): scripts cannot be checked"
fi
tests/hooks/commit-msg --range || rc=1
exit $rc
