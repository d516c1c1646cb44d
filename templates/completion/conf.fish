# SPDX-License-Identifier: Apache-2.0
# Lets fish complete "git klineage": its own forwarding to git-klineage finds no such command in 3.6.0. Goes to
# vendor_conf.d as git-klineage.fish; the completion itself is loaded when it is asked for.
function __git_klineage_forward --description 'complete git-klineage in place of git klineage'
    set -l words (commandline -opc)
    set -l at (contains -i -- klineage $words)
    and complete -C "git-klineage "(string join ' ' -- $words[(math $at + 1)..-1] '')(commandline -ct)
end

complete -c git -f -n '__fish_git_using_command klineage' -a '(__git_klineage_forward)'
complete -c git -f -n __fish_git_needs_command -a klineage -d 'Learn when a kernel optimization is sound'
