/* SPDX-License-Identifier: Apache-2.0 */
/* check_transplant - checks chains of transplants: their links, and the kernels that they keep */
#include <string.h>

#include "base/error.h"
#include "event/event.h"
#include "fsck/parts.h"
#include "repo/notes.h"
#include "repo/refs.h"

#define LINEAGES "refs/heads/klineage/lineage/"
#define MAX_LINKS 1000000
#define MAX_FILES 1024 /* maximum number of files in the tree of a kernel from a remote */

enum { WAY, OF, AT, EVENT, TRAILERS };

struct transplant {
	struct kl_checker *checker;
	const char *ref;
	bool lineage;         /* true if the lineage exists; then `states` is filled */
	struct kl_map states; /* hex ids of the lineage's commits as keys; values are not used */
};

static void transplant_release(struct transplant *transplant)
{
	kl_map_release(&transplant->states);
}

/* --- the lineage ------------------------------------------------------------------------------ */

/* Find the tip of the lineage whose steps are tried. Set *tip to zero if there is no lineage. */
static int find_lineage(git_oid *tip, struct transplant *transplant, const char *workload,
			const char *name)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf("%s%s/%s", LINEAGES, workload, name);
	int err;

	*tip = kl_oid_none;
	if (transplant->checker->foreign) {
		if (transplant->checker->c->lineage)
			*tip = *transplant->checker->c->lineage;
		return 0;
	}
	err = kl_refs_get(tip, transplant->checker->c->repo, ref);
	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	return 0;
}

static int list_states(struct transplant *transplant, const char *workload, const char *name)
{
	KL_AUTO(kl_chain_release) struct kl_chain chain = { 0 };
	char hex[KL_OID_HEX];
	git_oid tip;
	int err = find_lineage(&tip, transplant, workload, name);

	if (err < 0 || git_oid_is_zero(&tip))
		return err;
	err = kl_chain_read(&chain, transplant->checker, &tip, 0, false);
	for (size_t i = 0; i < chain.n; i++) {
		kl_oid_hex(hex, &chain.c[i].oid);
		kl_map_put(&transplant->states, hex, transplant);
	}
	transplant->lineage = !err;
	return err;
}

/* --- one link --------------------------------------------------------------------------------- */

static bool is_hex(const char *text, size_t n)
{
	return text && strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

static bool check_trailers(struct transplant *transplant, const char *link, char *const *value)
{
	const char *way = value[WAY] ? value[WAY] : "";

	if (strcmp(way, "put-in") != 0 && strcmp(way, "undo") != 0 && strcmp(way, "root") != 0) {
		kl_check_report(transplant->checker, KL_CHECK_ERROR, transplant->ref,
				"link %s says '%.80s' instead of put-in, undo or root", link, way);
		return false;
	}
	if (is_hex(value[OF], 40) && is_hex(value[AT], 40) && is_hex(value[EVENT], 64))
		return true;
	kl_check_report(transplant->checker, KL_CHECK_ERROR, transplant->ref,
			"link %s does not name its step, its state and its event", link);
	return false;
}

/* Check that the step and the state that the link names are in the lineage. */
static void check_states(struct transplant *transplant, const char *link, char *const *value)
{
	for (int i = OF; i <= AT && transplant->lineage; i++)
		if (!kl_map_get(&transplant->states, value[i]))
			kl_check_report(transplant->checker, KL_CHECK_ERROR, transplant->ref,
					"link %s names %.12s, which is no state of the lineage",
					link, value[i]);
}

/*
 * Check that the link keeps the right commit. For a step at its own place and for K_0 this is a
 * state of the lineage; for all other cells it is a kernel whose parent is the state.
 */
static void check_kernel(struct transplant *transplant, const char *link,
			 const struct kl_commit *kernel, char *const *value)
{
	char own[KL_OID_HEX], on[KL_OID_HEX] = "";
	bool good;

	kl_oid_hex(own, &kernel->oid);
	if (kernel->nparent)
		kl_oid_hex(on, &kernel->parent[0]);
	if (!strcmp(value[WAY], "root"))
		good = !strcmp(own, value[OF]) && !strcmp(own, value[AT]);
	else
		good = !strcmp(on, value[AT]) && (kernel->nparent == 1 || !strcmp(own, value[OF]));
	if (!good)
		kl_check_report(
			transplant->checker, KL_CHECK_ERROR, transplant->ref,
			"link %s keeps %.12s, which is not made from the state that it names", link,
			own);
}

/*
 * Check the note of a kept kernel. The note of a kernel from a remote can be missing, because notes
 * and chains are exchanged separately.
 */
static void check_note(struct transplant *transplant, const char *link,
		       const struct kl_commit *kernel, const char *id)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	bool found = false;

	if (transplant->checker->foreign)
		return;
	if (kl_notes_read(&text, transplant->checker->c->repo, KL_NOTES_GATE, &kernel->oid) == 0)
		kl_strvec_split(&lines, text.ptr, "\n");
	for (size_t i = 0; !found && i < lines.n; i++) {
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		found = strstr(lines.v[i], id) &&
			kl_event_parse(&event, lines.v[i], strlen(lines.v[i])) == 0 &&
			!strcmp(event->id, id);
	}
	kl_error_clear();
	if (!found)
		kl_check_report(transplant->checker, KL_CHECK_ERROR, transplant->ref,
				"the note of link %s's kernel does not have event %.12s", link, id);
}

