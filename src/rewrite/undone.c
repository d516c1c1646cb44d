/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/undone.h"

#include <string.h>

#define MAX_SUBJECTS 20 /* maximum number of commits whose subjects are in a step's text */

void kl_undone_release(struct kl_undone *undone)
{
	free(undone->e);
	kl_strvec_release(&undone->folded);
}

void kl_undone_words_release(struct kl_undone_words *words)
{
	kl_buf_release(&words->text);
	free(words->action);
	free(words->mechanism);
	free(words->locus);
	json_decref(words->traits);
	kl_strvec_release(&words->commits);
}

/* --- finding the commits ----------------------------------------------------- */

/* Return true if the event of a record has the machine code of the current state, or is missing. */
static bool has_same_code(const struct kl_rewrite *rw, const json_t *rec)
{
	const char *code = kl_json_str_or(rw->facts, "code", "");
	const struct kl_event *event = NULL;

	if (rw->event)
		event = rw->event(kl_json_str_or(rec, "event", ""), rw->payload);
	return !event || !*event->facts.code_digest || !strcmp(event->facts.code_digest, code);
}

void kl_undone_equals(struct kl_map *out, const struct kl_rewrite *rw)
{
	size_t n = json_array_size(rw->steps), i;
	char tip[KL_OID_HEX];
	json_t *rec;

	kl_oid_hex(tip, &rw->expert);
	if (n)
		snprintf(tip, sizeof(tip), "%s",
			 kl_json_str_or(json_array_get(rw->steps, n - 1), "commit", ""));
	json_array_foreach(rw->rejections, i, rec) {
		const char *class_ = kl_json_str_or(rec, "class", "");
		const char *tokens = kl_json_str_or(rec, "tokens", "");

		if (!*tokens || strcmp(kl_json_str_or(rec, "on", ""), tip) != 0)
			continue;
		if (!strcmp(class_, "no-effect"))
			kl_map_put(out, tokens, (void *)KL_UNDONE_NO_EFFECT);
		else if (!strcmp(class_, "no-change") && has_same_code(rw, rec))
			kl_map_put(out, tokens, (void *)KL_UNDONE_SAME_CODE);
	}
}

static void push_commit(struct kl_strvec *list, const struct kl_past *past, size_t i)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &past->e[i].commit);
	kl_strvec_push(list, hex);
}

/* Return true if a step of this walk reverted the commit by itself. */
static bool was_reverted(const struct kl_rewrite *rw, size_t i)
{
	KL_AUTO(kl_freep) char *source = NULL;
	char hex[KL_OID_HEX];
	json_t *step;
	size_t k;

	kl_oid_hex(hex, &rw->past->e[i].commit);
	source = kl_asprintf("revert@%s", hex);
	json_array_foreach(rw->steps, k, step)
		if (!strcmp(kl_json_str_or(step, "source", ""), source))
			return true;
	return false;
}

/* Forget the commits so far, because the state that they lead to equals the current one. */
static void forget_commits(struct kl_undone *undone, const struct kl_past *past,
			   enum kl_undone_equal why)
{
	for (size_t i = 0; why == KL_UNDONE_NO_EFFECT && i < undone->n; i++)
		push_commit(&undone->folded, past, undone->e[i]);
	undone->n = 0;
	undone->gap = true;
}

int kl_undone_find(struct kl_undone *out, const struct kl_rewrite *rw, const struct kl_map *equals,
		   size_t from, size_t at)
{
	struct kl_past *past = rw->past;
	const char *state, *last;
	size_t i = from;

	while (i < at) {
		size_t before = i;
		void *why;
		int err = kl_past_next(&i, past, before, false);

		i = i < at ? i : at;
		if (err < 0 || (err = kl_past_state(&state, past, i)) < 0 ||
		    (err = kl_past_state(&last, past, before)) < 0)
			return err;
		/* the kernel is that of `before`, which does not compile */
		if (i == at && state == last)
			break;
		out->gap |= i > before + 1;
		if (!was_reverted(rw, i - 1)) {
			KL_GROW(out->e, out->n + 1, out->alloc);
			out->e[out->n++] = i - 1;
		}
		why = i < at ? kl_map_get(equals, state) : NULL;
		if (why)
			forget_commits(out, past, (enum kl_undone_equal)(uintptr_t)why);
	}
	return 0;
}

/* --- describing the step --------------------------------------------------------- */

/* Add the subject and the trait of a commit. If it is the only one, its other trailers count, too. */
static int describe_commit(struct kl_undone_words *words, const struct kl_rewrite *rw, size_t i,
			   bool only)
{
	struct kl_commit commit = { 0 };
	KL_AUTO(kl_freep) char *subject = NULL;
	KL_AUTO(kl_freep) char *trait = NULL;
	char hex[KL_OID_HEX];
	int err = kl_repo_commit_read(&commit, rw->repo, &rw->past->e[i].commit);

	if (err < 0)
		return err;
	kl_oid_hex(hex, &commit.oid);
	subject = kl_trailer_subject(commit.message);
	kl_buf_addf(&words->text, "%sundo %.7s: %s", words->text.len ? "\n" : "", hex, subject);
	if (only) {
		words->action = kl_trailer_get(commit.message, "Klineage-Action");
		words->mechanism = kl_trailer_get(commit.message, "Klineage-Mechanism");
		words->locus = kl_trailer_get(commit.message, "Klineage-Locus");
	}
	trait = kl_trailer_get(commit.message, "Klineage-Trait");
	if (trait)
		kl_json_set_str(words->traits, trait, "no");
	kl_commit_release(&commit);
	return 0;
}

int kl_undone_describe(struct kl_undone_words *out, const struct kl_rewrite *rw,
		       const struct kl_undone *undone, size_t restored)
{
	const struct kl_past *past = rw->past;
	char oldest[KL_OID_HEX], newest[KL_OID_HEX];
	int err = 0;

	*out = (struct kl_undone_words){ .text = KL_BUF_INIT, .traits = json_object() };
	if (undone->n > 1) {
		kl_oid_hex(oldest, &past->e[restored].commit);
		kl_oid_hex(newest, &past->e[undone->e[0]].commit);
		kl_buf_addf(&out->text, "undo commits %.7s..%.7s", oldest, newest);
	}
	for (size_t i = 0; !err && i < undone->n; i++) {
		push_commit(&out->commits, past, undone->e[i]);
		if (i < MAX_SUBJECTS)
			err = describe_commit(out, rw, undone->e[i], undone->n == 1);
	}
	if (undone->n > MAX_SUBJECTS)
		kl_buf_addf(&out->text, "\nand %zu more", undone->n - MAX_SUBJECTS);
	kl_past_say_renames(&out->text, past, restored);
	return err;
}
