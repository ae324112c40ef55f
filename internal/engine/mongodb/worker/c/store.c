// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "oplog.h"

struct settings settings;

static WT_CONNECTION *connection;

// What is being loaded.
static struct {
	WT_SESSION *session;
	WT_CURSOR *bulk;
	uint64_t documents, bytes;
	unsigned char *buffer;
} load;

void must(int err, const char *what) {
	if (err != 0) die(1, "%s: %s", what, wiredtiger_strerror(err));
}

// The engine's words go to people: stdout is for answers.
static int told(WT_EVENT_HANDLER *handler, WT_SESSION *session, const char *message) {
	(void)handler, (void)session;
	fprintf(stderr, "%s\n", message);
	return 0;
}

static int told_error(WT_EVENT_HANDLER *handler, WT_SESSION *session, int error, const char *message) {
	(void)error;
	return told(handler, session, message);
}

static WT_EVENT_HANDLER events = {.handle_error = told_error, .handle_message = told};

static WT_CURSOR *open_cursor(WT_SESSION *session, const char *uri, const char *config) {
	WT_CURSOR *cursor;
	must(session->open_cursor(session, uri, NULL, config, &cursor), uri);
	return cursor;
}

static WT_SESSION *open_session(void) {
	WT_SESSION *session;
	must(connection->open_session(connection, NULL, "isolation=snapshot", &session), "open_session");
	return session;
}

static void index_name(char *name, size_t n, uint32_t i) { snprintf(name, n, "table:index%u", (unsigned)i); }

static void create(WT_SESSION *session, const char *uri, const char *format, const char *config) {
	char *all;
	if (asprintf(&all, "%s,%s", format, config) < 0) die(1, "no memory");
	must(session->create(session, uri, all), uri);
	free(all);
}

uint64_t store_open(void) {
	must(wiredtiger_open(settings.home, &events, settings.connection, &connection), settings.home);
	WT_SESSION *session = open_session();
	create(session, "table:documents", "key_format=q,value_format=u", settings.documents);
	for (uint32_t i = 0; i < settings.indexes; i++) {
		char name[32];
		index_name(name, sizeof name, i);
		create(session, name, "key_format=Q,value_format=u", settings.index);
	}
	if (*settings.oplog != 0) {
		create(session, "table:oplog", "key_format=q,value_format=u", settings.oplog);
		create(session, "table:marker", "key_format=q,value_format=q",
			settings.log ? "log=(enabled=false)" : "");
	}
	must(session->close(session, NULL), "close");
	uint64_t again = 0;
	if (*settings.oplog != 0) {
		struct worker w;
		worker_open(&w, -1);
		again = oplog_again(&w);
		must(w.session->close(w.session, NULL), "close");
		free(w.buffer);
	}
	return again;
}

void store_close(void) { must(connection->close(connection, NULL), "close"); }

void worker_open(struct worker *w, int number) {
	*w = (struct worker){.number = number, .session = open_session()};
}

// Cursors are opened when they are needed first: loading wants the tables for itself.
void worker_cursors(struct worker *w) {
	if (w->documents != NULL) return;
	w->documents = open_cursor(w->session, "table:documents", NULL);
	for (uint32_t i = 0; i < settings.indexes; i++) {
		char name[32];
		index_name(name, sizeof name, i);
		w->indexes[i] = open_cursor(w->session, name, NULL);
	}
	if (*settings.oplog != 0) w->oplog = open_cursor(w->session, "table:oplog", NULL);
}

void worker_room(struct worker *w, size_t n) {
	if (w->room >= n) return;
	free(w->buffer);
	w->room = n + n / 2;
	w->buffer = malloc(w->room);
	if (w->buffer == NULL) die(1, "no memory for %zu bytes", w->room);
}

int store_read(struct worker *w, uint64_t key, uint64_t *seq, uint32_t *size) {
	worker_cursors(w);
	WT_ITEM item;
	w->documents->set_key(w->documents, (int64_t)key);
	int err = w->documents->search(w->documents);
	if (err == 0) err = w->documents->get_value(w->documents, &item);
	if (err == 0 && (item.size < DOCUMENT_BYTES_MIN || document_key(item.data) != key)) err = WT_ERROR;
	if (err == 0) {
		*seq = document_seq(item.data);
		*size = (uint32_t)item.size;
	}
	w->documents->reset(w->documents);
	return err;
}

int store_scan(struct worker *w, uint64_t key, uint32_t bytes, uint32_t *documents) {
	worker_cursors(w);
	WT_CURSOR *c = w->documents;
	WT_ITEM item;
	int exact;
	uint64_t got = 0;
	*documents = 0;
	c->set_key(c, (int64_t)key);
	int err = c->search_near(c, &exact);
	if (err == 0 && exact < 0) err = c->next(c);
	while (err == 0 && (err = c->get_value(c, &item)) == 0) {
		got += item.size;
		++*documents;
		if (got >= bytes) break;
		err = c->next(c);
	}
	c->reset(c);
	return err == WT_NOTFOUND ? 0 : err;
}

