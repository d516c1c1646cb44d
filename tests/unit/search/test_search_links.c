/* SPDX-License-Identifier: Apache-2.0 */
/* links: what is written is read back; what is no chain is refused, by its ticket */
#include "search/links.h"

#include "scratch.h"
#include "search/policy/policy.h"

#define REF "refs/klineage/cells/w/x"

struct fixture {
	char *dir;
	struct kl_repo *repo;
	struct kl_setup setup;
	struct kl_links chain;
	git_oid root;
};

static void fixture_release(struct fixture *fixture)
{
	kl_links_release(&fixture->chain);
	kl_repo_free(fixture->repo);
	free(fixture->dir);
}

static int append(struct fixture *fixture, struct kl_cell_link *link)
{
	struct kl_links_write write = { .repo = fixture->repo, .ref = REF };

	link->commit = fixture->root;
	return kl_links_append(&fixture->chain, link, &write);
}

/* the state before a ticket of climb, width 1: all before it */
static void state_before(char state[KL_DIGEST_HEX], const struct fixture *fixture)
{
	struct kl_experience seen;

	kl_experience_init(&seen, &fixture->setup);
	for (size_t i = 0; i < fixture->chain.n; i++)
		kl_experience_add(&seen, &fixture->chain.v[i].seen);
	kl_experience_digest(state, &seen);
	kl_experience_release(&seen);
}

static void append_root(struct fixture *fixture)
{
	struct kl_cell_link link = {
		.result = "root",
		.seen = { .parent = -1, .outcome = KL_OUTCOME_CORRECT, .speed_ppm = 1000000 }
	};

	state_before(link.state, fixture);
	assert_ok(append(fixture, &link));
}

/* a candidate of climb from `parent` */
static void append_edit(struct fixture *fixture, int64_t parent, int64_t ppm)
{
	struct kl_cell_link link = {
		.kind = KL_TICKET_EDIT,
		.result = ppm ? "node" : "fail",
		.class_ = ppm ? NULL : kl_strdup("hang"),
		.why = kl_strdup("because"),
		.seen = { .ticket = (int64_t)fixture->chain.n,
			  .parent = parent,
			  .outcome = ppm ? KL_OUTCOME_CORRECT : KL_OUTCOME_HANG,
			  .speed_ppm = ppm },
	};

	state_before(link.state, fixture);
	assert_ok(append(fixture, &link));
}

/* the root, and three tickets: 2.0, a failure, and what was made from the first of them */
static struct fixture make_fixture(const char *name)
{
	struct fixture fixture = { .dir = scratch_repo(name) };

	kl_setup_init(&fixture.setup, kl_policy_find("climb"));
	fixture.setup.candidates = 9;
	kl_draw_key(fixture.setup.key, "", "w", "climb", 1);
	assert_ok(kl_repo_open_at(&fixture.repo, fixture.dir));
	assert_ok(kl_repo_resolve(&fixture.root, fixture.repo, "HEAD"));
	fixture.chain.cell = json_object();
	kl_json_set(fixture.chain.cell, "setup", kl_setup_write(&fixture.setup));
	append_root(&fixture);
	append_edit(&fixture, 0, 2000000);
	append_edit(&fixture, 1, 0);
	append_edit(&fixture, 1, 1500000);
	return fixture;
}

#define FIXTURE(name) KL_AUTO(fixture_release) struct fixture f = make_fixture(name)

static void test_read_back(void **state)
{
	FIXTURE("read");
	KL_AUTO(kl_links_release) struct kl_links chain = { 0 };

	assert_ok(kl_links_load(&chain, f.repo, REF));
	assert_int_equal(chain.n, 4);
	assert_memory_equal(&chain.tip, &f.chain.tip, sizeof(chain.tip));
	assert_string_equal(chain.v[2].class_, "hang");
	assert_string_equal(chain.v[2].why, "because");
	assert_string_equal(chain.v[3].result, "node");
	assert_int_equal(chain.v[3].seen.speed_ppm, 1500000);
	assert_ok(kl_links_check(&chain, &f.setup));
	/* another parameter is another search */
	assert_ok(kl_setup_set(&f.setup, "repairs", "1"));
	assert_error(KL_EINVALID, "ticket 0: the setup", kl_links_check(&chain, &f.setup));
}

/* a link that another process appended is not overwritten */
static void test_two_writers(void **state)
{
	FIXTURE("two");
	git_oid tip = f.chain.tip;
	struct kl_cell_link link = { .result = "skipped",
				     .kind = KL_TICKET_SKIP,
				     .seen = { .ticket = 4, .parent = -1 } };

	state_before(link.state, &f);
	sh(f.dir, "git update-ref " REF " " REF "^2");
	assert_error(KL_ECHANGED, "changed by another process", append(&f, &link));
	kl_cell_link_release(&link);
	assert_memory_equal(&tip, &f.chain.tip, sizeof(tip));
}

