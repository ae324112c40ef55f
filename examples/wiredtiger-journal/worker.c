// SPDX-License-Identifier: Apache-2.0
//
// A small stand-in for mongod: the part of it that writes. It drives a real WiredTiger with an open
// loop of journaled updates and once a second writes the engine's own statistics, under the names
// that MongoDB's exporters give them, so that what is written for mongod can be tried on it.
//
// It links libwiredtiger, which is under the GPL; see the licence note in README.md. Nothing else
// in this repository is linked to it but internal/engine/mongodb/worker/c.
//
// What it takes over from mongod (4.2, whose WiredTiger Debian has): the connection's settings
// (journal in <home>/journal, four eviction threads), a table of documents that is not journaled and
// an oplog that is, 32 KB leaves, and the checkpoint that waits 60 s after the last one ended.
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <wiredtiger.h>

#include "names.h"

enum {
	DOCUMENT_BYTES = 4096,
	OPLOG_BYTES = 300,
	THREADS_MAX = 1024,
	NAME_MAX_BYTES = 256,
	SCRAPE_MAX_BYTES = 1 << 18,
	US_PER_S = 1000000,
};

// Room for latencies is for twice as many operations as the rate makes on average.
static const double ROOM = 2;

static struct {
	const char *home, *open, *scrapes, *operations;
	uint64_t documents, seed;
	double rate;                  // updates a second
	int threads, seconds, checkpoint_s, cache_mb;
} opt = {.open = "", .documents = 150000, .seed = 1, .rate = 800, .threads = 64, .seconds = 300,
	.checkpoint_s = 60, .cache_mb = 1024};

// An operation that ended: when, and how long after it was due.
struct ended {
	int64_t at_us; // since 1970
	uint32_t latency_us;
};

static WT_CONNECTION *conn;
static atomic_bool stop;

// The arrivals: whoever is free takes the next one and waits until it is due. When none is
// free they fall due untaken, and wait: an open loop.
static struct {
	pthread_mutex_t lock;
	uint64_t random;
	double next_us, end_us; // since 1970
} arrivals = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
	pthread_mutex_t lock;
	struct ended *ended;
	size_t n, room;
	uint64_t latency_us; // summed
} done = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint_fast64_t oplog_next = 1;
static atomic_uint_fast64_t conflicts;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *format, ...) {
	va_list args;
	va_start(args, format);
	fputs("error: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(1); // not exit: other threads are inside the engine
}

// must stops the program with the engine's own word for what went wrong.
static void must(int err, const char *what) {
	if (err != 0) die("%s: %s", what, wiredtiger_strerror(err));
}

static int64_t now_us(void) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * US_PER_S + t.tv_nsec / 1000;
}

