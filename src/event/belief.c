/* SPDX-License-Identifier: Apache-2.0 */
#include "event/belief.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "event/cache.h"

#define SHIPPED "skills/digests"
#define MAX_SHIPPED ((size_t)16 << 20)
#define HEX (KL_DIGEST_HEX - 1)
#define LINE (HEX + 1)

struct kl_belief {
	struct kl_repo *repo; /* borrowed */
	struct kl_own own;
	struct kl_signers *signers;
	struct kl_buf shipped; /* sorted lines of HEX digits */
	char *place; /* surface and contract that `cached` is for; NULL if nothing was read yet */
	struct kl_buf cached; /* events for `place` in this clone's cache */
};

/* --- names of words ------------------------------------------------------------------ */

const char *kl_word_name(enum kl_word_of word)
{
	static const char *const names[KL_WORDS] = {
		[KL_WORD_UNSIGNED] = "unsigned",   [KL_WORD_OWN] = "own",
		[KL_WORD_SIGNED] = "signed",       [KL_WORD_SHIPPED] = "shipped",
		[KL_WORD_UNKNOWN] = "unknown key", [KL_WORD_BAD] = "bad",
		[KL_WORD_UNCHECKED] = "unchecked",
	};

	return names[word];
}

bool kl_word_is_trusted(enum kl_word_of word)
{
	return word == KL_WORD_OWN || word == KL_WORD_SIGNED || word == KL_WORD_SHIPPED;
}

const char *kl_word_doubt(enum kl_word_of word)
{
	return kl_word_is_trusted(word) ? "" : kl_word_name(word);
}

void kl_word_release(struct kl_word *word)
{
	kl_signed_release(&word->sig);
}

/* --- loading the data that decisions need ---------------------------------------------- */

void kl_belief_free(struct kl_belief *belief)
{
	if (!belief)
		return;
	kl_own_release(&belief->own);
	kl_signers_free(belief->signers);
	kl_buf_release(&belief->shipped);
	kl_buf_release(&belief->cached);
	free(belief->place);
	free(belief);
}

/* Read the ids of shipped events; there are none if skills/digests is not installed. */
static int load_shipped(struct kl_belief *belief)
{
	KL_AUTO(kl_freep) char *path = NULL;
	int err = kl_fs_share(&path, SHIPPED);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (!err)
		err = kl_fs_read(&belief->shipped, path, MAX_SHIPPED);
	if (!err && belief->shipped.len % LINE)
		err = kl_error(KL_EINVALID,
			       "%s: the file does not consist of lines of %d hex digits", path,
			       (int)HEX);
	return err;
}

int kl_belief_open(struct kl_belief **out, struct kl_repo *repo, const git_oid *base)
{
	KL_AUTO(kl_belief_freep) struct kl_belief *belief = kl_calloc(1, sizeof(*belief));
	int err;

	belief->repo = repo;
	belief->shipped = (struct kl_buf)KL_BUF_INIT;
	belief->cached = (struct kl_buf)KL_BUF_INIT;
	if ((err = kl_own_load(&belief->own, repo)) < 0 ||
	    (err = kl_signers_open(&belief->signers, repo, base)) < 0 ||
	    (err = load_shipped(belief)) < 0)
		return err;
	*out = kl_steal(&belief);
	return 0;
}

struct kl_signers *kl_belief_signers(const struct kl_belief *belief)
{
	return belief->signers;
}

static int by_line(const void *left, const void *right)
{
	return memcmp(left, right, HEX);
}

static bool is_shipped(const struct kl_belief *belief, const char *id)
{
	return strlen(id) == HEX && belief->shipped.len &&
	       bsearch(id, belief->shipped.ptr, belief->shipped.len / LINE, LINE, by_line);
}

/* --- deciding who made an event -------------------------------------------------------- */

static enum kl_word_of word_of(struct kl_belief *belief, const char *id,
			       const struct kl_signed *sig)
{
	static const enum kl_word_of words[KL_SIGN_STATES] = {
		[KL_SIGN_NONE] = KL_WORD_UNSIGNED,       [KL_SIGN_GOOD] = KL_WORD_SIGNED,
		[KL_SIGN_UNKNOWN] = KL_WORD_UNKNOWN,     [KL_SIGN_BAD] = KL_WORD_BAD,
		[KL_SIGN_UNCHECKED] = KL_WORD_UNCHECKED,
	};

	if (kl_own_has(&belief->own, id))
		return KL_WORD_OWN;
	if (sig->state == KL_SIGN_GOOD)
		return KL_WORD_SIGNED;
	return is_shipped(belief, id) ? KL_WORD_SHIPPED : words[sig->state];
}

/*
 * Return true if the event is in this clone's cache. Earlier versions of the program kept no other
 * record of the events that the clone made.
 */
static bool is_in_cache(struct kl_belief *belief, const struct kl_event *event)
{
	KL_AUTO(kl_freep) char *place = kl_asprintf("%s %s", event->surface, event->contract);
	KL_AUTO(kl_freep) char *id = kl_asprintf("\"id\":\"%s\"", event->id);

	if (!*event->surface)
		return false;
	if (!belief->place || strcmp(belief->place, place)) {
		kl_buf_clear(&belief->cached);
		if (kl_cache_list(&belief->cached, belief->repo, event->surface, event->contract) <
		    0)
			kl_error_clear();
		free(belief->place);
		belief->place = kl_steal(&place);
	}
	return belief->cached.len && strstr(belief->cached.ptr, id);
}

int kl_belief_events(struct kl_word *out, struct kl_belief *belief, struct kl_event *const *event,
		     size_t n)
{
	KL_AUTO(kl_freep) struct kl_sign_claim *claim = kl_calloc(n + 1, sizeof(*claim));
	KL_AUTO(kl_freep) struct kl_signed *result = kl_calloc(n + 1, sizeof(*result));
	int err;

	for (size_t i = 0; i < n; i++)
		claim[i] = kl_sign_claim_of(event[i]);
	err = kl_sign_check(result, belief->signers, claim, n);
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct kl_word){ word_of(belief, event[i]->id, &result[i]), result[i] };
		if (!kl_word_is_trusted(out[i].of) && is_in_cache(belief, event[i]))
			out[i].of = KL_WORD_OWN;
	}
	return err;
}
