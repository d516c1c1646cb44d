#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage adopt: a kernel as its project builds it'
. ./lib.sh

command -v cmake >/dev/null && test_set_prereq CMAKE
command -v meson >/dev/null && test_set_prereq MESON

# project <dir>: a kernel with a header directory, a file that it needs, an included file and an error path
project () {
	git init -q "$1" && mkdir -p "$1/src" "$1/include/api" "$1/lib" &&
	cat >"$1/include/api/k.h" <<-\C &&
	void pack(int n, const float *x, float *t);
	void gemv(int n, int m, const float *restrict a, const float *x, float *y);
	C
	cat >"$1/src/k.c" <<-\C &&
	#include <stdio.h>
	#include <stdlib.h>
	#include <api/k.h>
	#include "body.c"
	static void report(const char *what) { fprintf(stderr, "%s\n", what); exit(1); }
	void gemv(int n, int m, const float *restrict a, const float *x, float *y)
	{
		float *t = malloc(m * sizeof(*t));
		if (!t)
			report("no memory");
		pack(m, x, t);
		for (int i = 0; i < n; i++)
			y[i] = dot(m, a + i * m, t);
		free(t);
	}
	void show(const float *x) { printf("%f\n", *x); }
	C
	cat >"$1/src/body.c" <<-\C &&
	static float dot(int n, const float *a, const float *x)
	{
		float s = 0;
		for (int i = 0; i < n; i++)
			s += a[i] * x[i];
		return s * SCALE;
	}
	C
	cat >"$1/lib/pack.c" <<-\C &&
	#include <api/k.h>
	void pack(int n, const float *x, float *t) { for (int i = 0; i < n; i++) t[i] = x[i]; }
	C
	echo "int other(void) { return 1; } /* pack */" >"$1/lib/other.c" &&
	echo "#include <api/k.h>" >"$1/main.c" && echo "int main(void) { return 0; }" >>"$1/main.c"
}

# filled <dir>: fill in what adopt leaves to a person
filled () {
	sed -e "s/dims: {n: TODO, m: TODO}/dims: {n: 64, m: 96}/" -e "/name: a,/s/TODO/n, m/" -e "/name: x,/s/TODO/m/" \
		-e "/name: y,/s/TODO/n/" "$1"/klineage/gemv.klineage.yaml >new.yaml && mv new.yaml "$1"/klineage/gemv.klineage.yaml &&
	cat >"$1"/klineage/gemv.oracle.c <<-\C
	#include "kl_oracle.h"
	void oracle(int n, int m, const kl_real *a, const kl_real *x, kl_real *y)
	{
		for (int i = 0; i < n; i++) {
			kl_real s = 0;
			for (int j = 0; j < m; j++)
				s += a[i * m + j] * x[j];
			y[i] = s * 2;
		}
	}
	C
}

test_expect_success 'a project with a Makefile and sub-makes' '
	project made &&
	cat >made/Makefile <<-\MAKE &&
	.RECIPEPREFIX = >
	CFLAGS = -O3 -Wall -Iinclude -DSCALE=2 -march=native -fopenmp
	app: src/k.o main.o
	>$(MAKE) -C lib CFLAGS="-O2 -I../include"
	>$(CC) -o $@ src/k.o main.o lib/pack.o
	%.o: %.c
	>@echo CC $<
	>@$(CC) $(CFLAGS) -c -o $@ $<
	MAKE
	cat >made/lib/Makefile <<-\MAKE &&
	all: pack.o other.o
	MAKE
	git -C made add . && git -C made commit -q -m project &&
	(cd made && exits 0 git klineage adopt >../out) &&
	says "make -n compiles 4 files in C or C++" out && says "  lib/pack.c" out &&
	(cd made/src && exits 0 git klineage adopt k.c:gemv >../../out) &&
	says "wrote klineage/gemv.klineage.yaml and klineage/gemv.oracle.c" out &&
	says "lib/pack.c (defines '"'pack'"')" out && says "-march=native: the platform sets the architecture" out &&
	says "-fopenmp: a kernel runs on one thread" out && says "unless you add '"'threads: <n>'"'" out &&
	says "-O2 of lib/pack.c: the kernel'"'"'s own file is compiled with other options" out && says "traps: [stderr, fprintf, exit]" out &&
	says "line 8: case: {op: gemv, dims: {n: TODO, m: TODO}}" out &&
	test "$(grep -c "       line" out)" = 4 &&
	says "git klineage gate --worktree --workload gemv" out
