/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system - what the code of the system's libraries that a kernel is linked with expects
 * of the rest of the C library: the few variables and functions below, and nothing that
 * could call the system.
 *
 * Their code finds errno at a distance from the thread pointer, which the worker fills in
 * when it maps the kernel. A kernel cannot read it.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int kl_rt_errno __asm__("errno");
extern int kl_rt_libc_errno __asm__("__libc_errno") __attribute__((alias("errno")));

int *__errno_location(void)
{
	return &kl_rt_errno;
}

void __stack_chk_fail(void)
{
	__builtin_trap();
}

void abort(void)
{
	__builtin_trap();
}

void __assert_fail(const char *text, const char *file, unsigned line, const char *function)
{
	__builtin_trap();
}

/*
 * What a contract's `traps` become: a function that faults, and a stream that nobody may use.
 */
void kl_rt_trap(void)
{
	__builtin_trap();
}

void *const kl_rt_stream = NULL;

/*
 * From what sizes on memcpy and memset use other instructions. glibc computes these at
 * the start of a program from the sizes of the caches; here they are the same on every
 * machine. Stores that bypass the caches are for copies that no cache holds; `rep movsb`
 * is not used (variant.c).
 */
#define BYPASS (24L << 20)

long __x86_shared_non_temporal_threshold = BYPASS;
long __x86_rep_movsb_threshold = 2048;
long __x86_rep_movsb_stop_threshold = BYPASS;
long __x86_rep_stosb_threshold = 2048;
long __x86_data_cache_size_half = 16L << 10;
long __x86_data_cache_size = 32L << 10;
long __x86_shared_cache_size_half = 512L << 10;
long __x86_shared_cache_size = 1L << 20;
int __x86_string_control;

/* -- nan("<payload>") --------------------------------------------------------------------- */

static int digit_of(char ch)
{
	if (ch >= '0' && ch <= '9')
		return ch - '0';
	if (ch >= 'a' && ch <= 'z')
		return ch - 'a' + 10;
	return ch >= 'A' && ch <= 'Z' ? ch - 'A' + 10 : 99;
}

/* A number in C's notation; 0 if the text is anything else. */
static uint64_t payload_of(const char *text)
{
	uint64_t value = 0;
	int base = 10;

	if (text[0] == '0') {
		base = text[1] == 'x' || text[1] == 'X' ? 16 : 8;
		text += base == 16 ? 2 : 1;
	}
	for (; *text; text++) {
		int digit = digit_of(*text);

		if (digit >= base)
			return 0;
		value = value * (uint64_t)base + (uint64_t)digit;
	}
	return value;
}

double nan(const char *text)
{
	uint64_t bits = UINT64_C(0x7ff8000000000000) | (payload_of(text) & ((UINT64_C(1) << 51) - 1));
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

float nanf(const char *text)
{
	uint32_t bits = UINT32_C(0x7fc00000) | (uint32_t)(payload_of(text) & ((1u << 22) - 1));
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

long double nanl(const char *text)
{
	uint64_t bits[2] = { UINT64_C(0xc000000000000000) |
				     (payload_of(text) & ((UINT64_C(1) << 62) - 1)),
			     0x7fff };
	long double value;

	memcpy(&value, bits, sizeof(value));
	return value;
}
