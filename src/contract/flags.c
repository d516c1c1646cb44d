/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/flags.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "contract/contract.h"

/*
 * One allow-list for GCC and Clang. Every other flag is refused, so that new options of compilers
 * cannot be abused. No flag in the list names a file, loads code, runs another program or writes a
 * file.
 */
#define MAX_FLAG 128

static const char *const exact[] = {
	"-O0",        "-O1",      "-O2",        "-O3",      "-Os",        "-Ofast",
	"-Og",        "-g",       "-g0",        "-std=c99", "-std=gnu99", "-std=c11",
	"-std=gnu11", "-std=c17", "-std=gnu17", "-w",       "-pedantic",  "-std=c89",
	"-std=gnu89", "-std=c90", "-std=gnu90", "-ansi",
};

/*
 * Names after -f or -fno-. Flags that change the form of the object (plt, pic, common,
 * instrumentation, lto) are left out, since only the backend sets them.
 */
static const char *const codegen[] = {
	"fast-math",
	"finite-math-only",
	"associative-math",
	"reciprocal-math",
	"signed-zeros",
	"trapping-math",
	"rounding-math",
	"math-errno",
	"unsafe-math-optimizations",
	"cx-limited-range",
	"strict-aliasing",
	"wrapv",
	"unroll-loops",
	"unroll-all-loops",
	"peel-loops",
	"split-loops",
	"unswitch-loops",
	"tree-vectorize",
	"tree-loop-vectorize",
	"tree-slp-vectorize",
	"slp-vectorize",
	"vectorize",
	"tree-loop-distribution",
	"tree-loop-distribute-patterns",
	"tree-loop-im",
	"tree-partial-pre",
	"loop-interchange",
	"loop-unroll-and-jam",
	"prefetch-loop-arrays",
	"inline",
	"inline-functions",
	"inline-small-functions",
	"inline-functions-called-once",
	"omit-frame-pointer",
	"ipa-cp-clone",
	"ipa-pta",
	"gcse-after-reload",
	"schedule-insns",
	"schedule-insns2",
	"modulo-sched",
	"rename-registers",
	"split-paths",
	"tree-pre",
	"if-conversion",
	"if-conversion2",
	"expensive-optimizations",
	"align-functions",
	"align-loops",
	"align-jumps",
	"vect-cost-model",
	"builtin",
	"tree-vrp",
	"ivopts",
	"signed-char",
	"unsigned-char",
	"strict-overflow",
	"delete-null-pointer-checks",
};

/* flags of the form -f<name>=<word or number>, up to the '=' and without the '-' */
static const char *const valued[] = {
	"ffp-contract",     "fvect-cost-model", "fsimd-cost-model", "finline-limit",
	"falign-functions", "falign-loops",     "falign-jumps",     "fexcess-precision",
};

/*
 * Names after -m or -mno-: instruction sets, and how they are used. -march and the ABI are left
 * out, since only the backend sets them.
 */
static const char *const machine[] = {
	"sse",
	"sse2",
	"sse3",
	"ssse3",
	"sse4",
	"sse4.1",
	"sse4.2",
	"avx",
	"avx2",
	"fma",
	"f16c",
	"bmi",
	"bmi2",
	"popcnt",
	"lzcnt",
	"movbe",
	"avx512f",
	"avx512cd",
	"avx512bw",
	"avx512dq",
	"avx512vl",
	"avx512vnni",
	"avx512bf16",
	"avx512fp16",
	"avxvnni",
	"vzeroupper",
	"prefer-vector-width=128",
	"prefer-vector-width=256",
	"prefer-vector-width=512",
	"recip",
};

static bool in_list(const char *const *list, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], text))
			return true;
	return false;
}
#define IN(list, s) in_list(list, KL_ARRAY_SIZE(list), s)

/* Return true if the flag is "-<letter><name>" or "-<letter>no-<name>", with a name in the list. */
static bool is_switch(const char *flag, char letter, const char *const *list, size_t n)
{
	if (flag[0] != '-' || flag[1] != letter)
		return false;
	flag += 2;
	return in_list(list, n, flag) || (!strncmp(flag, "no-", 3) && in_list(list, n, flag + 3));
}

static bool is_valued(const char *flag)
{
	const char *eq = strchr(flag, '=');
	size_t n;

	if (flag[0] != '-' || !eq || !eq[1])
		return false;
	n = (size_t)(eq - flag - 1);
	for (size_t i = 0; i < KL_ARRAY_SIZE(valued); i++)
		if (strlen(valued[i]) == n && !strncmp(valued[i], flag + 1, n))
			return !eq[1 + strspn(eq + 1, "abcdefghijklmnopqrstuvwxyz0123456789-")];
	return false;
}

/* Accept -DNAME and -DNAME=value with a number or a word, but no expression or call. */
static bool is_define(const char *flag)
{
	const char *text = flag + 2;

	if (strncmp(flag, "-D", 2) || !(isalpha((unsigned char)*text) || *text == '_'))
		return false;
	/* refuse names that are reserved for the compiler and our runtime */
	if (text[0] == '_' || !strncmp(text, "kl_", 3) || !strncmp(text, "KL_", 3))
		return false;
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	if (!*text)
		return true;
	return *text++ == '=' && *text &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-")] == '\0';
}

/*
 * Accept flags for warnings, which do not change the code. Refuse -Wa,... -Wl,... and -Wp,...,
 * which pass options to other programs.
 */
