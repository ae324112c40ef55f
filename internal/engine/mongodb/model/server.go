package model

import (
	"time"

	"plimsoll/internal/base/random"
	"plimsoll/internal/base/units"
	"plimsoll/internal/base/vtime"
)

// What a server adds to its engine, measured on mongod 5.0.7 with documents of 4 KiB.
const (
	// OplogEntry is the size of an oplog entry apart from the change: 4,387 bytes for 4,096.
	OplogEntry = 290
	// truncatePoint is the journaled update of the oplog's truncate point before each sync, one log
	// record.
	truncatePoint = 128
	// oplogSize is the minimum size of an oplog (MongoDB manual, oplogSizeMB).
	oplogSize = 990 * units.MB
	// snappyPercent is how full a leaf is, in percent of leaf_page_max, if pages go through a
	// compressor and the documents do not compress: blocks were 38 KB. Leaves begin with four times
	// leaf_page_max and become smaller only while compression gains something
	// (__rec_compression_adjust). If the documents compress, leaves take up to largestPercent in
	// memory and leaf_page_max on disk.
	snappyPercent  = 118
	largestPercent = 400
	// historyPercent is how full a leaf of the history store is. Inserts are random, so it is
	// between half full, right after a split, and full. Its blocks were 16 to 36 KB, 25 on average.
	historyPercent = 75
	// sessionRecord is the size of a record of config.transactions: two identifiers, a number, an
	// optime and a time (MongoDB source, session_txn_record.idl), with their names and cells
	// (assumed).
	sessionRecord = 200
	// cellBytes is a leaf's overhead per document: the cells of its key and value, with lengths and
	// timestamps (WiredTiger, src/include/cell.h). With it, nine documents of 4 KiB take a block of
	// 40 KiB, not 36: blocks were 39 on average.
	cellBytes = 25
	// dropOplog is the share of the oplog's clean pages that a search for room drops; of other
	// tables it drops every unused page. Nothing in the oplog is read again, yet it kept 0.4 of the
	// cache for minutes, at 1.3 MB/s.
	dropOplog = 0.2
	// oplogShare is the oplog's measured share of the cache.
	oplogShare = 0.4
	// missing is the percentage of a leaf that each of the two requests for it reads from the
	// volume: requests were 20 KB, blocks 38 KB.
	missing = 50
	// unusedFor is how long the host's page cache keeps everything. If loading had taken 8 s, the
	// volume was hardly read until 10 s later; after 17 s of loading, until 6 to 8 s later; after
	// 38 s, it was read immediately. (A file of 100 MB, read once on a similar machine, lost
	// nothing for 30 s and then half in 160 s, with 19 GB of memory free.)
	unusedFor = 20 * time.Second
)

// leaf returns the maximum size of a server's leaf before compression. Without a compressor, a page
// is split at 90 % of leaf_page_max, rounded to the nearest unit (__wt_split_page_size).
func (c *Config) leaf() units.Size {
	if !Enabled(c.Compressor) {
		return max((c.LeafPage*splitPercent/100+unit/2)/unit*unit, min(unit, c.LeafPage))
	}
	// 95: a leaf that compresses is filled until it takes about leaf_page_max on disk.
	percent := min(max(units.Size(95/float64(c.Compression)), snappyPercent), largestPercent)
	return c.LeafPage * percent / 100
}

// kept returns the space that an update adds to the history store when it replaces a version of the
// given size: that of the document and, with retryable writes, that of the session's record in
// config.transactions. With them, 2.0 inserts per update were counted at 300 to 1,000 updates/s,
// and 1.0 without. The record is small; the store's file grew by 1.7 documents per update, but it
// holds each leaf twice, once for the last checkpoint. With a compressor a leaf may be as large as
// the collection's, but inserts are random. This gives 0.14 splits per update; 0.12 to 0.23 were
// counted.
func (c *Config) kept(replaced units.Size) units.Size {
	if Enabled(c.RetryableWrites) {
		replaced += sessionRecord
	}
	if Enabled(c.Compressor) {
		replaced = replaced * 100 / historyPercent
	}
	return replaced
}

// historyLeafSize returns the average size of a leaf of the history store.
func (e *Engine) historyLeafSize() units.Size {
	if !Enabled(e.cfg.Compressor) {
		return e.cfg.LeafPage * historyPercent / 100
	}
	return e.cfg.leaf()
}

// addServer adds the tables that a replica set's member has besides the collections: the oplog,
// with what loading the documents left in it, and the history store.
func (e *Engine) addServer() {
	entry := e.cfg.DocumentSize + OplogEntry
	n := min(e.cfg.Documents, uint64(oplogSize/entry))
	e.oplogAt = len(e.trees)
	e.oplog = e.addTree("oplog", n, entry)
	if e.cfg.History > 0 {
		e.historyAt = len(e.trees)
		e.history = e.addTree("WiredTigerHS", 0, e.historyLeafSize())
	}
}

