/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/code/hidden.h"

#include <stdint.h>
#include <string.h>

/*
 * Return the mnemonic of the instruction 0f 01 `modrm`; NULL if it is not among the instructions
 * that this file searches for.
 */
static const char *group_01(unsigned char modrm)
{
	switch (modrm) {
	case 0xc1:
		return "vmcall";
	case 0xd0:
		return "xgetbv";
	case 0xd4:
		return "vmfunc";
	case 0xd7:
		return "enclu";
	case 0xd9:
		return "vmmcall";
	case 0xee:
		return "rdpkru";
	case 0xef:
		return "wrpkru";
	case 0xfa:
		return "monitorx";
	case 0xfb:
		return "mwaitx";
	case 0xfd:
		return "rdpru";
	}
	return NULL;
}

/*
 * Return the mnemonic of the instruction 0f ae `modrm`; NULL if it is not among the instructions
 * that this file searches for. `prefix` is the last prefix before the opcode that is not REX, or 0
 * if there is none.
 */
static const char *group_ae(unsigned char modrm, unsigned char prefix)
{
	static const char *const base[] = { "rdfsbase", "rdgsbase", "wrfsbase", "wrgsbase" };
	unsigned reg = modrm >> 3 & 7;

	if (modrm < 0xc0)
		return reg == 4 ? "xsave" : reg == 5 ? "xrstor" : NULL;
	if (prefix == 0xf3 && reg < 4)
		return base[reg];
	if (reg == 6)
		return prefix == 0xf3 ? "umonitor" :
		       prefix == 0xf2 ? "umwait" :
		       prefix == 0x66 ? "tpause" :
					NULL;
	return NULL;
}

static const char *group_c7(unsigned char modrm, unsigned char prefix)
{
	if (modrm < 0xc0)
		return (modrm >> 3 & 7) == 4 ? "xsavec" : NULL;
	if (modrm >= 0xf8)
		return prefix == 0xf3 ? "rdpid" : "rdseed";
	return modrm >= 0xf0 ? "rdrand" : NULL;
}

/*
 * Return the prefix before the opcode at offset `at`, skipping a REX prefix between them; 0 if
 * there is none.
 */
static unsigned char prefix_of(const unsigned char *text, size_t at)
{
	if (at && (text[at - 1] & 0xf0) == 0x40)
		at--;
	return at && strchr("\x66\xf2\xf3", text[at - 1]) && text[at - 1] ? text[at - 1] : 0;
}

/*
 * Return true if the bytes at offset `at` are an xbegin whose abort handler lies in the code. Any
 * other xbegin faults when it aborts.
 */
static bool is_xbegin(const unsigned char *text, size_t at, size_t n)
{
	int32_t by;
	int64_t to;

	if (at + 6 > n || text[at] != 0xc7 || text[at + 1] != 0xf8)
		return false;
	memcpy(&by, text + at + 2, sizeof(by));
	to = (int64_t)at + 6 + by;
	return to >= 0 && to < (int64_t)n;
}

static const char *instruction_at(const unsigned char *text, size_t at, size_t n)
{
	if (is_xbegin(text, at, n))
		return "xbegin";
	if (at + 2 > n || text[at] != 0x0f)
		return NULL;
	if (text[at + 1] == 0xa2)
		return "cpuid";
	if (at + 3 > n)
		return NULL;
	switch (text[at + 1]) {
	case 0x01:
		return group_01(text[at + 2]);
	case 0xae:
		return group_ae(text[at + 2], prefix_of(text, at));
	case 0xc7:
		return group_c7(text[at + 2], prefix_of(text, at));
	}
	return NULL;
}

const char *kl_hidden_find(size_t *at, const unsigned char *text, size_t n)
{
	for (size_t i = *at; i < n; i++) {
		const char *name = instruction_at(text, i, n);

		if (!name)
			continue;
		*at = i;
		return name;
	}
	return NULL;
}
