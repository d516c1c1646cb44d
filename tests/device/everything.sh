#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/everything.sh - everything that needs a GPU in one command of less than ten minutes, in two steps:
#
#	everything.sh pack <dir>		here: git-klineage with its libraries, and bundles of the specimens
#	everything.sh run <dir> [<out>]		where the GPU is: builds klineage-worker, runs all, prints one table last
#
# <dir> lies in the checkout and travels with it (`/.device/` is ignored by git). <out> (default: <dir>/out) gets the full tables,
# results and logs; the table and an archive of all, logs.tgz, are copied to $OUT if that is set. `docs.sh everything logs.tgz`
# makes the tables of docs/cuda-cheats.md and docs/cuda-host.md of it. Exit 1: something is not as it must be.
# EVERYTHING_LIMIT: seconds in all (560); what does not fit is counted as not run.
# EVERYTHING_PARTS: which parts, in which order (default: "unit seconds cheats host aa").
# JANSSON: where libjansson lies (default: the packed one). Needs gcc, make, nvcc and git there.
# shellcheck disable=SC2015,SC2016,SC2086 # `a && b || die` is meant; make expands ORIGIN; lists hold no blanks
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
limit=${EVERYTHING_LIMIT:-560}
parts=${EVERYTHING_PARTS:-unit seconds cheats host aa}
start=$(date +%s)
bad=0 late=0

die () {
	echo "everything.sh: $*" >&2
	exit 2
}

# --- here -----------------------------------------------------------------------------------------

# A git-klineage that finds its libraries beside itself, and those libraries but for the C library's own.
pack_program () {
	rm -f "$top/build/git-klineage" && make -s -C "$top" LDFLAGS='-Wl,--disable-new-dtags,-rpath,\$$ORIGIN/../lib' \
		build/git-klineage &&
		mkdir -p "$1/bin" "$1/lib" && cp "$top/build/git-klineage" "$top/build/klineage-worker" "$1/bin/" || return 1
	rm "$top/build/git-klineage" && make -s -C "$top" build/git-klineage || return 1
	ldd "$1/bin/git-klineage" "$1/bin/klineage-worker" | awk '$2 == "=>" { print $3 }' | sort -u |
		grep -v '/lib\(c\|m\|dl\|pthread\|resolv\)\.so' | while read -r lib; do
		cp "$lib" "$1/lib/" || return 1
	done
	cp -R "$top/templates" "$top/skills" "$1/"
	# to build the worker there; the archive alone, so that the worker does not look for the library
	mkdir -p "$1/jansson/include" "$1/jansson/lib" && cp "$(pkg-config --variable=includedir jansson)"/jansson*.h "$1/jansson/include/" &&
		cp "$(pkg-config --variable=libdir jansson)/libjansson.a" "$1/jansson/lib/"
}

pack () {
	mkdir -p "$1" && dir=$(cd "$1" && pwd) || die "no directory '$1'"
	rm -rf "${dir:?}/bin" "${dir:?}/lib" "${dir:?}/templates" "${dir:?}/skills" "${dir:?}/jansson"
	pack_program "$dir" || die "git-klineage cannot be packed"
	sh "$here/cheats.sh" pack "$dir/cheats" || die "no specimens"
	CHEATS=$top/tests/cheats/cuda-host sh "$here/cheats.sh" pack "$dir/host" || die "no specimens with host code"
	sh "$here/aa.sh" pack "$dir/aa" cuda-topk cuda-gemm || die "no jobs for aa.sh"
	du -sh "$dir"
}

# --- where the GPU is ---------------------------------------------------------------------------------

left () {
	echo $((start + limit - $(date +%s)))
}

# row <what> <outcome> <seconds> <ok>: <ok> is yes, or - where nothing must be; all else is a failure
row () {
	case $4 in yes | -) judged=$4 ;; *) judged=NO bad=1 ;; esac
	printf '| %s | %s | %s | %s |\n' "$1" "$(echo "$2" | sed 's/|/\\|/g' | cut -c 1-300)" "$3" "$judged" >>"$table"
}