// warmServer returns the shares of the other tables and of the oplog that fit in the cache.
func (e *Engine) warmServer(room float64) (others, oplog float64) {
	size := 0.0
	for i := range e.oplog.pages.count {
		size += float64(e.oplog.pages.at(i).image)
	}
	oplog = min(oplogShare*room/max(size, 1), 1)
	return min((room-float64(oplog*size))/max(float64(e.inFiles)-size, 1), 1), oplog
}

// serverWork returns the CPU time of the server's part of an operation.
func (e *Engine) serverWork(d units.Duration) time.Duration {
	if e.env.Host.Busy() {
		return time.Duration(float64(d) * float64(e.cfg.CPU.Busy))
	}
	return d.Std()
}

// seconds returns the time for page.passed, which starts at the loading of the documents.
func (e *Engine) seconds() uint16 {
	return uint16((e.env.Clock.Now() + vtime.Instant(e.cfg.Loading)) / vtime.Instant(time.Second))
}

// inPageCache draws whether a page is in the host's page cache, depending on when it was last read
// or written.
func (e *Engine) inPageCache(p *page) bool {
	share := e.resident
	if keeps := e.cfg.PageCacheKeeps.Std(); e.oplog != nil && keeps > 0 {
		if age := time.Duration(e.seconds()-p.passed)*time.Second - unusedFor; age > 0 {
			share *= random.Exp(max(-float64(age)/float64(keeps), -700))
		}
	}
	return e.chance.Float() < share
}

// keepHistory accounts for the versions that writes to a page replaced. They go into the history
// store when the page is written.
func (e *Engine) keepHistory(t *tree, i int, replaced int32) {
	if e.history == nil || t == e.history {
		if t == e.history && t != nil { // history pages are evicted as soon as they are written
			p := t.pages.at(i)
			if p.state&cached != 0 {
				p.state &^= cached | touched
				e.memory -= p.memory()
			}
		}
		return
	}

	if t != e.trees[0] || replaced == 0 {
		return
	}

	e.kept += e.cfg.kept(units.Size(replaced))
	had := e.history.pages.count
	j := e.historyLeaf(i)

	// A full leaf is split, and its new half is written too.
	for k := had; k < e.history.pages.count; k++ {
		e.dirtyPage(e.historyAt, k, e.historyLeafSize()/2, 0)
		e.history.pages.at(k).state &^= touched
	}

	h := e.history.pages.at(j)
	e.dirtyPage(e.historyAt, j, max(e.historyLeafSize()-units.Size(h.image), 0), 0)
	h.state &^= touched
}

// prepare returns when a dirty page can be written: when the leaf of the history store that this
// changes is in the cache, and the file admits a writer. If that is later than now, the page is
// written then.
func (e *Engine) prepare(tree, i int) (until vtime.Instant) {
	now := e.env.Clock.Now()
	if e.oplog == nil {
		return now
	}
	until = max(e.fetchHistory(tree, i), e.trees[tree].file.Writable())
	if until > now {
		e.env.Clock.At(until, (*prepared)(e), uint64(tree)<<32|uint64(i))
	}
	return until
}

// fetchHistory reads the leaf of the history store that writing a page changes, and returns when it
// is available.
func (e *Engine) fetchHistory(tree, i int) (until vtime.Instant) {
	now := e.env.Clock.Now()
	if e.history == nil || tree != 0 || e.trees[0].pages.at(i).state&replacing == 0 {
		return now
	}
	j := e.historyLeaf(i)
	h := e.history.pages.at(j)
	if h.state&cached != 0 || h.block < 0 {
		return now
	}
	return e.read(e.history, j)
}

// historyLeaf returns the leaf of the history store for a leaf of the collection. There are as many
// as the kept versions fill, up to one for each.
func (e *Engine) historyLeaf(i int) int {
	n := int(min(e.kept/e.historyLeafSize()+1, units.Size(e.trees[0].pages.count)))
	e.history.grow(n - 1)
	return i * n / max(e.trees[0].pages.count, 1)
}

// prepared is the engine as the event handler for a page that can be written now. The argument combines
// its tree and number.
type prepared Engine

// Fire writes the page if it is still dirty.
func (r *prepared) Fire(_ vtime.Instant, arg uint64) {
	e := (*Engine)(r)
	t, i := e.trees[arg>>32], int(arg&(1<<32-1))
	if t.pages.at(i).state&dirty != 0 {
		e.write(t, i)
	}
}

// threadBack is the evictor as the event handler for the end of a thread's wait.
type threadBack evictor

// Fire returns the thread to work.
func (b *threadBack) Fire(vtime.Instant, uint64) { b.waiting-- }
