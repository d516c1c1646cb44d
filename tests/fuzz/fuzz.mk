# SPDX-License-Identifier: Apache-2.0
# make fuzz [FUZZ_SECONDS=60] [FUZZ_ONLY=contract]: every fuzz_<x>.c below tests/fuzz, with ASan and UBSan,
# on the seeds in tests/fuzz/corpus/<x> (and <x>.dict beside its source). What it finds new stays in build-fuzz/corpus/<x>;
# an input that fails is written to build-fuzz/fail-<x>-*, and the run ends with an error.

FUZZ_SECONDS ?= 60
FUZZ_CC ?= clang
FUZZ_B := build-fuzz
FUZZ_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Isrc -O1 -g -fno-strict-aliasing -fno-omit-frame-pointer \
	-fno-sanitize-recover=undefined -DKL_VERSION='"$(VERSION)"' -DKL_SHARE='"$(sharedir)"' \
	-DKL_LIBEXEC='"$(privdir)"' -DKL_SOURCE='"$(CURDIR)"'
# a harness that passes a wrong type fails on the first input, or tests nothing
FUZZ_WARN := -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers
FUZZ_OBJ := $(LIB_SRC:src/%.c=$(FUZZ_B)/%.o)
FUZZ_SRC := $(sort $(shell find tests/fuzz -name 'fuzz_*.c'))
FUZZ_ALL := $(patsubst fuzz_%.c,%,$(notdir $(FUZZ_SRC)))
fuzz_source = $(filter %/fuzz_$(1).c,$(FUZZ_SRC))
fuzz_dict = $(wildcard $(dir $(call fuzz_source,$(1)))$(1).dict)
vpath fuzz_%.c $(sort $(dir $(FUZZ_SRC)))
FUZZ_ONLY ?= $(FUZZ_ALL)

$(FUZZ_B)/%.o: src/%.c Makefile tests/fuzz/fuzz.mk
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c -o $@ $<

$(FUZZ_B)/libkl.a: $(FUZZ_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

$(FUZZ_ALL:%=$(FUZZ_B)/fuzz_%): $(FUZZ_B)/fuzz_%: fuzz_%.c tests/fuzz/fuzz.h $(FUZZ_B)/libkl.a
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) $(FUZZ_WARN) -Itests/fuzz -fsanitize=fuzzer,address,undefined -o $@ $< $(FUZZ_B)/libkl.a $(LIBS)

# what objects are linked with
$(FUZZ_B)/fuzz_link: FUZZ_CFLAGS += -DKL_FUZZ_RUNTIME='"$(CURDIR)/$(FUZZ_B)/kernel_runtime.o"'
$(FUZZ_B)/fuzz_link: | $(FUZZ_B)/kernel_runtime.o
$(FUZZ_B)/kernel_runtime.o: $(addprefix templates/runtime/,kernel_runtime.c runtime.c system.c)
	$(Q)mkdir -p $(@D)
	$(Q)gcc -std=gnu11 -O2 -fPIC -fno-builtin -fno-stack-protector -fcf-protection=none -w -c -o $@ $<

.PHONY: fuzz-build $(FUZZ_ALL:%=fuzz-run-%)
fuzz-build: $(FUZZ_ONLY:%=$(FUZZ_B)/fuzz_%)

$(FUZZ_ALL:%=fuzz-run-%): fuzz-run-%: $(FUZZ_B)/fuzz_%
	@mkdir -p $(FUZZ_B)/corpus/$*
	@echo "fuzz: $* for $(FUZZ_SECONDS) s"
	@$(FUZZ_B)/fuzz_$* -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -max_len=16384 \
		-verbosity=0 -print_final_stats=1 -artifact_prefix=$(FUZZ_B)/fail-$*- \
		$(patsubst %,-dict=%,$(call fuzz_dict,$*)) \
		$(FUZZ_B)/corpus/$* $(wildcard tests/fuzz/corpus/$* $(FUZZ_MORE_$*)) 2>$(FUZZ_B)/$*.log \
		|| { tail -60 $(FUZZ_B)/$*.log >&2; exit 1; }
	@sed -n 's/^stat::number_of_executed_units: */fuzz: $* ran /p' $(FUZZ_B)/$*.log | sed 's/$$/ inputs, none failed/'

# the contracts that the unit tests read are seeds as well
FUZZ_MORE_contract := tests/data/contracts/good tests/data/contracts/bad

fuzz: deps-dev
	@$(MAKE) --no-print-directory -s -j2 fuzz-build
	@$(MAKE) --no-print-directory -s $(FUZZ_ONLY:%=fuzz-run-%)

-include $(shell find $(FUZZ_B) -name '*.d' 2>/dev/null)