'

test_expect_success 'the contract names the build, and the gate judges it' '
	contract=made/klineage/gemv.klineage.yaml &&
	says "paths: repository" $contract && says "flags: [-O3]" $contract && says "include: [include]" $contract &&
	says "define: [SCALE=2]" $contract && says "units: [src/k.c, lib/pack.c]" $contract &&
	says "sources: [include/api/k.h, lib/pack.c, src/body.c, src/k.c]" $contract &&
	filled made && git -C made add klineage &&
	(cd made && exits 0 git klineage gate --no-profile --worktree --workload gemv >../out) && says "gemv: pass" out
'

test_expect_success 'nothing of the build was left in the repository' '
	git -C made status --porcelain --ignored | grep -v "^A  klineage/" >left || : &&
	test_must_be_empty left
'

test_expect_success 'an error path that a kernel reaches is a fault' '
	sed "s/if (!t)/if (!t || n == 64)/" made/src/k.c >k.c && mv k.c made/src/k.c &&
	(cd made && exits 1 git klineage gate --no-profile --worktree --workload gemv >../out) && says "gemv: fail fault" out &&
	git -C made checkout -q src/k.c
'

test_expect_success 'what is there is not overwritten' '
	cp made/klineage/gemv.klineage.yaml before &&
	(cd made && exits 128 git klineage adopt src/k.c:gemv 2>../err) && says "already exists; not overwriting it" err &&
	test_cmp before made/klineage/gemv.klineage.yaml &&
	(cd made && exits 0 git klineage adopt src/k.c:gemv --workload gemv-2 --contract judge/two.klineage.yaml >../out) &&
	says "workload: gemv-2" made/judge/two.klineage.yaml && test -f made/judge/gemv-2.oracle.c &&
	(cd made && exits 128 git klineage adopt src/k.c:gemv --contract judge/two.yaml 2>../err) &&
	says "it must be in the repository, and be named" err && rm -r made/judge
'

test_expect_success 'compile_commands.json is data: nothing of it is run' '
	project data && git -C data add . && git -C data commit -q -m project && mkdir data/build &&
	cat >data/build/compile_commands.json <<-JSON &&
	[{"directory": "$PWD/data/build", "file": "../src/k.c", "output": "a.o",
	  "command": "touch $PWD/ran; gcc \$(touch $PWD/ran) -I../include -DSCALE=2 -O2 -o a.o -c ../src/k.c"},
	 {"directory": "$PWD/data", "file": "src/k.c", "output": "b.o",
	  "arguments": ["gcc", "-Iinclude", "-DSCALE=4", "-DNAME=\"a b\"", "-Ofast", "-c", "src/k.c"]},
	 {"directory": "$PWD/data", "file": "lib/pack.c", "arguments": ["cc", "-Iinclude", "-c", "lib/pack.c"]},
	 {"directory": "$PWD/data", "file": 7}, "x"]
	JSON
	(cd data && exits 0 git klineage adopt src/k.c:gemv >../out) && test ! -e ran &&
	says "build/compile_commands.json (command 1 of 2 for this file; choose another with --index)" out &&
	says "only a shell can expand this" out && says "2 entries of build/compile_commands.json are not compile commands" out &&
	grep "^#values: " data/klineage/gemv.klineage.yaml && ! grep undefined out &&
	says "define: [SCALE=2]" data/klineage/gemv.klineage.yaml && rm -r data/klineage &&
	(cd data && exits 0 git klineage adopt src/k.c:gemv --index 2 >../out) &&
	says "define: [SCALE=4, \"NAME=\\\"a b\\\"\"]" data/klineage/gemv.klineage.yaml &&
	says "flags: [-Ofast]" data/klineage/gemv.klineage.yaml &&
	says "with -Ofast, the results for NaN, infinities and denormals are undefined" out &&
	grep "^values: {nan: undefined, inf: undefined, denormal: undefined}" data/klineage/gemv.klineage.yaml && rm -r data/klineage &&
	(cd data && exits 129 git klineage adopt src/k.c:gemv --index 3 2>../err) && says "the build has only 2 commands" err
