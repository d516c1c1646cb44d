/* SPDX-License-Identifier: Apache-2.0 */
#include "image/symbols.h"

#include <string.h>

static const char memory[] =
	" memcpy memmove memset memcmp memchr memrchr mempcpy memmem memccpy bcmp bzero bcopy"
	" strlen strnlen strcmp strncmp strchr strrchr strcpy strncpy strcat strncat strstr"
	" strspn strcspn strpbrk stpcpy stpncpy strchrnul ";

/* functions on double; the same names with f or l at the end are also allowed */
static const char math[] =
	" acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10"
	" exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma"
	" llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter"
	" nexttoward pow remainder remquo rint round roundeven scalbln scalbn sin sincos sinh"
	" sqrt tan tanh tgamma trunc y0 y1 yn ";

static const char alloc[] = " malloc calloc realloc free aligned_alloc posix_memalign ";

static const char helper[] =
	" __popcountdi2 __popcountti2 __clzdi2 __clzti2 __ctzdi2 __ctzti2 __ffsdi2 __ffsti2"
	" __paritydi2 __parityti2 __bswapdi2 __bswapsi2 __ashlti3 __ashrti3 __lshrti3 __multi3"
	" __divti3 __modti3 __udivti3 __umodti3 __udivmodti4 __divmodti4 __absvti2 __negti2"
	" __mulsc3 __muldc3 __mulxc3 __multc3 __divsc3 __divdc3 __divxc3 __divtc3 __powisf2"
	" __powidf2 __powixf2 __powitf2 __floattisf __floattidf __floattixf __floatuntisf"
	" __floatuntidf __floatuntixf __fixsfti __fixdfti __fixxfti __fixunssfti __fixunsdfti"
	" __fixunsxfti __addtf3 __subtf3 __multf3 __divtf3 __negtf2 __eqtf2 __netf2 __lttf2"
	" __letf2 __gttf2 __getf2 __unordtf2 __cmptf2 __extendsftf2 __extenddftf2 __extendxftf2"
	" __trunctfsf2 __trunctfdf2 __trunctfxf2 __fixtfsi __fixtfdi __fixtfti __fixunstfsi"
	" __fixunstfdi __floatsitf __floatditf __floattitf __floatunsitf __floatunditf"
	" __extendhfsf2 __extendhfdf2 __extendhfxf2 __extendhftf2 __truncsfhf2 __truncdfhf2"
	" __truncxfhf2 __trunctfhf2 __extendbfsf2 __truncsfbf2 __truncdfbf2 ";

/*
 * Library functions that a cheat can define itself, so that other code calls the cheat: clocks,
 * exits, the loader, other allocators, output.
 */
static const char interposed[] =
	" clock clock_gettime gettimeofday time times getrusage usleep nanosleep exit _exit _Exit"
	" abort atexit __cxa_atexit __cxa_finalize raise kill signal sigaction dlopen dlsym"
	" dlclose dladdr __tls_get_addr pthread_create getenv getauxval printf fprintf puts write"
	" read open close mmap munmap mprotect mremap prctl ptrace fork execve syscall sbrk brk"
	" memalign valloc pvalloc malloc_usable_size cfree reallocarray __libc_start_main _start"
	" _init _fini main environ __environ __stack_chk_fail __errno_location ";

bool kl_symbol_listed(const char *list, const char *name, size_t len)
{
	char word[96];

	if (!len || len + 3 > sizeof(word) || memchr(name, ' ', len))
		return false;
	word[0] = ' ';
	memcpy(word + 1, name, len);
	word[len + 1] = ' ';
	word[len + 2] = '\0';
	return strstr(list, word) != NULL;
}

/*
 * Return true for the vector form of a math function, _ZGV<isa>N<lanes>v..._<math name>. With
 * -ffast-math, compilers call the vector form of exp, for example, if a loop calls exp.
 */
static bool is_vector_math(const char *name)
{
	const char *rest = !strncmp(name, "_ZGV", 4) && strchr("bcde", name[4]) && name[4] ?
				   strchr(name + 4, '_') :
				   NULL;

	return rest && kl_symbol_kind(rest + 1) == KL_SYMBOL_MATH;
}

enum kl_symbol_kind kl_symbol_kind(const char *name)
{
	size_t n = strlen(name);

	if (kl_symbol_listed(memory, name, n))
		return KL_SYMBOL_MEMORY;
	if (kl_symbol_listed(alloc, name, n))
		return KL_SYMBOL_ALLOC;
	if (kl_symbol_listed(helper, name, n))
		return KL_SYMBOL_HELPER;
	if (kl_symbol_listed(math, name, n) || is_vector_math(name))
		return KL_SYMBOL_MATH;
	if (n > 1 && strchr("fl", name[n - 1]) && kl_symbol_listed(math, name, n - 1))
		return KL_SYMBOL_MATH;
	return KL_SYMBOL_FOREIGN;
}

bool kl_symbol_reserved(const char *name)
{
	return kl_symbol_kind(name) != KL_SYMBOL_FOREIGN || !strncmp(name, "kl_", 3) ||
	       kl_symbol_listed(interposed, name, strlen(name)) || !strncmp(name, "__start_", 8) ||
	       !strncmp(name, "__stop_", 7) || !strncmp(name, "_DYNAMIC", 8) ||
	       !strncmp(name, "_GLOBAL_OFFSET", 14);
}
