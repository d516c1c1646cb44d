/* SPDX-License-Identifier: Apache-2.0 */
#include "image/code_check.h"

#include "base/error.h"
#include "base/mem.h"
#include "image/x86.h"

/* One bit for each byte of the text: 1 if an instruction starts at that byte. */
struct starts {
	unsigned char *bits;
};

static void starts_release(struct starts *starts)
{
	free(starts->bits);
}

static void mark_start(struct starts *starts, uint64_t at)
{
	starts->bits[at / 8] |= (unsigned char)(1 << at % 8);
}

static bool is_start(const struct starts *starts, uint64_t at)
{
	return starts->bits[at / 8] >> at % 8 & 1;
}

static int bad_code(const char *what, uint64_t at)
{
	return kl_error(KL_ENO, "%s (at %#llx of its code)", what, (unsigned long long)at);
}

static int check_insn(const struct kl_image *image, const struct kl_x86_insn *insn, uint64_t at)
{
	if (insn->refusal)
		return bad_code(insn->refusal, at);
	if (insn->segment && at < image->own)
		return bad_code("uses thread-local storage", at);
	if (at < image->own && at + insn->len > image->own)
		return bad_code("has an instruction that extends into the code of the libraries",
				at);
	return 0;
}

/* Mark where instructions start, and check each instruction. */
static int sweep_text(const struct kl_image *image, struct starts *starts)
{
	struct kl_x86_insn insn;
	int err = 0;

	for (uint64_t at = 0; !err && at < image->text; at += insn.len) {
		if (!kl_x86_decode(&insn, image->bytes[0] + at, image->text - at))
			return bad_code("has bytes that are not an instruction", at);
		mark_start(starts, at);
		err = check_insn(image, &insn, at);
	}
	return err;
}

static int check_branches(const struct kl_image *image, const struct starts *starts)
{
	struct kl_x86_insn insn;

	for (uint64_t at = 0; at < image->text; at += insn.len) {
		int64_t to;

		kl_x86_decode(&insn, image->bytes[0] + at, image->text - at);
		to = (int64_t)at + insn.target;
		if (insn.branch &&
		    (to < 0 || (uint64_t)to >= image->text || !is_start(starts, (uint64_t)to)))
			return bad_code("jumps into the middle of an instruction", at);
	}
	return 0;
}

int kl_code_check(const struct kl_image *image)
{
	KL_AUTO(starts_release) struct starts starts = { .bits = kl_calloc(image->text / 8 + 1,
									   1) };
	int err = sweep_text(image, &starts);

	if (!err && !is_start(&starts, image->entry))
		err = bad_code("the entry is not the start of an instruction", image->entry);
	if (!err && image->start != KL_IMAGE_NONE && !is_start(&starts, image->start))
		err = bad_code("the start function does not begin with an instruction",
			       image->start);
	for (size_t i = 0; !err && i < KL_IMAGE_ADAPTER; i++)
		if (image->adapter[i] != KL_IMAGE_NONE && !is_start(&starts, image->adapter[i]))
			err = bad_code(
				"a function of the adapter does not begin with an instruction",
				image->adapter[i]);
	return err ? err : check_branches(image, &starts);
}
