/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include "image_lib.h"

#include <signal.h>
#include <sys/wait.h>

/* The keys of a contract that say how its sources are built: units, defines, includes, traps. */
static struct kernel kernel;

static int setup(void **state)
{
	kernel_setup(&kernel);
	return 0;
}

static int teardown(void **state)
{
	kernel_teardown(&kernel);
	return 0;
}

static void put_file(struct kl_file *file, const char *path, const char *text)
{
	*file = (struct kl_file){
		.path = (char *)path, .mode = 0100644, .data = (char *)text, .len = strlen(text)
	};
}

static int compile_files(struct kl_artefact **out, struct kl_file *file, size_t n)
{
	kernel.surface.file = file;
	kernel.surface.nfile = n;
	kernel.class_ = NULL;
	return kl_compile_surface(out, &kernel.class_, &kernel.tools, &kernel.surface, kernel.dir);
}

static int call_kernel(const struct kl_artefact *artefact, int value)
{
	struct kl_image_mapped mapped = image_load(artefact->object);
	int (*k)(int);
	int result;

	*(void **)&k = mapped.entry;
	result = k(value);
	kl_image_unmap(&mapped);
	return result;
}

static void test_includes(void **state)
{
	struct kl_contract_build *build = &kernel.contract.build;
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	struct kl_artefact *missing = NULL;
	struct kl_file file[5];

	put_file(&file[0], "include/api/two.h", "#define TWO (ONE + ONE)\n");
	put_file(&file[1], "inc/config.h", "#define ONE 1\n");
	put_file(&file[2], "src/body.c", "static int body(int a) { return a * TWO + SHIFT; }\n");
	put_file(&file[3], "src/k.c",
		 "#include <api/two.h>\n#include \"body.c\"\n#include \"quoted.tbl\"\n"
		 "int k(int a)\n{\n#ifdef _GNU_SOURCE\n	return body(a) + sizeof(NAME) + ADD;\n"
		 "#endif\n}\n");
	put_file(&file[4], "tables/quoted.tbl", "#define ADD 100\n");
	kl_strvec_push(&build->units, "src/k.c");
	kl_strvec_push(&build->define, "SHIFT=3");
	kl_strvec_push(&build->define, "NAME=\"a b\"");
	kl_strvec_push(&build->define, "_GNU_SOURCE");
	kl_strvec_push(&build->include, "include");
	kl_strvec_push(&build->iquote, "tables");
	kl_strvec_push(&build->preinclude, "inc/config.h");
	assert_ok(compile_files(&artefact, file, KL_ARRAY_SIZE(file)));
	assert_int_equal(call_kernel(artefact, 5), 5 * 2 + 3 + 4 + 100);
	/* the folder of the sources is on the path anyway, but not every folder in it */
	kl_strvec_release(&build->include);
	assert_error(KL_ENO, "api/two.h", compile_files(&missing, file, KL_ARRAY_SIZE(file)));
	assert_string_equal(kernel.class_, "compile");
	kl_strvec_release(&build->units);
	kl_strvec_release(&build->define);
	kl_strvec_release(&build->iquote);
	kl_strvec_release(&build->preinclude);
}

#define REPORTS                                                                               \
	"#include <stdio.h>\n#include <stdlib.h>\n"                                           \
	"int k(int a) { if (a < 0) { fprintf(stderr, \"%d is negative\\n\", a); exit(1); }\n" \
	"	return a + 1; }\n"

/* A call of a trap is refused unless the contract lists it, and then it is a fault. */
static void test_traps(void **state)
{
	struct kl_strvec *traps = &kernel.contract.build.traps;
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL, *own = NULL;
	struct kl_artefact *refused = NULL;
	struct kl_file file[2];
	int status;
	pid_t pid;

	put_file(&file[0], "k.c", REPORTS);
	assert_error(KL_ENO, "is not allowed", compile_files(&refused, file, 1));
	assert_string_equal(kernel.class_, "cheat");
	kl_strvec_push(traps, "fprintf");
	kl_strvec_push(traps, "stderr");
	assert_error(KL_ENO, "uses 'exit'", compile_files(&refused, file, 1));
	kl_strvec_push(traps, "exit");
	assert_ok(compile_files(&artefact, file, 1));
	assert_int_equal(call_kernel(artefact, 5), 6);
	pid = fork();
	if (!pid && signal(SIGILL, SIG_DFL) != SIG_ERR)
		_exit(call_kernel(artefact, -5) & 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL);
	/* a function of that name in the kernel's own sources is no trap */
	kl_strvec_push(traps, "warn");
	put_file(&file[0], "k.c", "int warn(int);\nint k(int a) { return warn(a); }\n");
	put_file(&file[1], "warn.c", "int warn(int a) { return a * 2; }\n");
	assert_ok(compile_files(&own, file, 2));
	assert_int_equal(call_kernel(own, 4), 8);
	kl_strvec_release(traps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_includes),
		cmocka_unit_test(test_traps),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
