# SPDX-License-Identifier: Apache-2.0
# fish completion for git-klineage and "git klineage". Verbs and options come from the program itself.

function __git_klineage_words --description 'words after git-klineage that are not options'
    set -l words (commandline -opc)
    for w in $words[2..-1]
        string match -q -- '-*' $w; or echo $w
    end
end

function __git_klineage_at --description 'true if the next word is the n-th (from 0)'
    test (count (__git_klineage_words)) -eq $argv[1]
end

function __git_klineage_workloads
    git grep -h '^workload:' -- '*klineage.yaml' 2>/dev/null | string replace -r '^workload: *([^ #]*).*' '$1'
end

function __git_klineage_options --description 'options of the current verb, with their help'
    set -l verb (__git_klineage_words)[1]
    git klineage $verb -h 2>/dev/null | string replace -rf '^ *(?:-[a-z], )?(--[a-z-]+)(?: \S+)? +(\S.*)$' '$1\t$2'
end

function __git_klineage_choices --description 'a and b for an option that takes a|b'
    git klineage $argv[1] -h 2>/dev/null |
        string replace -rf '^.*[ [-]'$argv[2]' ([a-z0-9-]+\|[a-z0-9|-]+).*$' '$1' | head -n 1 | string split '|'
end

function __git_klineage_value --description 'values of the option before the cursor; false if they are unknown'
    set -l verb (__git_klineage_words)[1]
    set -l option (commandline -opc)[-1]
    switch $option
        case -w --workload
            __git_klineage_workloads
        case --jail
            printf '%s\n' bwrap landlock chroot none
        case --policy
            git klineage search --policies 2>/dev/null | string match -r '^[a-z].*'
        case --template
            git klineage init --list --porcelain 2>/dev/null | cut -f1
        case --card
            git klineage skills list --porcelain 2>/dev/null | cut -f1
        case -o --output --import
            __fish_complete_path (commandline -ct)
        case '--*'
            __git_klineage_choices $verb $option
        case '*'
            return 1
    end
end

function __git_klineage_steps --description 'the states of the longest lineage: K_0, K_1, ...'
    set -l most 0
    for ref in (git for-each-ref --format='%(refname)' refs/heads/klineage/lineage 2>/dev/null)
        set -l n (git rev-list --count --first-parent $ref 2>/dev/null)
        test "$n" -gt $most; and set most $n
    end
    test $most -eq 0; or seq -f 'K_%.0f' 0 (math $most - 1)
end

function __git_klineage_argument --description 'arguments of the current verb'
    set -l words (__git_klineage_words)
    if test (count $words) -eq 1
        set -l sub (git klineage $words[1] --git-completion-helper 2>/dev/null | string split ' ' |
            string match -r '^[a-z].*')
        if test -n "$sub"
            printf '%s\n' $sub
            return
        end
    end
    if test (count $words) -eq 1; and contains $words[1] show label
        __git_klineage_steps
        return
    end
    switch $words[1]
        case skills admit
            git klineage skills list --porcelain 2>/dev/null | cut -f1
        case gate review compare
            git for-each-ref --format='%(refname:short)' 2>/dev/null
        case deopt
            __git_klineage_workloads
        case log show label export report measure probe lift
            git for-each-ref --format='%(refname:lstrip=4)' refs/heads/klineage/lineage 2>/dev/null
        case sync
            git remote 2>/dev/null
        case help
            git klineage --git-completion-helper 2>/dev/null | string split ' '
            printf '%s\n' tutorial format
        case '*'
            __fish_complete_path (commandline -ct)
    end
end

function __git_klineage_rest
    set -l values (__git_klineage_value)
    and test -n "$values"
    and printf '%s\n' $values
    and return
    __git_klineage_options
    __git_klineage_argument
end

complete -c git-klineage -f
complete -c git-klineage -n '__git_klineage_at 0' -a "(git klineage help 2>/dev/null | string replace -rf '^    ([a-z]+) +(.*)\$' '\$1\t\$2')"
complete -c git-klineage -n 'not __git_klineage_at 0' -a '(__git_klineage_rest)'
