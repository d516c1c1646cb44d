#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage adopt: kernels in C++, as their projects build them'
. ./lib.sh

if ! g++ --version >/dev/null 2>&1; then
	say "SKIPPED: needs g++"
	test_done
fi
command -v cmake >/dev/null && test_set_prereq CMAKE

q="'"

# adopts <status> <file:function> [<option>...]: adopt a kernel of the project
adopts () {
	want=$1
	shift
	exits "$want" git -C p klineage adopt "$@" >out 2>err && return 0
	cat out err
	return 1
}

test_expect_success 'a project in C++ and C with a template, another namespace and a library of headers' '
	git init -q p && mkdir -p p/src p/lib p/include/ns &&
	cat >p/include/ns/k.hpp <<-\C && cat >p/src/k.cpp <<-\C2 && cat >p/lib/thrice.cc <<-\C3 &&
	#pragma once
	namespace ns {
	float thrice(float x);
	template <class T> T twice(T x) { return x + x; }
	extern template float twice<float>(float);
	template <class T> inline T times(T left, T right) { return left * right; }
	}
	C
	#include <algorithm>
	#include <cstdio>
	#include <vector>
	#include "ns/k.hpp"
	namespace ns {
	template <class T, int N> void scale(const T *x, T *y, int n)
	{
		if (n < 0)
			std::fprintf(stderr, "bad\n");
		for (int i = 0; i < n; i++)
			y[i] = x[i] > 2 ? thrice(x[i]) : x[i] < -2 ? twice(x[i]) : times(std::max(x[i], T(-100)), T(N));
	}
	void show(const float *x) { std::printf("%f\n", *x); }
	void tail(const float *x, float *y, int n)
	{
		std::vector<float> t(x, x + n);
		y[0] = t[n - 1];
	}
	static void hidden(float *y, int n) { y[0] = n; }
	}
	extern "C" void plain(const float *x, float *y, int n) { ns::scale<float, 1>(x, y, n); float t; ns::hidden(&t, n); }
	C2
	#include "ns/k.hpp"
	extern "C" float half(float);
	float ns::thrice(float x) { return 6 * half(x); }
	template float ns::twice<float>(float);
	C3
	echo "float half(float x) { return x / 2; }" >p/lib/half.c &&
	printf "#include \"ns/k.hpp\"\ntemplate float ns::twice<float>(float);\n" >p/lib/again.cc &&
	echo "int other(void) { return 1; } /* half */" >p/lib/other.c &&
	cat >p/Makefile <<-\MAKE && git -C p add . && git -C p commit -q -m project
	.RECIPEPREFIX = >
	CXXFLAGS = -O3 -std=c++1z -fno-rtti -frtti -Iinclude -stdlib=libc++ -march=native
	all: src/k.o lib/thrice.o lib/half.o lib/again.o
	MAKE
'

test_expect_success 'an instance of a template, with the units in both languages that it needs' '
	adopts 0 "src/k.cpp:scale<float, 3>" && says "lib/thrice.cc (defines ${q}ns::thrice$q)" out &&
	says "lib/half.c (defines ${q}half$q)" out && says "-frtti: a kernel has no run-time type information" out &&
	says "-stdlib=libc++: a kernel is compiled with the headers of libstdc++" out && ! grep "^  note" out &&
	contract=p/klineage/scale.klineage.yaml && says "language: c++" $contract && says "entry: ns::scale<float, 3>" $contract &&
	says "flags: [-O3, -std=c++17, -fno-rtti]" $contract && says "traps: [stderr, fwrite]" $contract &&
	says "sources: [include/ns/k.hpp, lib/half.c, lib/thrice.cc, src/k.cpp]" $contract
'

test_expect_success 'the gate judges it' '
	sed -e "s/{n: TODO}/{n: 1000}/" -e "s/\[TODO\]/[n]/" p/klineage/scale.klineage.yaml >new && mv new p/klineage/scale.klineage.yaml &&
	cat >p/klineage/scale.oracle.c <<-\C &&
	#include "kl_oracle.h"
	void oracle(const kl_real *x, kl_real *y, int n)
	{
		for (int i = 0; i < n; i++)
			y[i] = x[i] < -2 ? 2 * x[i] : 3 * x[i];
	}
	C
	git -C p add . && (cd p && exits 0 git klineage gate --no-profile --worktree --workload scale >../out) && says "scale: pass" out
'

test_expect_success 'what kernels cannot have is said with advice, and named as in the source' '
	adopts 0 src/k.cpp:ns::tail && says "the kernel needs operator new: let the contract pass the memory, or call malloc" out &&
	says "the gate refuses the kernel as it is" out && ! grep _Zn out && rm p/klineage/tail.* &&
	sed "s/^float ns::thrice.*//" p/lib/thrice.cc >new && cp new p/lib/thrice.cc &&
	adopts 0 src/k.cpp:plain && says "the kernel needs ${q}ns::thrice$q, which no source in the repository defines" out &&
	says "entry: plain" p/klineage/plain.klineage.yaml && rm p/klineage/plain.* && git -C p checkout -q lib
'

test_expect_success 'a function that cannot be adopted' '
	adopts 128 src/k.cpp:scale && says "${q}scale$q is a template" err && says "name an instance" err &&
	adopts 128 "src/k.cpp:scale<Missing, 3>" && says "${q}Missing$q" err && says "no source defines the entry" err &&
	adopts 128 src/k.cpp:hidden && says "hidden" err && says "static" err &&
	adopts 128 src/k.cpp:none && says "defines no function ${q}none$q" err && ! grep -e --entry err &&
	adopts 128 src/k.cpp && says "scale, show, tail" err && adopts 128 include/ns/k.hpp:times && says "write a source that includes it" err &&
	adopts 128 lib/half.c:half --source lib/thrice.cc && says "is not a source in C, as the kernel${q}s file is" err
'

test_expect_success CMAKE 'a project with CMake, and the files that can be adopted' '
	cat >p/CMakeLists.txt <<-\CMAKE && git -C p add CMakeLists.txt && git -C p rm -q --cached Makefile && rm p/Makefile &&
	cmake_minimum_required(VERSION 3.10)
	project(p CXX C)
	set(CMAKE_CXX_STANDARD 20)
	file(WRITE ${CMAKE_BINARY_DIR}/gen/factor.hpp "#define FACTOR 2\n")
	add_library(k src/k.cpp lib/thrice.cc lib/half.c)
	target_include_directories(k PRIVATE include ${CMAKE_BINARY_DIR}/gen)
	CMAKE
	sed "s/#include <vector>/&\n#include <factor.hpp>/" p/src/k.cpp >new && mv new p/src/k.cpp && git -C p commit -q -a -m cmake &&
	adopts 0 && says "cmake compiles 3 files in C or C++" out && says "  lib/half.c" out && says "  src/k.cpp" out &&
	adopts 0 "src/k.cpp:scale<double, 2>" --workload scale-double && says "klineage/scale-double.generated/factor.hpp (from cmake)" out &&
	says "flags: [-O3, -std=gnu++20]" out && says "dtype: f64" p/klineage/scale-double.klineage.yaml && ! grep "^  note" out
'

test_done
