# SPDX-License-Identifier: Apache-2.0
# bash completion for git-klineage, through git's own. Verbs and options come from the program itself. git's completion
# loads this file as "git-klineage" from a directory of bash-completion.

# __git_klineage_ask [<verb>]: print the words that may follow, from the program
__git_klineage_ask ()
{
	git klineage "$@" --git-completion-helper 2>/dev/null
}

# __git_klineage_choices <verb> <option>: print "a b" for an option that takes a|b
__git_klineage_choices ()
{
	git klineage "$1" -h 2>/dev/null |
		sed -n "s/^.*[ [-]$2 \([a-z0-9-]*|[a-z0-9|-]*\).*/\1/p" | head -n 1 | tr '|' ' '
}

__git_klineage_workloads ()
{
	__git grep -h '^workload:' -- '*klineage.yaml' 2>/dev/null | sed 's/^workload: *//; s/ *#.*//'
}

__git_klineage_lineages ()
{
	__git for-each-ref --format='%(refname:lstrip=4)' refs/heads/klineage/lineage
}

__git_klineage_cards ()
{
	git klineage skills list --porcelain 2>/dev/null | cut -f1
}

# the states of the longest lineage: K_0, K_1, ...
__git_klineage_steps ()
{
	local ref n most=0

	for ref in $(__git for-each-ref --format='%(refname)' refs/heads/klineage/lineage); do
		n=$(__git rev-list --count --first-parent "$ref")
		[ "$n" -gt "$most" ] && most=$n
	done
	[ "$most" -eq 0 ] || seq -f 'K_%.0f' 0 $((most - 1))
}

# complete the value of an option; return 1 if its values are unknown
__git_klineage_value ()
{
	local choices

	case $2 in
	-w|--workload) __gitcomp_nl "$(__git_klineage_workloads)" ;;
	--expert|--root) __git_complete_refs ;;
	--card) __gitcomp_nl "$(__git_klineage_cards)" ;;
	--jail) __gitcomp "bwrap landlock chroot none" ;;
	--platform) __gitcomp "x86-64-v1 x86-64-v2 x86-64-v3 x86-64-v4" ;;
	--runner) __gitcomp "local bundle ssh:" ;;
	--policy) __gitcomp_nl "$(git klineage search --policies 2>/dev/null | grep '^[a-z]')" ;;
	--rewriter) __gitcomp "history passes patches: stepwise" ;;
	--template) __gitcomp_nl "$(git klineage init --list --porcelain 2>/dev/null | cut -f1)" ;;
	-o|--output|--import|--commands|--contract|--source) return 0 ;;
	-*)
		choices=$(__git_klineage_choices "$1" "$2")
		[ -n "$choices" ] || return 1
		__gitcomp "$choices"
		;;
	*) return 1 ;;
	esac
}

# complete an argument, the first one of its verb or a later one
__git_klineage_argument ()
{
	local words

	if [ "$2" = first ]; then
		words=$(__git_klineage_ask "$1" | tr ' ' '\n' | grep '^[a-z]')
		if [ -n "$words" ]; then
			__gitcomp_nl "$words"
			return
		fi
	fi
	case $1,$2 in
	show,first|label,first) __gitcomp_nl "$(__git_klineage_steps)"; return ;;
	esac
	case $1 in
	gate|review|compare) __git_complete_refs ;;
	skills|admit) __gitcomp_nl "$(__git_klineage_cards)" ;;
	deopt) __gitcomp_nl "$(__git_klineage_workloads)" ;;
	log|show|label|export|report|measure|probe|lift) __gitcomp_nl "$(__git_klineage_lineages)" ;;
	sync) __gitcomp_nl "$(__git_remotes)" ;;
	help) __gitcomp "$(__git_klineage_ask) tutorial format" ;;
	esac
}

_git_klineage ()
{
	local i verb= first=first

	i=$((${__git_cmd_idx:-1} + 1))
	[ "${words[0]##*/}" = git-klineage ] && i=1
	for (( ; i < cword; i++ )); do
		case ${words[i]} in
		-*) ;;
		*)
			[ -n "$verb" ] && first=later
			verb=${verb:-${words[i]}}
			;;
		esac
	done
	if [ -z "$verb" ]; then
		__gitcomp "$(__git_klineage_ask)"
		return
	fi
	case $cur in
	--*=*)
		cur=${cur#*=} __git_klineage_value "$verb" "${cur%%=*}"
		return
		;;
	--*)
		__gitcomp_builtin "klineage_$verb"
		return
		;;
	esac
	__git_klineage_value "$verb" "$prev" || __git_klineage_argument "$verb" "$first"
}

# complete "git-klineage" itself, if git's completion is loaded
if declare -F __git_complete >/dev/null; then
	__git_complete git-klineage _git_klineage
fi
