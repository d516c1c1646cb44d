# SPDX-License-Identifier: Apache-2.0
# lib.sh - sourced by tests/t/0610-cuda-cheats.sh and tests/device/cheats.sh: the kernels of this directory as
# revisions of a repository. Line 2 of each says what the gate must answer ("fail hang", or "fail fault|wrong-edge"
# where either will do), line 3 on which contract, and whether that is decided without a GPU.
# A kernel has the launch plan beside it, or else the contract's.

# cheat_names <dir>: "refused/zeros" ...
cheat_names () {
	for kernel in "$1"/refused/*.cu "$1"/accepted/*.cu
	do
		test -e "$kernel" || continue
		set_name=${kernel#"$1"/}
		echo "${set_name%.cu}"
	done
}

# cheat_wants <dir> <name>
cheat_wants () {
	sed -n '2s|^/\* gate: \(.*\) \*/$|\1|p' "$1/$2.cu"
}

# cheat_contract <dir> <name>
cheat_contract () {
	sed -n '3s|^/\* on \([a-z]*\).*\*/$|\1|p' "$1/$2.cu"
}

# cheat_is_decided_here <dir> <name>
cheat_is_decided_here () {
	sed -n 3p "$1/$2.cu" | grep -q 'decided here'
}

# cheat_lay_out <contract> <repo>: its files. Where another directory has the oracle, `oracle.from` says which, from there
cheat_lay_out () {
	cp "$1"/* "$2/" || return 1
	test ! -e "$1/oracle.from" || {
		rm "$2/oracle.from" && cp "$1/$(cat "$1/oracle.from")"/oracle.* "$2/"
	}
}

# cheat_repo <dir> <repo>: a branch for each, without a common past, so that none is another's parent.
# KLINEAGE_CUTLASS: where CUTLASS's headers lie, which those of cuda-cutlass include
cheat_repo () {
	git init -q "$2" || return 1
	test -z "$KLINEAGE_CUTLASS" || git -C "$2" config klineage.cutlass.headers "$KLINEAGE_CUTLASS" || return 1
	for name in $(cheat_names "$1")
	do
		on=$(cheat_contract "$1" "$name")
		test -n "$on" && test -n "$(cheat_wants "$1" "$name")" || return 1
		git -C "$2" checkout -q --orphan "$name" || return 1
		git -C "$2" rm -rfq --ignore-unmatch . || return 1
		cheat_lay_out "$1/contracts/$on" "$2" && cp "$1/$name.cu" "$2/k.cu" || return 1
		test ! -e "$1/$name.yaml" || cp "$1/$name.yaml" "$2/launch.yaml" || return 1
		git -C "$2" add . && git -C "$2" commit -q -m "$name" || return 1
	done
}

# cheat_ok <wanted> <got>: "fail a|b" is "fail a" or "fail b"
cheat_ok () {
	case "|${1#* }|" in
	*"|${2#* }|"*) test "${1%% *}" = "${2%% *}" ;;
	*) return 1 ;;
	esac
}
