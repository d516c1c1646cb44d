/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "adopt/command.h"
#include "adopt/options.h"
#include "adopt/shell_line.h"
#include "contract/contract.h"
#include "contract/flags.h"

static void check_options(const struct kl_command *command)
{
	KL_AUTO(kl_options_release) struct kl_options options = { .include = KL_STRVEC_INIT };
	KL_AUTO(kl_options_release) struct kl_options merged = { .include = KL_STRVEC_INIT };

	kl_options_read(&options, command, &kl_language_cpp);
	/* whatever a build says, a contract can have what is taken from it */
	for (size_t i = 0; i < options.flags.n; i++)
		MUST(kl_compile_flag_ok(options.flags.v[i]) == 0);
	for (size_t i = 0; i < options.define.n; i++)
		MUST(kl_contract_define.is_valid(options.define.v[i], strlen(options.define.v[i])));
	for (size_t i = 0; i < options.undefine.n; i++)
		MUST(kl_contract_undefine.is_valid(options.undefine.v[i],
						   strlen(options.undefine.v[i])));
	for (size_t i = 0; i < options.include.n; i++)
		MUST(options.include.v[i][0] == '/' && !strstr(options.include.v[i], "/../"));
	kl_options_copy(&merged, &options);
	kl_options_merge(&merged, &options, "x.c");
	MUST(merged.define.n == options.define.n && merged.include.n == options.include.n);
}

static void check_commands(const struct kl_commands *commands)
{
	for (size_t i = 0; i < commands->n; i++) {
		MUST(commands->v[i].file[0] == '/' && commands->v[i].dir[0] == '/');
		MUST(commands->v[i].word.n);
		check_options(&commands->v[i]);
	}
}

/* A line of shell, what make prints, and compile_commands.json, all from the same bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_shell_release) struct kl_shell_line line = { .v = NULL };
	KL_AUTO(kl_commands_release) struct kl_commands made = { .v = NULL };
	KL_AUTO(kl_commands_release) struct kl_commands listed = { .v = NULL };

	if (kl_shell_split(&line, (const char *)data, size) == 0)
		for (size_t i = 0; i < line.n; i++)
			MUST(line.v[i].n);
	if (kl_commands_make(&made, "/p", (const char *)data, size) == 0)
		check_commands(&made);
	if (kl_commands_json(&listed, "/p", (const char *)data, size) == 0)
		check_commands(&listed);
	kl_error_clear();
	return 0;
}
