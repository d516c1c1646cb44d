#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tests/house.sh [--rooms] [--commits <range>] [<directory>]...
#
# Measure trees of C files and print one column per tree, to compare a tree before and after a
# change. In a directory with src/, only src/ is measured. The default directory is '.'.
#
#   --rooms             also print for each folder how many of its headers other folders include
#   --commits <range>   also measure the commits of a range in the repository of each tree;
#                       a subject is imperative if its first word after "area: " is in tests/verbs
#
# A comment line has nothing but a comment. The lines of a function are counted from its first word
# to its closing brace. The nesting of a statement is the number of ifs, loops and switches around
# it; a chain of else-if counts once. A tab has 8 columns. The names of parameters, locals and
# members are found by universal-ctags (make deps-dev); everything else needs only perl.
command -v perl >/dev/null || { echo "house: perl is not installed" >&2; exit 1; }
exec perl "$(dirname "$0")/house/measure.pl" "$@"