const char *store_load(struct worker *w, uint64_t key, uint32_t size) {
	if (key != load.documents) return "documents are loaded once, keys ascending from 0";
	if (load.bulk == NULL) {
		if (w->documents != NULL) return "the database is in use: load it first";
		load.session = open_session();
		int err = load.session->open_cursor(load.session, "table:documents", NULL, "bulk", &load.bulk);
		if (err != 0) return wiredtiger_strerror(err);
		load.buffer = malloc(DOCUMENT_BYTES_MAX);
		if (load.buffer == NULL) die(1, "no memory for a document");
	}
	uint32_t n = document_size(size);
	document_fill(load.buffer, n, key, 0);
	WT_ITEM item = {.data = load.buffer, .size = n};
	load.bulk->set_key(load.bulk, (int64_t)key);
	load.bulk->set_value(load.bulk, &item);
	int err = load.bulk->insert(load.bulk);
	if (err != 0) return wiredtiger_strerror(err);
	load.documents++;
	load.bytes += n;
	return NULL;
}

uint64_t index_key(uint32_t i, uint64_t key) { return mix(key + ((uint64_t)i + 1) * 0x9e3779b97f4a7c15); }

static int ascending(const void *a, const void *b) {
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

// load_index fills one in the order of its keys, as mongod builds it.
static void load_index(WT_SESSION *session, uint32_t i) {
	char name[32];
	unsigned char entry[UINT16_MAX] = {0};
	index_name(name, sizeof name, i);
	uint64_t *keys = malloc((load.documents + 1) * sizeof *keys);
	if (keys == NULL) die(1, "no memory to sort the keys of %s", name);
	for (uint64_t k = 0; k < load.documents; k++) keys[k] = index_key(i, k);
	qsort(keys, load.documents, sizeof *keys, ascending);
	WT_CURSOR *bulk = open_cursor(session, name, "bulk");
	WT_ITEM item = {.data = entry, .size = index_value()};
	for (uint64_t k = 0; k < load.documents; k++) {
		bulk->set_key(bulk, keys[k]);
		bulk->set_value(bulk, &item);
		must(bulk->insert(bulk), name);
	}
	must(bulk->close(bulk), name);
	free(keys);
}

void store_loaded(struct worker *w) {
	if (load.bulk != NULL) {
		must(load.bulk->close(load.bulk), "load");
		for (uint32_t i = 0; i < settings.indexes; i++) load_index(load.session, i);
		must(load.session->close(load.session, NULL), "close");
		load.bulk = NULL;
		free(load.buffer);
	}
	store_checkpoint(w);
}

// in_cache tells how many bytes the cache has.
static uint64_t in_cache(WT_CURSOR *statistics) {
	const char *described, *printed;
	int64_t value = 0;
	must(statistics->reset(statistics), "statistics"); // reads them anew
	statistics->set_key(statistics, WT_STAT_CONN_CACHE_BYTES_INUSE);
	must(statistics->search(statistics), "statistics");
	must(statistics->get_value(statistics, &described, &printed, &value), "statistics");
	return (uint64_t)value;
}

uint64_t store_warm(struct worker *w, uint64_t bytes) {
	worker_cursors(w);
	WT_CURSOR *statistics = open_cursor(w->session, "statistics:", "statistics=(fast)");
	bool all = load.bytes < bytes;
	uint64_t n = 0;
	while (n < load.documents) {
		// What does not fit as a whole is there in part, from everywhere.
		uint64_t key = all ? n : mix(n) % load.documents, seq;
		uint32_t size;
		must(store_read(w, key, &seq, &size), "read the documents");
		n++;
		if (n % 64 == 0 && in_cache(statistics) >= bytes) break;
	}
	must(statistics->close(statistics), "statistics");
	return n;
}

void store_checkpoint(struct worker *w) {
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&one);
	if (*settings.oplog != 0) oplog_mark(w);
	must(w->session->checkpoint(w->session, NULL), "checkpoint");
	if (*settings.oplog != 0) oplog_cut(w);
	pthread_mutex_unlock(&one);
}

void store_sync(struct worker *w) { must(w->session->log_flush(w->session, "sync=on"), "log_flush"); }

size_t store_statistics(struct worker *w, char *text, size_t room) {
	WT_CURSOR *statistics = open_cursor(w->session, "statistics:", "statistics=(fast)");
	const char *described, *printed;
	int64_t value;
	size_t at = 0;
	int err;
	while ((err = statistics->next(statistics)) == 0) {
		must(statistics->get_value(statistics, &described, &printed, &value), "statistics");
		int n = snprintf(text + at, room - at, "%s\t%lld\n", described, (long long)value);
		if (n < 0 || (size_t)n >= room - at) die(1, "statistics are over %zu bytes", room);
		at += (size_t)n;
	}
	if (err != WT_NOTFOUND) must(err, "statistics");
	must(statistics->close(statistics), "statistics");
	return at;
}
