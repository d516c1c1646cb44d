/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * In place of <iostream> for host code of cuda surfaces: the same streams, without the static object whose
 * constructor would run at load. The worker starts the streams; what is written goes nowhere.
 */
#include <istream>
#include <ostream>

namespace std {
extern istream cin;
extern ostream cout, cerr, clog;
}