# row_of_stages <what> <stages>: there must be some
row_of_stages () {
	if test -n "$2"; then row "$1" "$2" "" yes; else row "$1" none "" NO; fi
}

# timed <most seconds> <file for its output> <command...>: sets rc and took
timed () {
	most=$1 file=$2
	shift 2
	test "$most" -le "$(left)" || most=$(left)
	from=$(date +%s.%N)
	rc=124
	: >"$file" && : >"$file.err"
	test "$most" -lt 5 || {
		timeout -k 10 "$most" "$@" >"$file" 2>"$file.err" </dev/null
		rc=$?
	}
	took=$(echo "$from $(date +%s.%N)" | awk '{ printf "%.1f", $2 - $1 }')
	echo "[$(($(date +%s) - start)) s] $* ($rc)" >&2
	test $rc -ne 124 || late=$((late + 1))
}

build () {
	JANSSON=${JANSSON:-$dir/jansson}
	export JANSSON
	timed 200 "$out/build" make -s -C "$top" -j"$(nproc)" worker
	if test $rc -eq 0; then
		row "build of klineage-worker" "built here" "$took" yes
	else
		row "build of klineage-worker" "$(tail -n 1 "$out/build.err"); the packed one is used" "$took" NO
		mkdir -p "$top/build" && cp "$dir/bin/klineage-worker" "$top/build/klineage-worker"
		LD_LIBRARY_PATH=$dir/lib
		export LD_LIBRARY_PATH
	fi
	cp "$top/build/klineage-worker" "$dir/bin/klineage-worker"
	PATH=$dir/bin:$PATH
	export PATH
}

unit () {
	timed 120 "$out/unit" sh "$here/run.sh" "$top/build"
	if test $rc -eq 0; then ok=yes; else ok=NO; fi
	row "unit: device programs" "exit code $rc; $(grep -c '^ok ' "$out/unit") as expected, $(grep -c '^BAD ' "$out/unit") not" \
		"$took" $ok
	grep '^BAD ' "$out/unit" | head -n 20 >"$out/unit.wrong"
	while read -r line; do
		row "unit" "$line" "" NO
	done <"$out/unit.wrong"
}

# What it costs to judge the last state of a template from a cold process, and each of several distinct ones.
seconds () {
	SECONDS_STATES="last many stages" timed 180 "$out/seconds.out" sh "$here/seconds.sh" "$out/seconds"
	cp "$out/seconds/log" "$out/seconds.log" 2>/dev/null || : >"$out/seconds.log"
	for name in gemm topk; do
		alone=$(sed -n "s/^\[[0-9]* s\] $name last: rc 0, \([0-9.]*\) s$/\1/p" "$out/seconds.log")
		many=$(sed -n "s/^\[[0-9]* s\] $name last s1 s2 s3: rc 0, \([0-9.]*\) s$/\1/p" "$out/seconds.log")
		inside=$(sed -n "s/^\[[0-9]* s\] $name stages: \(.*\)$/\1/p" "$out/seconds.log")
		each=$(echo "$many $alone" | awk 'NF == 2 { printf "%.2f", ($1 - $2) / 3 }')
		row "seconds: $name, cold" "${alone:-no pass} (at most 4)" "${alone:--}" \
			"$(echo "${alone:-99}" | awk '{ print $1 <= 4 ? "yes" : "NO" }')"
		row "seconds: $name, one of many states" "${each:-no pass} (at most 1.5)" "${many:--}" \
			"$(echo "${each:-99}" | awk '{ print $1 <= 1.5 ? "yes" : "NO" }')"
		row_of_stages "stages of $name in the worker" "$inside"
	done
}