static void check_files(struct transplant *transplant, const char *link, const git_oid *tree)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs blobs = { 0 };

	if (!transplant->checker->foreign)
		return;
	if (kl_repo_tree_list(&blobs, transplant->checker->c->repo, tree, MAX_FILES) < 0)
		kl_check_report_error(transplant->checker, transplant->ref);
	for (size_t i = 0; i < blobs.n; i++)
		if (blobs.b[i].mode != 0100644 && blobs.b[i].mode != 0100755)
			kl_check_report(transplant->checker, KL_CHECK_ERROR, transplant->ref,
					"'%s' in the kernel of link %s is not a regular file",
					blobs.b[i].path, link);
}

static int check_link(struct transplant *transplant, const struct kl_commit *commit)
{
	static const char *const key[TRAILERS] = {
		[WAY] = "Klineage-Transplant",
		[OF] = "Klineage-Of",
		[AT] = "Klineage-At",
		[EVENT] = "Klineage-Event",
	};
	char *value[TRAILERS] = { NULL }, link[KL_OID_HEX];
	struct kl_commit kernel = { 0 };
	int err = kl_repo_commit_read(&kernel, transplant->checker->c->repo, &commit->parent[0]);

	kl_check_short(link, &commit->oid);
	kl_trailers_get(value, commit->message, key, TRAILERS);
	if (!err && memcmp(&kernel.tree, &commit->tree, sizeof(kernel.tree)) != 0)
		kl_check_report(transplant->checker, KL_CHECK_ERROR, transplant->ref,
				"the tree of link %s is not that of its kernel", link);
	if (!err && check_trailers(transplant, link, value)) {
		check_states(transplant, link, value);
		check_kernel(transplant, link, &kernel, value);
		check_note(transplant, link, &kernel, value[EVENT]);
		check_files(transplant, link, &commit->tree);
	}
	for (size_t i = 0; i < TRAILERS; i++)
		free(value[i]);
	kl_commit_release(&kernel);
	return err;
}

/* --- the chain -------------------------------------------------------------------------------- */

static int check_links(struct transplant *transplant, const git_oid *tip)
{
	size_t most = transplant->checker->foreign ? KL_CHECK_FOREIGN_STEPS : MAX_LINKS;
	git_oid at = *tip;
	bool more = true;
	int err = 0;

	for (size_t i = 0; !err && more; i++) {
		struct kl_commit link = { 0 };

		if (i == most)
			return kl_error(KL_EINVALID, "the chain has more than %zu links", most);
		err = kl_repo_commit_read(&link, transplant->checker->c->repo, &at);
		if (!err && (link.nparent < 1 || link.nparent > 2))
			err = kl_error(
				KL_EINVALID,
				"a link has %zu parents, but must have one or two: the kernel "
				"that it keeps, and the link before it",
				link.nparent);
		if (!err)
			err = check_link(transplant, &link);
		more = link.nparent == 2;
		if (!err && more)
			at = link.parent[1];
		kl_commit_release(&link);
	}
	return err;
}

void kl_check_transplant(struct kl_checker *checker, const char *ref, const git_oid *tip,
			 const char *workload, const char *name)
{
	KL_AUTO(transplant_release) struct transplant transplant = { .checker = checker,
								     .ref = ref };

	checker->c->transplants++;
	if (list_states(&transplant, workload, name) < 0) {
		kl_check_report_error(checker, ref);
		return;
	}
	if (!transplant.lineage)
		kl_check_report(checker, checker->foreign ? KL_CHECK_ERROR : KL_CHECK_WARNING, ref,
				"there is no lineage %s/%s, whose steps were tried", workload,
				name);
	if (check_links(&transplant, tip) < 0)
		kl_check_report_error(checker, ref);
}
