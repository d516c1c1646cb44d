/* SPDX-License-Identifier: Apache-2.0 */
#include "image/host_symbols.h"

#include <ctype.h>
#include <string.h>

#include "image/symbols.h"

/*
 * Functions of CUDA: those that code from nvcc calls, and those that launch kernels, query the
 * device or manage memory.
 */
static const char cuda[] =
	" __cudaRegisterFatBinary __cudaRegisterFatBinaryEnd __cudaUnregisterFatBinary __cudaRegisterFunction"
	" __cudaRegisterVar __cudaInitModule __cudaPushCallConfiguration __cudaPopCallConfiguration"
	" __cudaLaunchKernel __cudaGetKernel cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel"
	" cudaFuncSetAttribute cudaFuncGetAttributes cudaFuncSetCacheConfig cudaGetLastError"
	" cudaPeekAtLastError cudaGetErrorString cudaGetErrorName cudaGetDevice cudaGetDeviceCount"
	" cudaDeviceGetAttribute cudaGetDeviceProperties cudaGetDeviceProperties_v2 cudaDriverGetVersion"
	" cudaRuntimeGetVersion cudaOccupancyMaxActiveBlocksPerMultiprocessor"
	" cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaOccupancyMaxPotentialClusterSize"
	" cudaOccupancyMaxActiveClusters cudaOccupancyAvailableDynamicSMemPerBlock"
	" cudaGetDriverEntryPoint cudaGetDriverEntryPointByVersion cudaMemsetAsync cudaMemcpyAsync"
	" cudaMallocAsync cudaFreeAsync cudaGetSymbolAddress"
	" cuTensorMapEncodeTiled cuTensorMapEncodeIm2col cuTensorMapReplaceAddress"
	" cuGetErrorString cuGetErrorName ";

/*
 * Functions of libc and the C++ runtime. Output functions are allowed, because their output goes to
 * /dev/null.
 */
static const char libc[] =
	" abort atexit __assert_fail printf fprintf vprintf vfprintf snprintf vsnprintf sprintf puts putchar"
	" putc fputs fputc fwrite fflush stdout stderr qsort bsearch abs labs strerror __dso_handle"
	" __cxa_finalize __cxa_atexit __cxa_pure_virtual __cxa_guard_acquire __cxa_guard_release"
	" __cxa_guard_abort __cxa_begin_catch __cxa_end_catch __cxa_allocate_exception __cxa_free_exception"
	" __cxa_throw __cxa_rethrow __cxa_throw_bad_array_new_length __gxx_personality_v0 _Unwind_Resume"
	" __libc_single_threaded _ZSt9terminatev _ZSt7nothrow _GLOBAL_OFFSET_TABLE_ klineage_dims ";

/*
 * Prefixes of allowed symbols of libstdc++: operators new and delete, exceptions, run-time types,
 * strings, streams in memory, and the standard streams, whose output is discarded. Files, threads
 * and clocks are left out.
 */
static const char *const family[] = {
	"_Znw",
	"_Zna",
	"_Zdl",
	"_Zda",
	"_ZTVN10__cxxabiv1",
	"_ZTVSt",
	"_ZTISt",
	"_ZTSSt",
	"_ZNSt7__cxx1112basic_string",
	"_ZNKSt7__cxx1112basic_string",
	"_ZNSt13runtime_error",
	"_ZNSt11logic_error",
	"_ZNSt9exception",
	"_ZNKSt9exception",
	"_ZNSt16invalid_argument",
	"_ZNSt12out_of_range",
	"_ZNSt12length_error",
	"_ZNSt9bad_alloc",
	"_ZSt4cin",
	"_ZSt4cout",
	"_ZSt4cerr",
	"_ZSt4clog",
	"_ZSt4endl",
	"_ZSt5flush",
	"_ZStls",
	"_ZNSo",
	"_ZNSi",
	"_ZSt16__ostream_insert",
	"_ZNSt8ios_base",
	"_ZNKSt8ios_base",
	"_ZNSt9basic_ios",
	"_ZNKSt9basic_ios",
	"_ZNSt6locale",
	"_ZNKSt5ctype",
	"_ZNSt7__cxx1115basic_stringbuf",
	"_ZNSt7__cxx1118basic_stringstream",
	"_ZNSt7__cxx1119basic_ostringstream",
	"_ZTTNSt7__cxx11",
	"_ZTVNSt7__cxx1115basic_stringbuf",
	"_ZTVNSt7__cxx1118basic_stringstream",
	"_ZTVNSt7__cxx1119basic_ostringstream",
	"_ZNSt15basic_streambuf",
	"_ZTVSt15basic_streambuf",
};

static bool starts_with(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool is_host_function(const char *name)
{
	size_t n = strlen(name);

	return kl_symbol_listed(cuda, name, n) || kl_symbol_listed(libc, name, n);
}

/* Is it a function of libstdc++ that throws an exception, such as _ZSt20__throw_length_errorPKc? */
static bool can_throw(const char *name)
{
	if (!starts_with(name, "_ZSt"))
		return false;
	name += 4;
	while (isdigit((unsigned char)*name))
		name++;
	return starts_with(name, "__throw_");
}

bool kl_host_symbol_may_use(const char *name)
{
	if (kl_symbol_kind(name) != KL_SYMBOL_FOREIGN || is_host_function(name) || can_throw(name))
		return true;
	for (size_t i = 0; i < sizeof(family) / sizeof(*family); i++)
		if (starts_with(name, family[i]))
			return true;
	return false;
}

bool kl_host_symbol_reserved(const char *name)
{
	return kl_symbol_reserved(name) || is_host_function(name) || starts_with(name, "cuda") ||
	       starts_with(name, "__cuda") ||
	       (starts_with(name, "cu") && isupper((unsigned char)name[2])) ||
	       starts_with(name, "__wrap_") || starts_with(name, "__real_") ||
	       starts_with(name, "klineage_dims");
}

const char *kl_host_symbol_foreign(const struct kl_image *image)
{
	for (uint64_t i = 0; i < image->nnames; i += strlen(image->names + i) + 1)
		if (!kl_host_symbol_may_use(image->names + i))
			return image->names + i;
	return NULL;
}