# cheats <directory> <name> <most seconds> <kernels>: specimens by the worker, then a table; each that is not as it must be has a row
cheats () {
	timed "$3" "$out/$2.run" sh "$here/cheats.sh" run "$dir/$1" "$top/build/klineage-worker"
	ran="$took"
	if ! test -s "$dir/$1/results"; then
		row "specimens of $2" "no results, exit code $rc: $(tail -n 1 "$out/$2.run.err")" "$ran" NO
		return
	fi
	cp "$dir/$1/results" "$out/$2.results"
	timed 60 "$out/$2" env CHEATS="$4" sh "$here/cheats.sh" table "$dir/$1"
	wrong=$(grep -c '| NO |$' "$out/$2") right=$(grep -c '| yes |$' "$out/$2")
	if test "$wrong" -eq 0 && test "$right" -gt 0; then ok=yes; else ok=NO; fi
	row "specimens of $2" "$right as they must be, $wrong not" "$ran" $ok
	row_of_stages "$2: a job's stages" "$(sh "$here/stages.sh" "$dir/$1/results")"
	grep '| NO |$' "$out/$2" | head -n 30 >"$out/$2.wrong"
	while read -r line; do
		name=$(echo "$line" | cut -d '|' -f 2)
		row "$2:$name" "$(echo "$line" | cut -d '|' -f 3-5 | sed 's/ | /; /g')" "" NO
	done <"$out/$2.wrong"
	sed -n 's/.*"ms":\([0-9]*\),"result":{.*"message":"\(hang [^"]*\)".*/\1 \2/p' "$dir/$1/results" >"$out/$2.hangs"
	while read -r ms line; do
		row "$2: a hang was found" "$line" "$(echo "$ms" | awk '{ printf "%.1f", $1 / 1000 }')" -
	done <"$out/$2.hangs"
}

aa () {
	timed 130 "$out/aa.run" sh "$here/aa.sh" run "$dir/aa" "$top/build/klineage-worker" 10
	ran=$took
	for name in topk gemm; do
		test ! -e "$dir/aa/cuda-$name/results" || cp "$dir/aa/cuda-$name/results" "$out/aa.$name"
	done
	if ! perl -MJSON::PP -e1 2>/dev/null; then
		row "A/A" "not judged, because perl has no JSON::PP here: run aa.sh table on the results" "$ran" NO
		return
	fi
	timed 20 "$out/aa.table" sh "$here/aa.sh" table "$dir/aa"
	if test $rc -eq 0; then ok=yes; else ok=NO; fi
	sed -n '3,$s/^| \([^|]*\) | [^|]* | \(.*\) |$/\1,\2/p' "$out/aa.table" >"$out/aa.rows"
	while IFS=, read -r name words; do
		row "A/A: $name" "runs, fast, slow, same, ambiguous, half-width median and worst: $(echo "$words" | tr -d '|')" "$ran" $ok
	done <"$out/aa.rows"
	test -s "$out/aa.rows" || row "A/A" "no results" "$ran" NO
}

run () {
	dir=$(cd "$1" && pwd) || die "no directory '$1'"
	out=${2:-$dir/out}
	mkdir -p "$out" && out=$(cd "$out" && pwd) || die "no directory '$out'"
	table=$out/table
	HOME=$dir KLINEAGE_SHARE=$dir
	export HOME KLINEAGE_SHARE
	git config --global safe.directory '*' # the tree may be a copy that somebody else owns
	printf '| what | outcome | seconds | ok |\n| --- | --- | --- | --- |\n' >"$table"
	{
		date -u +%Y-%m-%d
		nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
		nvcc --version | grep release
	} >"$out/machine" 2>&1
	build
	for part in $parts; do
		case $part in
		unit) unit ;;
		seconds) seconds ;;
		cheats) cheats cheats cuda 270 "$top/tests/cheats/cuda" ;;
		host) cheats host cuda-host 60 "$top/tests/cheats/cuda-host" ;;
		aa) aa ;;
		*) die "no part '$part'" ;;
		esac
	done
	cat "$out/machine" "$table"
	echo "$(($(date +%s) - start)) s in all, $late parts not ended; logs in $out"
	tar czf "$out/logs.tgz" -C "$out" --exclude=logs.tgz --exclude=seconds . 2>/dev/null
	test -z "$OUT" || cp "$table" "$out/logs.tgz" "$OUT/"
	return $bad
}

what=$1
test -n "$2" || die "usage: everything.sh pack|run <dir> [<out>]"
shift
case $what in
pack) pack "$@" ;;
run) run "$@" ;;
*) die "usage: everything.sh pack|run <dir> [<out>]" ;;
esac