static void sleep_until(int64_t us) {
	struct timespec t = {.tv_sec = us / US_PER_S, .tv_nsec = us % US_PER_S * 1000};
	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

// next_random is splitmix64 (Steele, Lea, Flood, 2014): any seed will do.
static uint64_t next_random(uint64_t *state) {
	uint64_t z = (*state += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void fill(uint64_t *state, unsigned char *p, size_t n) {
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t x = next_random(state);
		memcpy(p + i, &x, 8);
	}
}

// next_arrival takes the next operation: when it is due and a seed of its own; false when the
// time is over. Poisson: the distances are exponential.
static bool next_arrival(int64_t *due_us, uint64_t *seed) {
	pthread_mutex_lock(&arrivals.lock);
	double uniform = ((next_random(&arrivals.random) >> 11) + 1) * 0x1p-53; // over 0 up to 1
	arrivals.next_us += -log(uniform) / opt.rate * US_PER_S;
	*due_us = (int64_t)arrivals.next_us;
	*seed = next_random(&arrivals.random);
	bool more = arrivals.next_us < arrivals.end_us;
	pthread_mutex_unlock(&arrivals.lock);
	return more;
}

static void credit(int64_t due_us) {
	int64_t at = now_us(), latency = at - due_us;
	if (latency < 0) latency = 0; // the clock was set back
	pthread_mutex_lock(&done.lock);
	if (done.n == done.room) die("over %zu operations: more than the rate makes", done.room);
	done.ended[done.n++] = (struct ended){at, latency > UINT32_MAX ? UINT32_MAX : (uint32_t)latency};
	done.latency_us += (uint64_t)latency;
	pthread_mutex_unlock(&done.lock);
}

// update changes one document and notes it in the oplog, in one transaction. Its commit does
// not wait for the journal: in WiredTiger a commit that does keeps its locks meanwhile.
static void update(WT_SESSION *session, WT_CURSOR *documents, WT_CURSOR *oplog, uint64_t seed) {
	unsigned char document[DOCUMENT_BYTES], entry[OPLOG_BYTES] = {0};
	uint64_t key = next_random(&seed) % opt.documents;
	fill(&seed, document, sizeof document);
	memcpy(entry, document, sizeof entry / 2); // the other half is zeros, as text compresses
	for (;;) {
		must(session->begin_transaction(session, "isolation=snapshot"), "begin");
		WT_ITEM value = {.data = document, .size = sizeof document};
		documents->set_key(documents, (int64_t)key);
		documents->set_value(documents, &value);
		int err = documents->update(documents);
		if (err == 0) {
			WT_ITEM item = {.data = entry, .size = sizeof entry};
			oplog->set_key(oplog, (int64_t)atomic_fetch_add(&oplog_next, 1));
			oplog->set_value(oplog, &item);
			err = oplog->insert(oplog);
		}
		if (err == 0) err = session->commit_transaction(session, NULL);
		else session->rollback_transaction(session, NULL);
		if (err == 0) return;
		// Two at once on one document: the later begins anew, as mongod's do.
		if (err != WT_ROLLBACK) must(err, "update");
		atomic_fetch_add(&conflicts, 1);
	}
}

// wait_for_journal returns when what was committed before the call is durable. One waiter syncs
// for all who came before its sync began, and lets them all go at once, as mongod's journal
// flusher does (4.4 and later).
static void wait_for_journal(WT_SESSION *session) {
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
	static uint64_t begun, durable; // syncs, counted
	pthread_mutex_lock(&lock);
	uint64_t mine = begun + 1; // the sync under way may not cover what was just committed
	while (durable < mine) {
		if (begun > durable) {
			pthread_cond_wait(&ended, &lock);
			continue;
		}
		begun++;
		pthread_mutex_unlock(&lock);
		must(session->log_flush(session, "sync=on"), "log_flush");
		pthread_mutex_lock(&lock);
		durable = begun;
		pthread_cond_broadcast(&ended);
	}
	pthread_mutex_unlock(&lock);
}

static WT_SESSION *open_session(void) {
	WT_SESSION *session;
	must(conn->open_session(conn, NULL, "isolation=snapshot", &session), "open_session");
	return session;
}

static WT_CURSOR *open_cursor(WT_SESSION *session, const char *uri, const char *config) {
	WT_CURSOR *cursor;
	must(session->open_cursor(session, uri, NULL, config, &cursor), uri);
	return cursor;
}

static void *writer(void *unused) {
	(void)unused;
	WT_SESSION *session = open_session();
	WT_CURSOR *documents = open_cursor(session, "table:documents", NULL);
	WT_CURSOR *oplog = open_cursor(session, "table:oplog", NULL);
	int64_t due;
	uint64_t seed;
	while (next_arrival(&due, &seed)) {
		sleep_until(due);
		update(session, documents, oplog, seed);
		wait_for_journal(session);
		credit(due);
	}
	return NULL;
}

// checkpointer waits after each checkpoint ended, as mongod does: the period is the
// interval and what the checkpoint takes.
static void *checkpointer(void *unused) {
	(void)unused;
	WT_SESSION *session = open_session();
	for (;;) {
		int64_t due = now_us() + (int64_t)opt.checkpoint_s * US_PER_S;
		while (now_us() < due) {
			if (stop) return NULL;
			sleep_until(now_us() + 100000);
		}
		int64_t began = now_us();
		must(session->checkpoint(session, NULL), "checkpoint");
		printf("checkpoint\t%.3f\t%.3f\n", began / 1e6, (now_us() - began) / 1e6);
		fflush(stdout);
	}
}

// scrape writes one page of metrics into text and gives its length.
static size_t scrape(WT_CURSOR *statistics, char *text, size_t size) {
	size_t at = (size_t)snprintf(text, size, "# scraped %" PRId64 "\n", now_us() / 1000);
	pthread_mutex_lock(&done.lock);
	uint64_t n = done.n, latency = done.latency_us;
	pthread_mutex_unlock(&done.lock);
	at += (size_t)snprintf(text + at, size - at,
		"mongodb_ss_opLatencies_latency{op_type=\"writes\"} %" PRIu64 "\n"
		"mongodb_ss_opLatencies_ops{op_type=\"writes\"} %" PRIu64 "\n", latency, n);
	must(statistics->reset(statistics), "statistics"); // reads them anew
	const char *described, *printed;
	int64_t value;
	int err;
	while ((err = statistics->next(statistics)) == 0) {
		char name[NAME_MAX_BYTES];
		must(statistics->get_value(statistics, &described, &printed, &value), "statistics");
		if (!metric_name(described, name, sizeof name)) continue;
		if (at + NAME_MAX_BYTES + 32 > size) die("a scrape is over %zu bytes", size);
		at += (size_t)snprintf(text + at, size - at, "%s %" PRId64 "\n", name, value);
	}
	if (err != WT_NOTFOUND) must(err, "statistics");
	return at;
}

// scraper writes a page on each whole second. The file is elsewhere than the volume under
// test: a recorder that waits with the database it records sees nothing.
static void *scraper(void *file) {
	static char text[SCRAPE_MAX_BYTES];
	WT_SESSION *session = open_session();
	WT_CURSOR *statistics = open_cursor(session, "statistics:", "statistics=(fast)");
	while (!stop) {
		sleep_until((now_us() / US_PER_S + 1) * US_PER_S);
		size_t n = scrape(statistics, text, sizeof text);
		if (fwrite(text, 1, n, file) != n || fflush(file) != 0) die("%s: %s", opt.scrapes, strerror(errno));
	}
	return NULL;
}

// load makes the tables and leaves a checkpoint of them on disk.
static void load(void) {
	// Settings of mongod's tables; leaf_value_max: no document gets pages of its own.
	const char *table = "key_format=q,value_format=u,internal_page_max=4KB,leaf_page_max=32KB,leaf_value_max=64MB,memory_page_max=10MB,split_pct=90";
	char config[512];
	WT_SESSION *session = open_session();
	snprintf(config, sizeof config, "%s,log=(enabled=false)", table);
	must(session->create(session, "table:documents", config), "create documents");
	snprintf(config, sizeof config, "%s,log=(enabled=true)", table);
	must(session->create(session, "table:oplog", config), "create oplog");
	WT_CURSOR *documents = open_cursor(session, "table:documents", "bulk");
	unsigned char document[DOCUMENT_BYTES];
	uint64_t random = opt.seed;
	for (uint64_t i = 0; i < opt.documents; i++) {
		fill(&random, document, sizeof document);
		WT_ITEM value = {.data = document, .size = sizeof document};
		documents->set_key(documents, (int64_t)i);
		documents->set_value(documents, &value);
		must(documents->insert(documents), "load");
	}
	must(documents->close(documents), "load");
	must(session->checkpoint(session, NULL), "checkpoint");
	must(conn->close(conn, NULL), "close");
}

// warm brings the documents into the cache, so that the run measures writes, not the first reads.
static void warm(void) {
	WT_SESSION *session = open_session();
	WT_CURSOR *documents = open_cursor(session, "table:documents", NULL);
	uint64_t n = 0;
	int err;
	while ((err = documents->next(documents)) == 0) n++;
	if (err != WT_NOTFOUND) must(err, "read the documents");
	if (n != opt.documents) die("%s holds %" PRIu64 " documents, want %" PRIu64 ": load it with the same --documents", opt.home, n, opt.documents);
	must(session->close(session, NULL), "close");
}

static int by_latency(const void *a, const void *b) {
	uint32_t x = ((const struct ended *)a)->latency_us, y = ((const struct ended *)b)->latency_us;
	return (x > y) - (x < y);
}

// report writes the operations in the order they ended, then sorts them for the percentiles.
static void report(void) {
	if (opt.operations != NULL) {
		FILE *f = fopen(opt.operations, "w");
		if (f == NULL) die("%s: %s", opt.operations, strerror(errno));
		for (size_t i = 0; i < done.n; i++)
			fprintf(f, "%.6f\t%" PRIu32 "\n", done.ended[i].at_us / 1e6, done.ended[i].latency_us);
		if (fclose(f) != 0) die("%s: %s", opt.operations, strerror(errno));
	}
	if (done.n == 0) die("no operation ended");
	qsort(done.ended, done.n, sizeof *done.ended, by_latency);
	printf("latency of all %zu updates, from when they were due, ms:", done.n);
	const struct { const char *name; double share; } percentiles[] = {
		{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};
	for (size_t i = 0; i < sizeof percentiles / sizeof *percentiles; i++) {
		size_t rank = (size_t)ceil(percentiles[i].share * (double)done.n);
		printf("  %s %.1f", percentiles[i].name, done.ended[rank - 1].latency_us / 1e3);
	}
	printf("\nconflicts between updates of one document: %" PRIuFAST64 "\n", atomic_load(&conflicts));
	fflush(stdout);
}

static pthread_t start(void *(*run)(void *), void *arg) {
	pthread_t t;
	int err = pthread_create(&t, NULL, run, arg);
	if (err != 0) die("thread: %s", strerror(err));
	return t;
}

static void run(void) {
	FILE *scrapes = fopen(opt.scrapes, "w");
	if (scrapes == NULL) die("%s: %s", opt.scrapes, strerror(errno));
	done.room = (size_t)(opt.rate * opt.seconds * ROOM) + 1000;
	done.ended = calloc(done.room, sizeof *done.ended);
	if (done.ended == NULL) die("no memory for %zu latencies", done.room);
	warm();
	arrivals.random = opt.seed + 1;
	arrivals.next_us = (double)now_us();
	arrivals.end_us = arrivals.next_us + (double)opt.seconds * US_PER_S;
	pthread_t writers[THREADS_MAX], scraping = start(scraper, scrapes);
	start(checkpointer, NULL);
	for (int i = 0; i < opt.threads; i++) writers[i] = start(writer, NULL);
	for (int i = 0; i < opt.threads; i++) pthread_join(writers[i], NULL);
	stop = true;
	pthread_join(scraping, NULL);
	fclose(scrapes);
	report();
	_exit(0); // no close, which is one more checkpoint: the volume is thrown away
}

static void open_connection(bool create) {
	char config[1024], journal[4096];
	snprintf(journal, sizeof journal, "%s/journal", opt.home);
	if (mkdir(journal, 0700) != 0 && errno != EEXIST) die("%s: %s", journal, strerror(errno));
	int n = snprintf(config, sizeof config,
		"%scache_size=%dM,session_max=%d,eviction=(threads_min=4,threads_max=4),config_base=false,statistics=(fast),"
		"log=(enabled=true,archive=true,path=journal)%s%s",
		create ? "create," : "", opt.cache_mb, opt.threads + 64, *opt.open ? "," : "", opt.open);
	if (n >= (int)sizeof config) die("--open is over %zu bytes", sizeof config / 2);
	must(wiredtiger_open(opt.home, NULL, config, &conn), opt.home);
}

static double number(const char *name, const char *text, double min, double max) {
	char *end;
	double x = strtod(text, &end);
	if (*text == 0 || *end != 0 || !(x >= min && x <= max)) die("--%s %s: want a number from %g to %g", name, text, min, max);
	return x;
}

int main(int argc, char **argv) {
	static const struct option options[] = {
		{"documents", 1, 0, 'd'}, {"rate", 1, 0, 'r'}, {"threads", 1, 0, 't'}, {"seconds", 1, 0, 's'},
		{"checkpoint-seconds", 1, 0, 'c'}, {"cache-mb", 1, 0, 'm'}, {"open", 1, 0, 'o'},
		{"scrapes", 1, 0, 'S'}, {"operations", 1, 0, 'O'}, {"seed", 1, 0, 'x'}, {0}};
	const char *usage = "usage: worker load|run HOME [--documents N] [--rate UPDATES_A_SECOND] [--threads N] [--seconds S]\n"
		"  [--checkpoint-seconds S] [--cache-mb MB] [--open WIREDTIGER_OPEN_CONFIG] [--seed N]\n"
		"  [--scrapes FILE] [--operations FILE]     run: pages of metrics; when each update ended and its microseconds\n";
	int which, index;
	while ((which = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (which == '?') { fputs(usage, stderr); return 2; }
		const char *name = options[index].name;
		switch (which) {
		case 'd': opt.documents = (uint64_t)number(name, optarg, 1, 1e9); break;
		case 'r': opt.rate = number(name, optarg, 0.1, 1e6); break;
		case 't': opt.threads = (int)number(name, optarg, 1, THREADS_MAX); break;
		case 's': opt.seconds = (int)number(name, optarg, 1, 1e5); break;
		case 'c': opt.checkpoint_s = (int)number(name, optarg, 1, 1e5); break;
		case 'm': opt.cache_mb = (int)number(name, optarg, 1, 1e6); break;
		case 'x': opt.seed = (uint64_t)number(name, optarg, 0, 1e15); break;
		case 'o': opt.open = optarg; break;
		case 'S': opt.scrapes = optarg; break;
		case 'O': opt.operations = optarg; break;
		}
	}
	if (argc - optind != 2) { fputs(usage, stderr); return 2; }
	opt.home = argv[optind + 1];
	bool loading = strcmp(argv[optind], "load") == 0;
	if (!loading && strcmp(argv[optind], "run") != 0) { fputs(usage, stderr); return 2; }
	if (!loading && opt.scrapes == NULL) die("run wants --scrapes FILE");
	open_connection(loading);
	if (loading) load();
	else run();
	return 0;
}
