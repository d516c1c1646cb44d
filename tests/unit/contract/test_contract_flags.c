/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/buf.h"
#include "base/mem.h"
#include "contract/flags.h"

static void lets_code_generation_through(void **state)
{
	static const char *const good[] = {
		"-O0",
		"-O1",
		"-O2",
		"-O3",
		"-Os",
		"-Ofast",
		"-g",
		"-std=c11",
		"-std=gnu17",
		"-DTILE=8",
		"-DFAST",
		"-DALPHA=-1.5e-3f",
		"-Dtype=float",
		"-DNAME_2=x",
		"-ffast-math",
		"-fno-fast-math",
		"-funroll-loops",
		"-fno-tree-vectorize",
		"-ffp-contract=off",
		"-fvect-cost-model=unlimited",
		"-falign-loops=32",
		"-mavx2",
		"-mfma",
		"-mno-avx",
		"-mprefer-vector-width=256",
		"-Wall",
		"-Wextra",
		"-Wno-unused",
		"-Wframe-larger-than=4096",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++)
		assert_ok(kl_compile_flag_ok(good[i]));
}

static void refuses_every_way_out(void **state)
{
	static const char *const bad[] = {
		/* name a file, read or write one */
		"",
		"-",
		"x.c",
		"/etc/passwd",
		"@args",
		"-o",
		"-ox.so",
		"-I.",
		"-I/usr/include/x",
		"-isystem/x",
		"-iquote.",
		"-include",
		"-includex.h",
		"-imacros",
		"-L.",
		"-lm",
		"-B/tmp",
		"--sysroot=/",
		"-MD",
		"-MFx",
		"-save-temps",
		"-dumpbase",
		"-E",
		"-S",
		"-c",
		"-x",
		"-xc++",
		"-T",
		"-Tx.ld",
		"-fprofile-use=x",
		"-fprofile-generate",
		"-fauto-profile=x",
		"-fdump-tree-all",
		"-frandom-seed=x",
		"-fdebug-prefix-map=a=b",
		"-ffile-prefix-map=a=b",
		"-fopt-info-vec=x",
		"-fstack-usage",
		"-fcallgraph-info",
		"-fdiagnostics-format=json-file",
		"-coverage",
		"--coverage",
		"-ftest-coverage",
		/* run or load other code */
		"-fplugin=x.so",
		"-fplugin-arg-x-y",
		"-wrapper",
		"-wrapper,sh",
		"-specs=x",
		"--specs=x",
		"-fuse-ld=gold",
		"-fno-integrated-as",
		"-pipe",
		"-Xlinker",
		"-Xassembler",
		"-Wl,-init,f",
		"-Wa,-ax",
		"-Wp,-MD,x",
		"-Xclang",
		"-load",
		"-mllvm",
		"-fpass-plugin=x",
		"-Wl",
		"-Werror=all",
		"-Werror",
		/* change what we audit or link */
		"-flto",
		"-fPIC",
		"-fno-pic",
		"-fplt",
		"-shared",
		"-static",
		"-nostdlib",
		"-pthread",
		"-fopenmp",
		"-fsanitize=address",
		"-finstrument-functions",
		"-pg",
		"-p",
		"-fcommon",
		"-fleading-underscore",
		"-fpatchable-function-entry=3",
		"-fsplit-stack",
		"-fstack-protector",
		"-fexceptions",
		"-ffixed-rax",
		"-fcall-used-rbx",
		/* the machine is the platform's */
		"-march=native",
		"-mtune=native",
		"-m32",
		"-mx32",
		"-mabi=sysv",
		"-mcmodel=large",
		"-msoft-float",
		"-mcpu=x",
		/* defines that take the ground away */
		"-D",
		"-D__FILE__=1",
		"-D_GNU_SOURCE",
		"-Dkl_real=int",
		"-DKL_ORACLE=1",
		"-DF(x)=x",
		"-DX=a b",
		"-DX=f(1)",
		"-DX=\"s\"",
		"-DX=$(id)",
		"-DX=",
		"-D1X",
		"-DX=a\nb",
		"-UX",
		"-Umalloc",
		"-O4",
		"-O2 -g",
		"-std=c++17",
		"-std=",
		"-ffp-contract=",
		"-mavx2;x",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		if (kl_compile_flag_ok(bad[i]) != KL_EINVALID)
			fail_msg("'%s' passes", bad[i]);
	assert_error(KL_EINVALID, "the platform sets the architecture",
		     kl_compile_flag_ok("-march=native"));
}

static void nvcc_has_a_list_of_its_own(void **state)
{
	static const char *const good[] = {
		"-O0",
		"-O3",
		"-lineinfo",
		"-use_fast_math",
		"-ftz=true",
		"-fmad=false",
		"-prec-div=true",
		"--maxrregcount=16",
		"--maxrregcount=255",
		"-Xptxas=-O3",
		"-Xptxas=-v",
		"-Xptxas=-dlcm=cg",
		"-DTILE=64",
		"-DNDEBUG",
	};
	static const char *const bad[] = {
		"",
		"-O4",
		"-O3 -v",
		"-march=native",
		"-arch=sm_90",
		"-gencode",
		"-std=c++17",
		"-x=cu",
		"-ccbin=/bin/sh",
		"-Xcompiler=-fplugin=x.so",
		"-Xcompiler",
		"-Xptxas",
		"-Xptxas=-o=x",
		"-Xptxas=-v,-o=x",
		"-Xptxas=-O3 -v",
		"--options-file=x",
		"-optf",
		"-I/",
		"-include=x.h",
		"-keep",
		"-dryrun",
		"-run",
		"-o",
		"--compiler-bindir=x",
		"--maxrregcount=",
		"--maxrregcount=8",
		"--maxrregcount=256",
		"--maxrregcount=1e2",
		"-rdc=true",
		"-dc",
		"-dlto",
		"-lcublas",
		"-L.",
		"-cudart=shared",
		"-MF=x",
		"@x",
		"-D_GNU",
		"-Dkl_real=int",
		"-DKL_X",
		"-DX=a b",
		"-ldir=x",
		"-G",
		"-pg",
		"--fdevice-time-trace=x",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++)
		assert_ok(kl_compile_flag_ok_cuda(good[i]));
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		if (kl_compile_flag_ok_cuda(bad[i]) != KL_EINVALID)
			fail_msg("'%s' passes", bad[i]);
}

static void bounds_the_length(void **state)
{
	char flag[200];

	memset(flag, 'A', sizeof(flag));
	memcpy(flag, "-D", 2);
	flag[199] = '\0';
	assert_error(KL_EINVALID, "longer than", kl_compile_flag_ok(flag));
	flag[100] = '\0';
	assert_ok(kl_compile_flag_ok(flag));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lets_code_generation_through),
		cmocka_unit_test(refuses_every_way_out),
		cmocka_unit_test(nvcc_has_a_list_of_its_own),
		cmocka_unit_test(bounds_the_length),
	};

	return cmocka_run_group_tests_name("gate flags", tests, NULL, NULL);
}
