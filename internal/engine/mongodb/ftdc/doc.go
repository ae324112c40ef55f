// Package ftdc reads MongoDB's full-time diagnostic data capture: the folder diagnostic.data that
// every mongod and mongos since 3.2 keeps next to its data. It holds about a week of samples of
// some thousand metrics, one per second.
//
// # Format
//
// A file is a sequence of BSON documents. Type 0 identifies the server, type 2 records changes of
// its settings, and type 1 is a [Chunk]: up to 300 samples, the first as a whole document, the
// others as differences, metric by metric, deflated. All values are int64: the server truncates
// other numbers and drops non-numeric values. metrics.interim is the chunk in progress and may be
// torn.
//
// [Open] returns a capture as a source of time series. [NewScanner] returns one file's chunks exactly
// as stored.
//
// # What makes it fast
//
// Reading costs little more than inflating, because unchanged parts are not examined. The reference
// documents of consecutive chunks differ only in their values, so their keys are compared, not
// walked ([Schema] is shared). Most metrics are constant for minutes, and a run of zeros is one
// number; they become columns of length one. Unwanted metrics are skipped eight bytes at a time.
// Chunks are decoded on several cores and delivered in order.
//
// # Bounds
//
// A length in a file is a claim, not a fact. [MaxDocument], [MaxInflated], [MaxMetrics],
// [MaxSamples] and [MaxDepth] limit what is accepted. Memory grows with the bytes that arrive, not
// with the bytes promised, and the chunks in flight are limited in bytes. If bytes are damaged,
// reading continues at the next document that begins like one, and a note says what was lost.
//
// # Names
//
// The format does not define the names of metrics or the meaning of settings; package names does.
package ftdc