'

test_expect_success 'a file that the build does not compile, a function that is not there' '
	(cd data && exits 128 git klineage adopt main.c:main 2>../err) && says "found no command that compiles" err &&
	says "build/compile_commands.json has no command that compiles '"'main.c'"' (commands read: 3)" err &&
	(cd data && exits 128 git klineage adopt src/k.c:nothing 2>../err) && says "defines no function '"'nothing'"'" err &&
	(cd data && exits 128 git klineage adopt src/k.c 2>../err) && says "name the function" err &&
	(cd data && exits 128 git klineage adopt src/none.c:f 2>../err) && says "there is no file" err &&
	for path in ../made/src/k.c ../src/k.c /src/k.c ../../../../../../../../../../../../src/k.c; do
		(cd data && exits 128 git klineage adopt $path:gemv 2>../err) &&
		says "'\''$path'\'' is outside of the repository" err || return 1
	done &&
	(cd data && exits 128 git klineage adopt src/k.c:gemv --contract ../k.klineage.yaml 2>../err) &&
	says "is outside of the repository" err
'

test_expect_success 'malformed and huge databases' '
	echo "[{" >bad.json && (cd data && exits 128 git klineage adopt src/k.c:gemv --commands ../bad.json 2>../err) &&
	says "bad.json" err &&
	echo "{}" >bad.json && (cd data && exits 128 git klineage adopt src/k.c:gemv --commands ../bad.json 2>../err) &&
	says "not a JSON list of commands" err &&
	truncate -s 300M bad.json && (cd data && exits 128 git klineage adopt src/k.c:gemv --commands ../bad.json 2>../err) &&
	rm bad.json && (cd data && exits 128 git klineage adopt src/k.c:gemv --commands ../bad.json 2>../err)
'

test_expect_success 'two definitions of one symbol: the person chooses' '
	cp data/lib/pack.c data/lib/other.c && git -C data add lib/other.c && rm data/build/compile_commands.json &&
	printf "[{\"directory\": \"%s\", \"file\": \"src/k.c\", \"arguments\": [\"gcc\", \"-Iinclude\", \"-DSCALE=2\", \"-c\", \"src/k.c\"]}]\n" \
		"$PWD/data" >commands.json &&
	(cd data && exits 128 git klineage adopt src/k.c:gemv --commands ../commands.json 2>../err) &&
	says "two files define '"'pack'"', which the kernel needs: '"'lib/other.c'"' and '"'lib/pack.c'"'" err &&
	(cd data && exits 0 git klineage adopt src/k.c:gemv --commands ../commands.json --source lib/other.c >../out) &&
	says "units: [src/k.c, lib/other.c]" data/klineage/gemv.klineage.yaml && rm -r data/klineage &&
	git -C data reset -q --hard
'

test_expect_success 'a generated header that is missing is named, one that is there is copied' '
	sed "s/#include <stdio.h>/#include <stdio.h>\n#include \"config.h\"\n#include <gen\/more.h>/" data/src/k.c >k.c && mv k.c data/src/k.c &&
	echo build >data/.gitignore && git -C data add . && git -C data commit -q -m config &&
	sed "s/-Iinclude/-Iinclude\", \"-Ibuild/" commands.json >c.json &&
	(cd data && exits 128 git klineage adopt src/k.c:gemv --commands ../c.json 2>../err) &&
	says "config.h" err && (cd data && exits 128 git klineage adopt src/k.c:gemv --commands ../commands.json 2>../err) &&
	says "the kernel includes files that no include directory of the build has: config.h, gen/more.h" err && says "if the build generates them" err &&
	mkdir data/build/gen && echo "#define HAVE_X 1" >data/build/config.h && : >data/build/gen/more.h &&
	(cd data && exits 0 git klineage adopt src/k.c:gemv --commands ../c.json >../out) &&
	says "klineage/gemv.generated/config.h (from build/config.h)" out &&
	says "include: [include, klineage/gemv.generated, build]" data/klineage/gemv.klineage.yaml &&
	test_cmp data/build/config.h data/klineage/gemv.generated/config.h &&
	filled data && git -C data add klineage && git -C data commit -q -m adopt && git clone -q data clone &&
	(cd clone && exits 0 git klineage gate --no-profile --workload gemv >../out) && says "gemv: pass" out
