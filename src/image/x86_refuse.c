/* SPDX-License-Identifier: Apache-2.0 */
/* x86_refuse - decides which instructions a kernel must not contain */
#include <stdint.h>

#include "base/mem.h"
#include "image/x86_parts.h"

/* Reasons why an instruction is refused. */
static const char system_call[] = "calls the system", clock_read[] = "reads a clock or counter",
		  identify[] = "asks which processor it runs on", draw[] = "draws random numbers",
		  port[] = "does port I/O", protect[] = "changes protection or segments",
		  transaction[] = "starts a transaction", far[] = "jumps out of its segment",
		  privileged[] = "uses a privileged instruction";

#define ANY 0xff /* any operand, any prefix */
#define REG 0x10 /* only with a register as ModRM's operand */
#define MEM 0x20 /* only with memory as ModRM's operand */

struct rule {
	uint8_t map, opcode;
	uint8_t how;    /* ANY; or the value of ModRM's reg field, alone or with REG or MEM */
	uint8_t prefix; /* ANY; the required prefix 0xf2, 0xf3 or 0x66; 0 if none of these three */
	const char *why;
};

/* clang-format off */
static const struct rule rules[] = {
	{ 0, 0xcd, ANY, ANY, system_call }, { 0, 0xf1, ANY, ANY, system_call },
	{ 1, 0x05, ANY, ANY, system_call }, { 1, 0x07, ANY, ANY, system_call },
	{ 1, 0x34, ANY, ANY, system_call }, { 1, 0x35, ANY, ANY, system_call },
	{ 1, 0x31, ANY, ANY, clock_read }, { 1, 0x33, ANY, ANY, clock_read },
	{ 1, 0xae, REG | 6, 0xf2, clock_read }, { 1, 0xae, REG | 6, 0xf3, clock_read },
	{ 1, 0xae, REG | 6, 0x66, clock_read }, { 1, 0xa2, ANY, ANY, identify },
	{ 1, 0x02, ANY, ANY, identify }, { 1, 0x03, ANY, ANY, identify },
	{ 1, 0x00, 0, ANY, identify }, { 1, 0x00, 1, ANY, identify }, { 1, 0x00, 4, ANY, identify },
	{ 1, 0x00, 5, ANY, identify }, { 1, 0x00, 2, ANY, privileged },
	{ 1, 0x00, 3, ANY, privileged }, { 1, 0x01, MEM | 0, ANY, identify },
	{ 1, 0x01, MEM | 1, ANY, identify }, { 1, 0x01, 4, ANY, identify },
	{ 1, 0x01, MEM | 2, ANY, privileged }, { 1, 0x01, MEM | 3, ANY, privileged },
	{ 1, 0x01, MEM | 5, ANY, protect }, { 1, 0x01, 6, ANY, privileged },
	{ 1, 0x01, MEM | 7, ANY, privileged }, { 1, 0xc7, REG | 7, 0xf3, identify },
	{ 1, 0xc7, REG | 6, 0, draw }, { 1, 0xc7, REG | 7, 0, draw },
	{ 1, 0xc7, REG | 6, 0x66, draw }, { 1, 0xc7, REG | 7, 0x66, draw },
	{ 1, 0xc7, REG | 6, 0xf3, privileged }, { 1, 0xc7, MEM | 6, ANY, privileged },
	{ 1, 0xc7, MEM | 7, ANY, privileged }, { 0, 0x6c, ANY, ANY, port },
	{ 0, 0x6d, ANY, ANY, port }, { 0, 0x6e, ANY, ANY, port }, { 0, 0x6f, ANY, ANY, port },
	{ 0, 0xe4, ANY, ANY, port }, { 0, 0xe5, ANY, ANY, port }, { 0, 0xe6, ANY, ANY, port },
	{ 0, 0xe7, ANY, ANY, port }, { 0, 0xec, ANY, ANY, port }, { 0, 0xed, ANY, ANY, port },
	{ 0, 0xee, ANY, ANY, port }, { 0, 0xef, ANY, ANY, port },
	/*
	 * xsave and its variants show which features the processor has; xrstor also restores
	 * protection keys
	 */
	{ 1, 0xae, MEM | 4, 0, identify }, { 1, 0xae, MEM | 6, 0, identify },
	{ 1, 0xc7, MEM | 4, ANY, identify }, { 1, 0xc7, MEM | 5, ANY, identify },
	{ 1, 0xae, MEM | 5, 0, protect }, { 1, 0xc7, MEM | 3, ANY, protect },
	{ 1, 0xae, REG | 0, 0xf3, protect }, { 1, 0xae, REG | 1, 0xf3, protect },
	{ 1, 0xae, REG | 2, 0xf3, protect }, { 1, 0xae, REG | 3, 0xf3, protect },
	{ 1, 0xae, REG | 5, 0xf3, protect }, { 1, 0xae, MEM | 6, 0xf3, protect },
	{ 1, 0xae, 4, 0xf3, privileged }, { 1, 0x1e, REG | 1, 0xf3, protect }, /* rdssp */
	{ 2, 0xf5, ANY, 0x66, protect }, { 2, 0xf6, ANY, 0, protect },
	{ 2, 0xf8, ANY, 0xf2, privileged }, { 2, 0xf8, ANY, 0xf3, privileged },
	{ 2, 0x80, ANY, ANY, privileged }, { 2, 0x81, ANY, ANY, privileged },
	{ 2, 0x82, ANY, ANY, privileged }, { 0, 0xca, ANY, ANY, far }, { 0, 0xcb, ANY, ANY, far },
	{ 0, 0xcf, ANY, ANY, far }, { 0, 0xff, 3, ANY, far }, { 0, 0xff, MEM | 5, ANY, far },
	{ 0, 0xf4, ANY, ANY, privileged }, { 0, 0xfa, ANY, ANY, privileged },
	{ 0, 0xfb, ANY, ANY, privileged }, { 0, 0xc6, REG | 7, ANY, transaction },
	{ 0, 0xc7, REG | 7, ANY, transaction }, { 1, 0x06, ANY, ANY, privileged },
	{ 1, 0x08, ANY, ANY, privileged }, { 1, 0x09, ANY, ANY, privileged },
	{ 1, 0x20, ANY, ANY, privileged }, { 1, 0x21, ANY, ANY, privileged },
	{ 1, 0x22, ANY, ANY, privileged }, { 1, 0x23, ANY, ANY, privileged },
	{ 1, 0x30, ANY, ANY, privileged }, { 1, 0x32, ANY, ANY, privileged },
	{ 1, 0x37, ANY, ANY, privileged }, { 1, 0x78, ANY, 0, privileged },
	{ 1, 0x79, ANY, 0, privileged },
};

