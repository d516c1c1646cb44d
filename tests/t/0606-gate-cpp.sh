#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage on kernels in C++: names, templates, the standard library, what is refused'
. ./lib.sh

if ! g++ --version >/dev/null 2>&1; then
	say "SKIPPED: needs g++"
	test_done
fi

q="'"
git init -q scale && cd scale || exit 1

# passes: the working tree passes
passes () {
	git klineage gate --worktree --no-profile >../out 2>&1 && says "scale: pass" ../out && return 0
	cat ../out
	return 1
}

# refused <class> <text>: the gate refuses the working tree
refused () {
	exits 1 git klineage gate --worktree --no-profile --json >../out 2>../err && says "\"class\":\"$1\"" ../out && says "$2" ../err
}

# entry <name>: set the contract's entry
entry () {
	sed "s/^  entry: .*/  entry: \"$1\"/" klineage.yaml >new && mv new klineage.yaml
}

# kernel <sed program>: change the kernel
kernel () {
	sed "$1" scale.cpp >new && mv new scale.cpp
}

test_expect_success 'a contract comes from an instance of a template' '
	mkdir lib && cat >lib/times.hpp <<-\EOF &&
	#pragma once
	#include "times.inl"
	EOF
	cat >lib/times.inl <<-\EOF &&
	namespace lib {
	template <class T> constexpr T times(T left, T right) { return left * right; }
	}
	EOF
	cat >scale.cpp <<-\EOF &&
	#include <algorithm>
	#include <array>
	#include <cmath>
	#include <cstdint>
	#include <limits>
	#include <numeric>
	#include <type_traits>
	#include "lib/times.hpp"
	#ifdef TEXT
	static_assert(sizeof(TEXT) == 4, "a value with quotes");
	#endif
	namespace ns {
	namespace { constexpr std::array<float, 4> table{1, 2, 3, 4}; }
	template <typename T, int N>
	void scale(const T *__restrict x, T *__restrict y, std::int32_t n)
	{
		std::transform(x, x + n, y, [](T v) { return lib::times(std::max(v, T(-100)), T(N)) * table[0]; });
	}
	inline void other(const float *x, float *y, int n) { scale<float, 3>(x, y, n); }
	void pick(const float *x, float *y, int n) { other(x, y, n); }
	void pick(const double *x, double *y, int n) { scale<double, 3>(x, y, n); }
	}
	extern "C" void plain(const float *x, float *y, int n) { ns::scale<float, 3>(x, y, n); }
	EOF
	exits 128 git klineage init scale.cpp 2>../err && says "scale, other, pick, pick, plain" ../err &&
	git klineage init --entry "scale<float, 3>" scale.cpp >../out &&
	says "language: c++" klineage.yaml && says "entry: ns::scale<float, 3>" klineage.yaml &&
	says "{name: x, kind: in, dtype: f32" klineage.yaml && says "{name: n, kind: dim, dtype: i32" klineage.yaml &&
	says "void oracle(const kl_real *x, kl_real *y, int32_t n)" oracle.c &&
	sed "s/name: y, kind: TODO/name: y, kind: out/; s/dims: {n: TODO}/dims: {n: 4096}/; s/shape: \[TODO\]/shape: [n]/; s/sources: \[scale.*/sources: [scale.cpp, lib\/times.hpp, lib\/times.inl]/; s/^  flags.*/  flags: [-O2, -std=c++17]/; /^#/d" klineage.yaml >new &&
	mv new klineage.yaml && sed "s|/. KL_ORACLE_TODO.*|for (int i = 0; i < n; i++) y[i] = 3 * (x[i] < -100 ? -100 : x[i]);|" oracle.c >new &&
	mv new oracle.c && git add . && git commit -q -m scale && git klineage gate --no-profile >../out && says "scale: pass" ../out && says "loop.depth.1" ../out
'

test_expect_success 'a header gets a file that includes it' '
	mkdir ../head && (
		cd ../head && git init -q . && sed -n "/^namespace/,/^}/p" ../scale/lib/times.inl >times.hpp &&
		cat >>times.hpp <<-\EOF &&
		namespace lib { inline void run(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = times(x[i], 3.0f); } }
		EOF
		git klineage init --entry run times.hpp >out && says "wrote times.cpp, which includes times.hpp" out &&
		says "sources: [times.cpp, times.hpp]" klineage.yaml && says "entry: lib::run" klineage.yaml &&
		says "#include \"times.hpp\"" times.cpp && sed "s/{n: TODO}/{n: 512}/; s/\[TODO\]/[n]/" klineage.yaml >new && mv new klineage.yaml &&
		sed "s|/. KL_ORACLE_TODO.*|for (int i = 0; i < n; i++) y[i] = 3 * x[i];|" oracle.c >new && mv new oracle.c &&
		git add . && git klineage gate --worktree --no-profile >out && says "run: pass" out &&
		rm -f klineage.yaml oracle.c && exits 128 git klineage init --entry run times.hpp 2>err && says "times.cpp" err
	)
'

