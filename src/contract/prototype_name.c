/* SPDX-License-Identifier: Apache-2.0 */
/* prototype_name - writes the name of a function as C++ does, with its namespaces and arguments */
#include "contract/prototype.h"

char *kl_proto_full_name(const struct kl_proto *proto)
{
	struct kl_buf name = KL_BUF_INIT;

	if (proto->plain_name)
		return kl_strdup(proto->name);
	kl_buf_addf(&name, "%s%s%s", proto->scope, proto->name, proto->given.n ? "<" : "");
	for (size_t i = 0; i < proto->given.n; i++) {
		const char *argument = i < proto->argument.n ? proto->argument.v[i] : "";

		/* arguments that the launch leaves out have defaults, or are deduced from types */
		if (proto->argument.n && i >= proto->argument.n)
			break;
		kl_buf_addf(&name, "%s%s", i ? ", " : "", *argument ? argument : "TODO");
	}
	kl_buf_adds(&name, proto->given.n ? ">" : "");
	return kl_buf_detach(&name);
}