/* the last link with another tree or message */
static void relink(const struct fixture *fixture, const char *tree, const char *message)
{
	sh(fixture->dir,
	   "old=$(git rev-parse " REF ") && git cat-file -p $old:observation.json >o && { %s; } && "
	   "tree=$(printf '100644 blob %%s\tobservation.json\n' $(git hash-object -w o) | git mktree) && "
	   "git update-ref " REF
	   " $(git cat-file commit $old | sed \"s/^tree .*/tree $tree/; %s\" | "
	   "git hash-object -t commit -w --stdin)",
	   tree, message);
}

static void test_malformed(void **state)
{
	static const struct {
		const char *tree, *message, *says;
	} bad[] = {
		{ "echo nonsense >o", "", "line 1" },
		{ "echo {} >o", "", "ticket" },
		{ "sed -i 's/\"ticket\":3/\"ticket\":2/' o", "", "Klineage-Ticket" },
		{ "sed -i 's/\"ticket\":3/\"ticket\":-3/' o", "", "ticket" },
		{ "sed -i 's/\"parent\":1/\"parent\":3/' o", "", "is no earlier ticket" },
		{ "sed -i 's/\"parent\":1/\"parent\":-1/' o", "",
		  "'parent' -1 does not fit to 'edit'" },
		{ "sed -i 's/\"node\"/\"great\"/' o", "", "'great', which is none" },
		{ "sed -i 's/\"edit\"/\"text\"/' o", "", "'text', which is none" },
		{ "sed -i 's/\"correct\"/\"right\"/' o", "", "which is no outcome" },
		{ "sed -i 's/1500000/0/' o", "", "is 0" },
		{ "sed -i 's/\"edit\"/\"note\"/' o", "", "'correct' does not fit to 'note'" },
		{ "sed -i 's/\"edit\"/\"root\"/' o", "", "does not fit to 'root'" },
		{ "sed -i 's/\"correct\"/\"skipped\"/' o", "", "'skipped' does not fit to 'edit'" },
		{ ":", "/^Klineage-State/d", "Klineage-State is no digest" },
		{ ":", "/^parent/d", "a link has 0 parents" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		FIXTURE("malformed");
		struct kl_links chain = { 0 };

		relink(&f, bad[i].tree, bad[i].message);
		assert_error(KL_EINVALID, bad[i].says, kl_links_load(&chain, f.repo, REF));
		assert_contains(kl_error_last(), REF);
		sh(f.dir, "rm -rf ../malformed/* ../malformed/.git");
	}
}

/* what is well formed, and cannot have come from the policy */
static void test_other_choice(void **state)
{
	static const struct {
		const char *tree, *says;
	} bad[] = {
		{ "sed -i 's/\"parent\":1/\"parent\":0/' o",
		  "ticket 3: the policy changes the kernel of ticket 1, not of 0" },
		{ "sed -i 's/\"parent\":1/\"parent\":1,\"form\":\"large\"/' o",
		  "ticket 3: the policy asks for '', not 'large'" },
		{ "sed -i 's/\"edit\"/\"note\"/; s/\"correct\"/\"none\"/' o",
		  "ticket 3: the policy wants another kind" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		FIXTURE("choice");
		KL_AUTO(kl_links_release) struct kl_links chain = { 0 };

		relink(&f, bad[i].tree, "");
		assert_ok(kl_links_load(&chain, f.repo, REF));
		assert_error(KL_EINVALID, bad[i].says, kl_links_check(&chain, &f.setup));
		sh(f.dir, "rm -rf ../choice/* ../choice/.git");
	}
}

/* what could not be read again is not written */
static void test_large(void **state)
{
	FIXTURE("large");
	KL_AUTO(kl_links_release) struct kl_links large = { .cell = json_object() };
	KL_AUTO(kl_freep) char *text = kl_calloc(1, (5 << 20) + 1);
	struct kl_cell_link link = {
		.commit = f.root,
		.result = "root",
		.seen = { .parent = -1, .outcome = KL_OUTCOME_CORRECT, .speed_ppm = 1000000 }
	};
	struct kl_links_write write = { .repo = f.repo, .ref = REF "-large" };
	git_oid found;

	memset(text, 'x', 5 << 20);
	kl_json_set_str(large.cell, "memory", text);
	state_before(link.state, &f);
	assert_error(KL_EINVALID, "cell.json would have more than 4 MiB",
		     kl_links_append(&large, &link, &write));
	assert_int_equal(kl_refs_get(&found, f.repo, REF "-large"), KL_ENOTFOUND);
	kl_cell_link_release(&link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_back), cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_other_choice),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
