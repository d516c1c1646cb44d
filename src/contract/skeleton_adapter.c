/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton_adapter - writes the parts of a first adapter from a kernel's prototype */
#include <string.h>

#include "contract/skeleton_parts.h"

/*
 * Add ", <type> <name>" for each argument of a known type. If `values` is true, leave out pointers.
 */
static void add_parameters(struct kl_buf *out, const struct kl_proto *proto, bool values)
{
	for (size_t i = 0; i < proto->n; i++) {
		const struct kl_param *param = &proto->param[i];

		if (!param->dtype || (values && param->pointer))
			continue;
		kl_buf_addf(out, ", %s%s %s%s", kl_skeleton_use(param) == KL_USE_IN ? "const " : "",
			    param->type, param->pointer ? "*" : "", param->name);
	}
}

/* Return the call of the kernel, with a place to fill in for each argument of an unknown type. */
static char *call_of(const struct kl_proto *proto)
{
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_addf(&out, "%s%s(", kl_skeleton_judges(&proto->returned) ? "return " : "",
		    proto->name);
	for (size_t i = 0; i < proto->n; i++) {
		const struct kl_param *param = &proto->param[i];

		kl_buf_adds(&out, i ? ", " : "");
		if (param->dtype)
			kl_buf_adds(&out, param->name);
		else
			kl_buf_addf(&out, "/* TODO: %s */", param->name);
	}
	kl_buf_adds(&out, ");");
	return kl_buf_detach(&out);
}

/* Return the lines that declare the kernel: its headers or, if it includes none, its prototype. */
static char *headers_of(const struct kl_proto *proto, const struct kl_skeleton *sk)
{
	const char *folder = sk->build ? sk->build->folder : "";
	const struct kl_strvec *headers = sk->build && sk->build->headers ? sk->build->headers :
									    &proto->headers;
	struct kl_buf out = KL_BUF_INIT;

	for (size_t i = 0; i < headers->n; i++)
		kl_buf_addf(&out, "#include \"%s%s%s\"\n", folder, *folder ? "/" : "",
			    headers->v[i]);
	if (!headers->n)
		kl_buf_addf(&out, "%s;\n", proto->text);
	return kl_buf_detach(&out);
}

void kl_skeleton_adapter_values(struct kl_map *map, const struct kl_proto *proto,
				const struct kl_skeleton *sk)
{
	struct kl_buf args = KL_BUF_INIT, prepared = KL_BUF_INIT;
	bool returns = kl_skeleton_judges(&proto->returned);

	kl_buf_adds(&args, "void *workspace");
	add_parameters(&args, proto, false);
	kl_buf_adds(&prepared, "");
	add_parameters(&prepared, proto, true);
	kl_map_put(map, "ARGS", kl_buf_detach(&args));
	kl_map_put(map, "PREPARED", kl_buf_detach(&prepared));
	kl_map_put(map, "CALL", call_of(proto));
	kl_map_put(map, "HEADERS", headers_of(proto, sk));
	kl_map_put(map, "RETURNS", kl_strdup(returns ? proto->returned.type : "void"));
}
