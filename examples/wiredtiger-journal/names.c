// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <stdio.h>
#include <string.h>

// sections are the parts of the statistics that tell about writing, and how exporters
// abbreviate them (percona/mongodb_exporter: wiredTiger -> ss_wt, wiredTiger.transaction -> ss_wt_txn).
static const struct { const char *section, *name; } sections[] = {
	{"block-manager", "block_manager"}, {"cache", "cache"}, {"capacity", "capacity"},
	{"connection", "connection"}, {"log", "log"}, {"thread-state", "thread_state"},
	{"thread-yield", "thread_yield"}, {"transaction", "txn"},
};

// One underscore stands for each run of other characters, none at the end.
bool metric_name(const char *described, char *out, size_t size) {
	const char *colon = strstr(described, ": ");
	if (colon == NULL) return false;
	size_t length = (size_t)(colon - described);
	// Buckets of latencies are one metric with a label.
	if (length == 4 && strncmp(described, "perf", 4) == 0)
		return snprintf(out, size, "mongodb_ss_wt_perf{perf_bucket=\"%s\"}", colon + 2) < (int)size;
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		if (strlen(sections[i].section) != length || strncmp(described, sections[i].section, length) != 0) continue;
		int at = snprintf(out, size, "mongodb_ss_wt_%s_", sections[i].name);
		bool gap = true;
		const char *p;
		for (p = colon + 2; *p != 0 && at + 1 < (int)size; p++) {
			bool word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
			if (word) out[at++] = *p;
			else if (!gap) out[at++] = '_';
			gap = !word;
		}
		if (gap) at--;
		out[at] = 0;
		return *p == 0;
	}
	return false;
}
