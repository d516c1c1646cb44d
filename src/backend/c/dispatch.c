/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/dispatch.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

static const char *const words[] = {
	"__builtin_cpu_supports", "__builtin_cpu_is",  "__builtin_cpu_init",
	"target_clones",          "__target_clones__",
};

/* features that each level adds to the levels below, by their names for __builtin_cpu_supports() */
static const char *const features[][9] = {
	{ "x86-64", "cmov", "mmx", "fxsave", "sse", "sse2", NULL },
	{ "x86-64-v2", "cmpxchg16b", "lahf_lm", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2",
	  NULL },
	{ "x86-64-v3", "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe" },
	{ "x86-64-v4", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", NULL },
};

static bool in_name(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_';
}

static bool has_word(const struct kl_file *file, const char *word)
{
	const char *end = file->data + file->len;
	size_t n = strlen(word);

	for (const char *at = file->data; (at = memmem(at, (size_t)(end - at), word, n)); at += n)
		if ((at == file->data || !in_name(at[-1])) && (at + n == end || !in_name(at[n])))
			return true;
	return false;
}

bool kl_dispatch_asks(const struct kl_file *file, size_t nfile)
{
	for (size_t i = 0; i < nfile; i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(words); k++)
			if (has_word(&file[i], words[k]))
				return true;
	return false;
}

void kl_dispatch_answer(struct kl_strvec *argv, int level)
{
	KL_AUTO(kl_buf_release) struct kl_buf any = KL_BUF_INIT;

	kl_buf_adds(&any, "-D__builtin_cpu_supports(name)=(0");
	for (int i = 0; i < level && i < (int)KL_ARRAY_SIZE(features); i++)
		for (size_t k = 0; k < KL_ARRAY_SIZE(features[i]) && features[i][k]; k++)
			kl_buf_addf(&any, "||!__builtin_strcmp(name,\"%s\")", features[i][k]);
	kl_buf_adds(&any, ")");
	kl_strvec_push(argv, any.ptr);
	kl_strvec_push(argv, "-D__builtin_cpu_is(name)=0");
	kl_strvec_push(argv, "-D__builtin_cpu_init()=((void)0)");
	kl_strvec_push(argv, "-Dtarget_clones(...)=");
	kl_strvec_push(argv, "-D__target_clones__(...)=");
}
