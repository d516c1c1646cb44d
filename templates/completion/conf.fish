# SPDX-License-Identifier: Apache-2.0
# Let fish complete "git klineage": in fish 3.6.0 its own forwarding to git-klineage does not find the command. Installed
# in vendor_conf.d as git-klineage.fish; the completion itself is loaded on demand.
function __git_klineage_forward --description 'complete git-klineage in place of git klineage'
    set -l words (commandline -opc)
    set -l at (contains -i -- klineage $words)
    and complete -C "git-klineage "(string join ' ' -- $words[(math $at + 1)..-1] '')(commandline -ct)
end

complete -c git -f -n '__fish_git_using_command klineage' -a '(__git_klineage_forward)'
complete -c git -f -n __fish_git_needs_command -a klineage -d 'Learn when a kernel optimization is sound'