test_expect_success 'an instance, an inline function, an overload and extern "C" are entries' '
	for name in "ns::scale<float, 3>(const float *, float *, int)" ns::other "ns::pick(const float *, float *, int)" plain; do
		entry "$name" && passes || return 1
	done && sed "s/language: c++/language: cpp/; s/c++17/c++20/" klineage.yaml >new && mv new klineage.yaml && passes &&
	git checkout -q .
'

test_expect_success 'units in C and C++ go together, and instances that both have are one' '
	cat >helper.cc <<-\EOF && cat >more.c <<-\EOF2 &&
	#include "lib/times.hpp"
	template float lib::times<float>(float, float);
	extern "C" float twice(float);
	float thrice(float x) { return lib::times(twice(x), 1.5f); }
	EOF
	float twice(float x) { return 2 * x; }
	EOF2
	kernel "s/^namespace ns {/float thrice(float);\n&/; s/table\[0\]; });/table[0]; }); for (int i = 0; i < n; i++) y[i] = thrice(y[i]) \/ 3;/" &&
	sed "s/^  sources: \[/&helper.cc, more.c, /" klineage.yaml >new && mv new klineage.yaml && passes && git checkout -q . && rm helper.cc more.c
'

test_expect_success 'a macro may have quotes, in the key for it' '
	sed "s/^  flags: .*/&\n  define: [$q TEXT=\"abc\"$q]/; s/ TEXT/TEXT/" klineage.yaml >new && cp new klineage.yaml && passes &&
	sed "s/^  flags: .*/  flags: [$q-DTEXT=\"abc\"$q]/" klineage.yaml >new && cp new klineage.yaml &&
	exits 128 git klineage gate --worktree 2>../err && says "use the key ${q}define$q" ../err && git checkout -q .
'

test_expect_success 'an entry that is not there, or does not fit, is said' '
	entry "ns::scal<float, 3>" && refused compile "no source defines the entry ${q}ns::scal<float, 3>$q" &&
	says "${q}ns::scale<typename T, int N>$q" ../err &&
	entry ns::pick && refused compile "no source defines the entry ${q}ns::pick$q" &&
	entry "ns::scale<float, 3>" && kernel "s/std::int32_t n)/const std::int32_t \&n)/" &&
	refused compile "a parameter is a reference: the gate passes pointers and values" && git checkout -q . &&
	kernel "s/std::int32_t n)/std::int32_t n, int more = 0)/" && refused compile "the contract passes 3 arguments" && git checkout -q . &&
	kernel "s/^void scale/static void scale/" && refused compile "is only declared, static or in an unnamed namespace" && git checkout -q . &&
	for name in "a<1>;" "a b" main _x "x{}"; do
		entry "$name" && exits 128 git klineage gate --worktree 2>../err && says "entry" ../err || return 1
	done && git checkout -q .
'

test_expect_success 'what the contract names is what is judged' '
	for line in "#define ns evil" "#define scale pick" "#define float double" "#define constexpr"; do
		echo "$line" >>scale.cpp && refused compile "is a macro at the end of the file" && git checkout -q . || return 1
	done
'

# with <sed program> <text>: the changed kernel is class compile, with the text
with () {
	kernel "$1" && refused compile "$2" && git checkout -q .
}

test_expect_success 'what an image does not have is named, with what to do' '
	with "s/#include <array>/&\n#include <vector>/; s/^{$/{ std::vector<float> v(n); for (int i = 0; i < n; i++) v[i] = 1; n = n * v[n \/ 2];/" \
		"operator new" && says "let the contract pass the memory, or call malloc" ../err &&
	with "s/#include <array>/&\n#include <iostream>/" "a variable that code initializes at load" &&
	with "s/^{$/{ if (n < 0) throw 1;/" "kernels have no exceptions" &&
	with "s/^{$/{ n = table.at(n);/" "a function of libstdc++, which is not linked" && says "std::__throw_out_of_range_fmt" ../err &&
	with "s/#include <array>/&\n#include <typeinfo>/; s/^{$/{ n += sizeof(typeid(T).name());/" "kernels have no run-time type information"
'

test_expect_success 'a kernel in C++ looks for no other file of the machine' '
	kernel "s/#include <array>/&\n#if __has_include(<tbb\/tbb.h>)\n#endif/" && refused cheat "tbb/tbb.h" && git checkout -q . &&
	kernel "s/#include <array>/&\nconst char *where() { return __FILE__; }/" && refused cheat "depends on where or when it is compiled" && git checkout -q .
'

test_expect_success 'flags are those of C++' '
	for flag in -std=c11 -frtti -fexceptions -std=c++26; do
		sed "s/^  flags: .*/  flags: [$flag]/" klineage.yaml >new && cp new klineage.yaml &&
		exits 128 git klineage gate --worktree 2>../err && says "flag ${q}$flag$q is not allowed" ../err || return 1
	done && git checkout -q .
'

test_expect_success 'a verdict is a note that git shows' '
	kernel "s/^std::transform.*/\tfor (int i = 0; i < n; i++)\n\t\ty[i] = T(N) * std::max(x[i], T(-100));/" && git commit -q -a -m "plain loop" &&
	git klineage gate --no-profile >../out && says "scale: pass" ../out && git notes --ref=klineage/gate list | grep . >/dev/null
'

test_done
