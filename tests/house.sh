#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tests/house.sh [--rooms] [--commits <range>] [<directory>]...
#
# Measure trees of C files, one column a tree, so that before and after stand side by side. Of
# a directory with src/ that is measured, else the directory itself; '.' where none is given.
#
#   --rooms             print also each folder: how many of its headers others include
#   --commits <range>   measure also the commits of a range, in the repository of each tree;
#                       a subject is imperative if its first word after "area: " is in tests/verbs
#
# How it counts: a line of comment has nothing else on it. A function's lines go from its first
# word to its closing brace. Nesting counts if, loops and switch around a statement, a chain of
# else-if once. Tabs are 8 columns. Names of parameters, locals and members are those that
# universal-ctags finds in .c and .h. Needs perl and, for these, universal-ctags (make deps-dev).
command -v perl >/dev/null || { echo "house: perl is missing" >&2; exit 1; }
exec perl "$(dirname "$0")/house/measure.pl" "$@"
