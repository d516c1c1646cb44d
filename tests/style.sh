#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/style.sh [--format]
#
# Check the rules of docs/CONTRIBUTING.md: includes between rooms, third-party libraries, forbidden
# calls, line lengths, the table of files, the format of C files, shell scripts and commit messages.
# With --format, format the C files instead. Exit 1 if a check failed.
cd "$(dirname "$0")/.." || exit 1
rc=0

bad () {
	echo "$1" >&2
	rc=1
}

# the files to check: those that git tracks; without a repository of our own (an unpacked source
# package, a tree inside another repository) every file
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
	tree=$(git ls-files -z | xargs -0 ls -d 2>/dev/null)
else
	echo "style: not a git repository: checking every file" >&2
	tree=$(find . -type f ! -path './build*' ! -path '*/trash*' | sed 's,^\./,,')
fi

# files <regex>: print the paths to check that match
files () {
	printf '%s\n' "$tree" | grep -E "$1"
}

# lines <regex of paths> <regex> [<grep option>]...: print matching lines as file:number:text
lines () {
	where=$1
	what=$2
	shift 2
	files "$where" | xargs grep -nHE "$@" -e "$what"
}

# print the C files to format; kernels, recorded data and the output of "make ptx" are left alone
formatted () {
	files '^src/.*\.[ch]$|^tests/(unit|bench|fake|fuzz|device)/.*\.[ch]$' |
		grep -vE '^src/worker/gpu/ptx\.c$|^tests/fuzz/corpus/'
}
# the output differs between releases of clang-format, so only one is accepted
for tool in clang-format-14 clang-format ''; do
	[ "$tool" ] && command -v $tool >/dev/null && $tool --version | grep -q 'version 14\.' && break
done
if [ -z "$tool" ]; then
	bad "style: clang-format 14 is not installed (make deps): cannot check the format"
elif [ "$1" = --format ]; then
	formatted | xargs "$tool" -i
	exit
else
	formatted | xargs "$tool" --dry-run -Werror || bad "^ not formatted; run: make format"
fi

sources='^src/.*\.[ch]$'

# only <header regex> <path regex>: only files below src/<path> include the header
only () {
	lines "$sources" "^#[[:space:]]*include <($1)" | grep -vE "^src/($2)" && bad "^ only src/$2 may include <$1>"
	:
}

# includes between rooms, by the table in tests/rooms: the room may be used, the header is public
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
			print $0 ": room " from " is missing in tests/rooms"
			bad = 1
		} else if (!allowed(from, to)) {
			print $0 ": " from " may not use " to
			bad = 1
		} else if (from != to && public[to] !~ /\*/ && index(public[to], " " header " ") == 0) {
			print $0 ": " header ".h is private to " to
			bad = 1
		}
	}
	END { exit bad }' tests/rooms - >&2 || bad "^ includes that tests/rooms does not allow"
find src -mindepth 1 -type d | sed 's,^src/,,' | while read -r room; do
	grep -qE "^$room +" tests/rooms || echo "src/$room: room is missing in tests/rooms"
done | grep . >&2 && bad "^ add the room to tests/rooms"
lines '^src/(worker|job)/' '^#include "text/' | grep -v '"text/json.h"' &&
	bad "^ worker and job may include only text/json.h of text/"
lines '^src/plan/' '^#include "text/' | grep -vE '"text/(json|name|schema|yaml|yaml_json|yaml_write)\.h"' &&
	bad "^ plan may include only what the worker gets of text/ (WORKER_TEXT in the Makefile)"
only 'git2' 'repo/'
only 'yaml\.h|openssl/' 'text/'
only 'jansson' 'text/json\.h'
only 'ffi\.h' 'worker/'
only 'curl/' 'model/provider/'
only 'seccomp\.h' 'jail/'
only 'libelf|gelf' 'backend/'
only 'Zydis' 'backend/'
only 'oneapi|cblas' 'worker/'
lines '^src/search/policy/' '<(math|time|sys/time)\.h>|base/(clock|environment|fs|proc)\.h|kl_rng_(fresh|os_seed|normal|seed)\>' &&
	bad "^ a policy depends on its observations and its draws alone (src/search/policy/policy.h)"

# every source has a licence line; recorded data must keep its bytes
files '^src/.*\.[ch]$|^tests/.*\.c$' | grep -v '^tests/data/' | while read -r f; do
	head -n 1 "$f" | grep -q 'SPDX-License-Identifier' || echo "$f: no SPDX line"
done | grep . && bad "^ SPDX line missing"
lines '^src/.*\.c$' \
	'strcpy|strcat|strncpy|sprintf|vsprintf|gets|strtok|tmpnam|mktemp|gmtime|localtime|ctime|alloca|system' -w |
	grep -vE '^\S+:\s*(/\*|\*)|"[^"]*(system|strcpy|strcat|strncpy|sprintf|alloca|gmtime|strtok)[^"]*"|(->|\.)system\>|^[^:]*:[0-9]*:[[:space:]]*\*|/\*.*\*/' &&
	bad "^ forbidden function call"
files "$sources" | xargs awk '
	{ line = $0; gsub(/\t/, "        ", line) }
	length(line) > 110 { printf "%s:%d: %d columns\n", FILENAME, FNR, length(line); n++ }
	END { exit n > 0 }' || bad "^ longer than 110 columns"
lines "$sources" '^[[:space:]]*//' && bad "^ use /* */ for comments"
lines '^src/.*\.[ch]$|^Makefile$|^tests/.*\.sh$' '[[:space:]]+$' && bad "^ trailing whitespace"

# the purpose of each file, and the table of them
tests/files.pl --check || rc=1

if command -v shellcheck >/dev/null; then
	files '\.sh$|^git-klineage$|^\.ci/run$|^hooks/|^tests/hooks/' |
		xargs shellcheck -e SC1091,SC2034,SC2016 -s sh || rc=1
else
	bad "style: shellcheck is not installed (make deps): cannot check scripts"
fi
tests/hooks/commit-msg --range || rc=1
exit $rc