static bool is_warning(const char *flag)
{
	if (strncmp(flag, "-W", 2) || !islower((unsigned char)flag[2]))
		return false;
	if (strlen(flag) < 4)
		return false;
	/* a newer compiler has more warnings, so with -Werror it could refuse the code */
	if (!strncmp(flag, "-Werror", 7))
		return false;
	return !flag[2 + strspn(flag + 2, "abcdefghijklmnopqrstuvwxyz0123456789-=")];
}

int kl_compile_flag_ok(const char *flag)
{
	static const char hint[] =
		"allowed are -O, -std=, -D, -W, -g and the -f and -m options in docs/formats.md, "
		"flags";

	if (strlen(flag) > MAX_FLAG)
		return kl_error(KL_EINVALID, "the flag is longer than %d bytes", MAX_FLAG);
	if (IN(exact, flag) || is_switch(flag, 'f', codegen, KL_ARRAY_SIZE(codegen)) ||
	    is_switch(flag, 'm', machine, KL_ARRAY_SIZE(machine)) || is_valued(flag) ||
	    is_define(flag) || is_warning(flag))
		return 0;
	if (!strncmp(flag, "-D", 2) && kl_contract_define.is_valid(flag + 2, strlen(flag + 2)))
		return kl_error(KL_EINVALID,
				"flag '%s' is not allowed: use the key 'define' for a value with "
				"characters other than letters, digits and _ . + -",
				flag);
	if (!strncmp(flag, "-march", 6) || !strncmp(flag, "-mtune", 6))
		return kl_error(KL_EINVALID,
				"flag '%s' is not allowed: the platform sets the architecture",
				flag);
	if (!strcmp(flag, "-fopenmp"))
		return kl_error(KL_EINVALID, "flag '-fopenmp' is not allowed: to set it, add "
					     "'threads: <n>' to 'surface'");
	return kl_error(KL_EINVALID, "flag '%s' is not allowed: %s", flag, hint);
}

/* --- flags of kernels in C++ --------------------------------------------------- */

static const char *const cpp[] = {
	"-std=c++11",
	"-std=gnu++11",
	"-std=c++14",
	"-std=gnu++14",
	"-std=c++17",
	"-std=gnu++17",
	"-std=c++20",
	"-std=gnu++20",
	"-std=c++23",
	"-std=gnu++23",
	"-fno-rtti",
	"-fno-exceptions",
	"-fstrict-enums",
	"-fno-threadsafe-statics",
	"-fvisibility-inlines-hidden",
	"-faligned-new",
};

int kl_compile_flag_ok_cpp(const char *flag)
{
	if (IN(cpp, flag))
		return 0;
	if (!strcmp(flag, "-fexceptions") || !strcmp(flag, "-frtti"))
		return kl_error(KL_EINVALID,
				"flag '%s' is not allowed: kernels have no exceptions and no "
				"run-time type information",
				flag);
	if (!strncmp(flag, "-std=", 5) || !strcmp(flag, "-ansi"))
		return kl_error(KL_EINVALID,
				"flag '%s' is not allowed: the standards of C++ are -std=c++11 to "
				"c++23, and gnu++11 to gnu++23",
				flag);
	return kl_compile_flag_ok(flag);
}

/* --- flags of nvcc ------------------------------------------------------------ */

/*
 * Flags that set the language standard or the architecture are left out: the launch plan, or the
 * contract of host code, sets these. Options of ptxas are listed with their values, since ptxas has
 * other options, which read and write files.
 */
static const char *const nvcc[] = {
	"-O0",
	"-O1",
	"-O2",
	"-O3",
	"-lineinfo",
	"-use_fast_math",
	"-ftz=true",
	"-ftz=false",
	"-prec-div=true",
	"-prec-div=false",
	"-prec-sqrt=true",
	"-prec-sqrt=false",
	"-fmad=true",
	"-fmad=false",
	"-Xptxas=-O0",
	"-Xptxas=-O1",
	"-Xptxas=-O2",
	"-Xptxas=-O3",
	"-Xptxas=-v",
	"-Xptxas=-dlcm=ca",
	"-Xptxas=-dlcm=cg",
	"-extra-device-vectorization",
	"--expt-relaxed-constexpr",
	"-expt-relaxed-constexpr",
	"--extended-lambda",
	"-extended-lambda",
	"--expt-extended-lambda",
	"-expt-extended-lambda",
};

/* Accept --maxrregcount= with a number from 16 to 255. */
static bool is_register_limit(const char *flag)
{
	static const char name[] = "--maxrregcount=";
	const char *text = flag + sizeof(name) - 1;
	size_t n;

	if (strncmp(flag, name, sizeof(name) - 1))
		return false;
	n = strspn(text, "0123456789");
	return n >= 2 && n <= 3 && !text[n] && strtol(text, NULL, 10) >= 16 &&
	       strtol(text, NULL, 10) <= 255;
}

int kl_compile_flag_ok_cuda(const char *flag)
{
	if (strlen(flag) > MAX_FLAG)
		return kl_error(KL_EINVALID, "the flag is longer than %d bytes", MAX_FLAG);
	if (IN(nvcc, flag) || is_register_limit(flag) || is_define(flag))
		return 0;
	if (strstr(flag, "arch") || strstr(flag, "gencode") || strstr(flag, "std"))
		return kl_error(
			KL_EINVALID,
			"flag '%s' is not allowed: set the architecture and standard in the launch "
			"plan ('compile') or, for host code, with 'arch' and 'std'",
			flag);
	return kl_error(
		KL_EINVALID,
		"flag '%s' is not allowed: allowed for cuda are -O, -D, -lineinfo, -use_fast_math, "
		"--maxrregcount=<n> and those in docs/formats.md, flags",
		flag);
}