'

test_expect_success 'a kernel cannot have files of the user copied' '
	git init -q thief && mkdir thief/src elsewhere && echo "token" >elsewhere/secret && echo "int x;" >elsewhere/x.h &&
	printf "#ifdef __PIE__\n#include \"%s\"\n#endif\nvoid f(int *x) { *x = 1; }\n" "$PWD/elsewhere/secret" >thief/src/a.c &&
	printf "#ifdef __PIE__\n#include \"%s\"\n#endif\nvoid f(int *x) { *x = 1; }\n" "$PWD/thief/.git/config" >thief/src/b.c &&
	printf "#ifdef __PIE__\n#include \"%s\"\n#endif\nvoid f(int *x) { *x = 1; }\n" "$PWD/thief/link/secret" >thief/src/c.c &&
	printf "#include <x.h>\nvoid f(int *x) { *x = 1; }\n" >thief/src/d.c &&
	ln -s ../elsewhere thief/link && echo "link/*" >thief/.gitignore &&
	printf "[{\"directory\": \"%s\", \"file\": \"src/d.c\", \"arguments\": [\"gcc\", \"-I$PWD/elsewhere\", \"-c\", \"src/d.c\"]}]\n" \
		"$PWD/thief" >thief/compile_commands.json &&
	git -C thief add . && git -C thief commit -q -m thief &&
	for file in "a.c:$PWD/elsewhere/secret" "b.c:$PWD/thief/.git/config" "c.c:$PWD/thief/link/secret"; do
		(cd thief && exits 128 git klineage adopt "src/${file%%:*}" --build none 2>../err) &&
		says "the kernel includes '"'"'${file#*:}'"'"', which is neither in the repository nor in the build" err || return 1
	done &&
	(cd thief && exits 128 git klineage adopt src/d.c 2>../err) &&
	says "the kernel includes files that no include directory of the build has: x.h" err && says "left out, because they are outside of the repository: $PWD/elsewhere" err &&
	test ! -e thief/klineage
'

test_expect_success 'nothing is written through a symlink' '
	mkdir target && ln -s ../target thief/klineage && mkdir thief/deep && ln -s ../../target thief/deep/link &&
	echo "void g(int *x) { *x = 1; }" >thief/src/g.c && git -C thief add . && git -C thief commit -q -m links &&
	(cd thief && exits 128 git klineage adopt src/g.c --build none 2>../err) &&
	says "cannot write '"'klineage/g.klineage.yaml': the path contains a symbolic link"'" err &&
	(cd thief && exits 128 git klineage adopt src/g.c --build none --contract deep/link/new/klineage.yaml 2>../err) &&
	says "the path contains a symbolic link" err && test -z "$(ls target)" &&
	(cd thief && exits 128 git klineage adopt src/g.c --build none --contract src/g.c/klineage.yaml 2>../err) &&
	says "or uses a file as a directory" err &&
	(cd thief && exits 0 git klineage adopt src/g.c --build none --contract deep/new/klineage.yaml) &&
	test -f thief/deep/new/klineage.yaml && rm thief/klineage
'

test_expect_success 'headers of a build directory that --commands names are copied' '
	mkdir -p elsewhere/gen && echo "#define ONE 1" >elsewhere/gen/x.h && sed "s|/elsewhere|/elsewhere/gen\", \"-I/etc|" \
		thief/compile_commands.json >elsewhere/compile_commands.json &&
	(cd thief && exits 0 git klineage adopt src/d.c --commands ../elsewhere/compile_commands.json >../out) &&
	says "klineage/f.generated/x.h (from $PWD/elsewhere/gen/x.h)" out && says "the include directory /etc: outside" out &&
	test_cmp elsewhere/gen/x.h thief/klineage/f.generated/x.h && rm -r thief/klineage
'

test_expect_success CMAKE 'a project with CMake, whose build is made elsewhere' '
	project configured &&
	cat >configured/CMakeLists.txt <<-\CMAKE &&
	cmake_minimum_required(VERSION 3.10)
	project(p C)
	set(SCALE 2)
	file(WRITE ${CMAKE_BINARY_DIR}/gen/scale.h "#define SCALE 2\n")
	add_library(k src/k.c lib/pack.c)
	target_include_directories(k PRIVATE include ${CMAKE_BINARY_DIR}/gen)
	target_compile_options(k PRIVATE -include scale.h -ffast-math)
	CMAKE
	git -C configured add . && git -C configured commit -q -m project &&
	(cd configured && exits 0 git klineage adopt src/k.c:gemv >../out) && says "  build      cmake" out &&
	says "klineage/gemv.generated/scale.h (from cmake)" out &&
	says "preinclude: [klineage/gemv.generated/scale.h]" configured/klineage/gemv.klineage.yaml &&
	says "flags: [-O3, -ffast-math]" configured/klineage/gemv.klineage.yaml &&
	git -C configured status --porcelain >left && test "$(cat left)" = "?? klineage/" &&
	filled configured && git -C configured add . &&
	(cd configured && exits 0 git klineage gate --no-profile --worktree --workload gemv >../out) && says "gemv: pass" out
'

test_expect_success CMAKE 'a build that writes beside its sources gets a copy of them' '
	project writing &&
	cat >writing/CMakeLists.txt <<-\CMAKE &&
	cmake_minimum_required(VERSION 3.10)
	project(p C)
	file(WRITE ${CMAKE_SOURCE_DIR}/include/made.h "#define SCALE 2\n")
	file(RENAME ${CMAKE_SOURCE_DIR}/main.c ${CMAKE_SOURCE_DIR}/main.c.old)
	add_library(k src/k.c lib/pack.c)
	target_include_directories(k PRIVATE include)
	target_compile_definitions(k PRIVATE SCALE=2)
	CMAKE
	git -C writing add . && git -C writing commit -q -m project &&
	(cd writing && exits 0 git klineage adopt src/k.c:gemv >../out) && says "include: [include]" out &&
	git -C writing status --porcelain >left && test "$(cat left)" = "?? klineage/" && test -f writing/main.c
'

test_expect_success CMAKE 'a build that wants the network is refused, with what to do' '
	project remote &&
	cat >remote/CMakeLists.txt <<-\CMAKE &&
	cmake_minimum_required(VERSION 3.14)
	project(p C)
	include(FetchContent)
	FetchContent_Declare(dep GIT_REPOSITORY https://example.invalid/dep.git GIT_TAG v1)
	FetchContent_MakeAvailable(dep)
	add_library(k src/k.c)
	CMAKE
	git -C remote add . && git -C remote commit -q -m project &&
	(cd remote && exits 125 git klineage adopt src/k.c:gemv 2>../err) &&
	says "it needs the network, which the compile jail does not have" err && says "--commands <compile_commands.json>" err
'

test_expect_success 'a build that fails for another reason than the network' '
	git init -q network && mkdir network/network && printf "all:\n\tgcc -c b.c\n" >network/Makefile &&
	echo "void f(int *x) { *x = 1; }" >network/network/k.c && git -C network add . && git -C network commit -q -m project &&
	(cd network && exits 128 git klineage adopt network/k.c 2>../err) && says "has no command that compiles '"'network/k.c'"'" err
'

test_expect_success MESON 'a project with Meson' '
	project mesoned &&
	cat >mesoned/meson.build <<-\MESON &&
	project('"'p', 'c'"')
	add_project_arguments('"'-DSCALE=2', language: 'c'"')
	library('"'k', 'src/k.c', 'lib/pack.c'"', include_directories: include_directories('"'include'"'))
	MESON
	git -C mesoned add . && git -C mesoned commit -q -m project &&
	(cd mesoned && exits 0 git klineage adopt src/k.c:gemv >../out) && says "  build      meson" out &&
	filled mesoned && git -C mesoned add . &&
	(cd mesoned && exits 0 git klineage gate --no-profile --worktree --workload gemv >../out) && says "gemv: pass" out
'

test_expect_success 'without a build the file is taken alone only when asked for' '
	git init -q alone && printf "void axpy(int n, float a, const float *x, float *y)\r\n{\r\n\tfor (int i = 0; i < n; i++)\r\n\t\ty[i] += a * x[i];\r\n}\r\n" >alone/axpy.c &&
	git -C alone add . && git -C alone commit -q -m axpy &&
	(cd alone && exits 128 git klineage adopt axpy.c 2>../err) && says "there is no build here" err && says "--build none" err &&
	(cd alone && exits 0 git klineage adopt axpy.c --build none >../out) && says "no build" out &&
	says "sources: [axpy.c]" alone/klineage/axpy.klineage.yaml && says "flags: [-O2]" alone/klineage/axpy.klineage.yaml
'

test_expect_success 'a file whose name a contract cannot have' '
	git init -q quoted && echo "void f(int *x) { *x = 1; }" >"quoted/it'\''s.c" && git -C quoted add . && git -C quoted commit -q -m quoted &&
	(cd quoted && exits 128 git klineage adopt "it'\''s.c" --build none 2>../err) &&
	says "a contract cannot have the path" err &&
	mkdir "quoted/in c" quoted/-inc && echo "void g(int *x) { *x = 1; }" >quoted/g.c && git -C quoted add g.c &&
	git -C quoted commit -q -m g && for dir in "in c" -inc; do
		printf "g.o: g.c\n\t\$(CC) -I \"%s\" -c g.c\n" "$dir" >quoted/Makefile &&
		(cd quoted && exits 128 git klineage adopt g.c 2>../err) &&
		says "a contract cannot have the path '\''$dir'\''" err || return 1
	done && rm quoted/Makefile &&
	(cd quoted && exits 128 git klineage adopt g.c --build none --contract "a b/klineage.yaml" 2>../err) &&
	says "a contract cannot have the path '\''a b/g.oracle.c'\''" err && test ! -e "quoted/a b"
'

test_expect_success 'values that YAML could take for numbers, booleans or null are quoted' '
	git init -q values && mkdir -p values/1.5 values/off/x && echo "void g(int *x) { *x = 1; }" >values/null &&
	echo "#include \"null\"" >values/g.c && touch values/1.5/x.h values/off/x/x.h &&
	printf "g.o: g.c\n\t\$(CC) -O2 -I. -I1.5 -Ioff -Ioff/x -iquote 0x1F -Dyes -DA=1 -DB=a,b -Unull -c g.c\n" >values/Makefile &&
	mkdir values/0x1F && git -C values add . && git -C values commit -q -m values &&
	(cd values && exits 0 git klineage adopt g.c:g >../out) && contract=values/klineage/g.klineage.yaml &&
	says "flags: [-O2]" $contract && says "include: [\".\", \"1.5\", \"off\", off/x]" $contract &&
	says "iquote: [\"0x1F\"]" $contract && says "define: [\"yes\", A=1, \"B=a,b\"]" $contract &&
	says "undefine: [\"null\"]" $contract && says "sources: [g.c, \"null\"]" $contract
'

test_expect_success 'a project that needs options, for make, the compiler and CMake' '
	git init -q optional && mkdir optional/inc && echo "#define SCALE 2" >optional/inc/scale.h &&
	cat >optional/k.c <<-\C && printf "k.o: k.c\n\t\$(CC) -O2 \$(WITH) -c k.c\n" >optional/Makefile &&
	#include "scale.h"
	#ifndef FLOATING
	#error choose an arithmetic
	#endif
	void scale(int n, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] = SCALE * x[i]; }
	C
	git -C optional add . && git -C optional commit -q -m k &&
	(cd optional && exits 128 git klineage adopt k.c 2>../err) &&
	(cd optional && exits 0 git klineage adopt k.c --build-options "WITH=\"-Iinc -DFLOATING=1\"" >../out) &&
	says "make -n" out && says "define: [FLOATING=1]" out && rm -r optional/klineage &&
	(cd optional && exits 0 git klineage adopt k.c --build none --build-options "-Iinc -DFLOATING=2" >../out) &&
	says "no build" out && says "define: [FLOATING=2]" out && says "include: [inc]" out && rm -r optional/klineage &&
	(cd optional && exits 129 git klineage adopt k.c --build-options "-DX=1; touch ran" 2>../err) &&
	says "without shell operators" err && (cd optional && exits 129 git klineage adopt k.c --build-options "\$(touch ran)") &&
	(cd optional && exits 129 git klineage adopt k.c --build-options "-DX" --commands c.json) && test ! -e optional/ran
'

test_expect_success CMAKE 'a project whose CMake needs a definition' '
	cat >optional/CMakeLists.txt <<-\CMAKE && git -C optional add . && git -C optional commit -q -m cmake &&
	cmake_minimum_required(VERSION 3.10)
	project(p C)
	if(NOT HOST)
	  message(FATAL_ERROR "say what the host is")
	endif()
	add_library(k k.c)
	target_include_directories(k PRIVATE inc)
	target_compile_definitions(k PRIVATE FLOATING=3)
	CMAKE
	(cd optional && exits 128 git klineage adopt k.c --build cmake 2>../err) && says "say what the host is" err &&
	says "give the build the options that it needs with --build-options" err &&
	(cd optional && exits 0 git klineage adopt k.c --build-options "-DHOST=\"a b\"" >../out) && says "define: [FLOATING=3]" out
'

test_expect_success 'types of the project that its headers define' '
	git init -q typed && cat >typed/types.h <<-\C && cat >typed/scale.c <<-\C &&
	#include <stdint.h>
	typedef uint32_t word_t;
	typedef word_t count_t;
	typedef float real_t;
	C
	#include "types.h"
	count_t scale(count_t n, const real_t *x, real_t *y)
	{
		for (count_t i = 0; i < n; i++)
			y[i] = 2 * x[i];
		return n;
	}
	C
	git -C typed add . && git -C typed commit -q -m scale &&
	(cd typed && exits 0 git klineage adopt scale.c --build none >../out) &&
	says "{name: n, kind: dim, dtype: u32}" typed/klineage/scale.klineage.yaml &&
	says "{name: x, kind: in, dtype: f32, shape: [TODO], fill: normal}" typed/klineage/scale.klineage.yaml &&
	says "{name: y, kind: out, dtype: f32, shape: [TODO]}" typed/klineage/scale.klineage.yaml &&
	says "returns: {dtype: u32}" typed/klineage/scale.klineage.yaml &&
	says "uint32_t oracle(uint32_t n, const kl_real *x, kl_real *y)" typed/klineage/scale.oracle.c
'

test_expect_success '--source takes tracked C files of the repository' '
	echo "int y;" >outside.c && echo "int z;" >alone/untracked.c &&
	(cd alone && exits 128 git klineage adopt axpy.c --build none --workload w --source "$PWD/../outside.c" 2>../err) &&
	says "outside.c" err &&
	(cd alone && exits 128 git klineage adopt axpy.c --build none --workload w --source untracked.c 2>../err) &&
	says "git does not track '"'untracked.c'"'" err && rm alone/untracked.c
'

test_expect_success 'options that exclude each other, and kernels of other languages' '
	(cd alone && exits 129 git klineage adopt axpy.c --build scons) &&
	(cd alone && exits 129 git klineage adopt axpy.c --build make --commands x.json) &&
	(cd alone && exits 129 git klineage adopt axpy.c:) && (cd alone && exits 129 git klineage adopt a.c b.c) &&
	echo "__global__ void k(void) { }" >alone/k.cu && git -C alone add k.cu &&
	(cd alone && exits 128 git klineage adopt k.cu:k 2>../err) && says "is not a source in C or C++" err &&
	echo "void f(int *x) { *x = 1; }" >alone/f.c && (cd alone && exits 128 git klineage adopt f.c 2>../err) &&
	says "git add f.c" err
'

test_done