/*
 * The instructions 0f 01 with a register operand, by their whole ModRM byte, and why they are
 * refused; NULL if they are allowed.
 */
static const struct { uint8_t modrm; const char *why; } system_group[] = {
	{ 0xd0, identify }, { 0xf9, clock_read }, { 0xfd, clock_read }, { 0xee, protect },
	{ 0xef, protect }, { 0xf8, protect }, { 0xd5, transaction }, { 0xd6, transaction },
	{ 0xfc, NULL },
};
/* clang-format on */

static bool prefix_fits(const struct kl_x86_reader *reader, uint8_t prefix)
{
	if (prefix == ANY)
		return true;
	if (prefix == 0x66)
		return reader->size && !reader->repeat;
	if (!prefix)
		return !reader->size && !reader->repeat;
	return reader->repeat == prefix;
}

static bool operand_fits(const struct kl_x86_reader *reader, uint8_t how)
{
	bool is_register = reader->modrm >> 6 == 3;

	if (how == ANY)
		return true;
	if ((how & MEM && is_register) || (how & REG && !is_register))
		return false;
	return (how & 7) == (reader->modrm >> 3 & 7);
}

static const char *refuse_system_group(unsigned modrm)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(system_group); i++)
		if (system_group[i].modrm == modrm)
			return system_group[i].why;
	/*
	 * the other instructions are for virtual machines, enclaves, monitors and user interrupts
	 */
	return privileged;
}

const char *kl_x86_refusal(const struct kl_x86_reader *reader)
{
	if (reader->vector)
		return NULL;
	if (reader->map == 1 && reader->opcode == 0x01 && reader->modrm >> 6 == 3 &&
	    (reader->modrm >> 3 & 7) != 4 && (reader->modrm >> 3 & 7) != 6)
		return refuse_system_group(reader->modrm);
	for (size_t i = 0; i < KL_ARRAY_SIZE(rules); i++)
		if (rules[i].map == reader->map && rules[i].opcode == reader->opcode &&
		    prefix_fits(reader, rules[i].prefix) && operand_fits(reader, rules[i].how))
			return rules[i].why;
	return NULL;
}

bool kl_x86_names_segment(const struct kl_x86_reader *reader)
{
	unsigned field = reader->modrm >> 3 & 7;

	if (reader->vector)
		return false;
	if (!reader->map) /* mov from or to a segment register */
		return (reader->opcode == 0x8c || reader->opcode == 0x8e) && field >= 4;
	if (reader->map != 1)
		return false;
	switch (reader->opcode) {
	case 0xa0: /* push, pop */
	case 0xa1:
	case 0xa8:
	case 0xa9:
	case 0xb2: /* lss, lfs, lgs */
	case 0xb4:
	case 0xb5:
		return true;
	}
	return false;
}
