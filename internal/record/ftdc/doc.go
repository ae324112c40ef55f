// Package ftdc reads MongoDB's full-time diagnostic data capture: the folder
// diagnostic.data that every mongod and mongos since 3.2 keeps beside its data, about a
// week of samples of some thousand metrics, one a second.
//
// # Format
//
// A file is a row of BSON documents. Type 0 tells who the server is, type 2 how its settings
// changed, and type 1 is a [Chunk]: up to 300 samples, the first as a whole document, the
// others as differences, metric after metric, deflated. All values are int64: the server
// truncates what is not, and does not keep what is no number. metrics.interim is the chunk in
// progress, and may be torn.
//
// [Open] gives all of it as a source of time series; [NewScanner] gives one file's chunks and
// metadata exactly as stored.
//
// # What makes it fast
//
// Reading costs little more than inflating, because what does not change is not looked at.
// The reference documents of consecutive chunks differ in their values only, so their keys are
// compared, not walked ([Schema] is shared). Most metrics are constant for minutes, and a run of
// zeros is one number; they become columns of length one. Metrics nobody wants are passed
// over eight bytes at a time. Chunks are decoded on several cores and delivered in order.
//
// # Bounds
//
// A length in a file is a claim, not a fact. [MaxDocument], [MaxInflated], [MaxMetrics],
// [MaxSamples] and [MaxDepth] bound what is believed; memory grows with the bytes that come, not with
// the bytes promised; what is in flight at once is bounded in bytes. Where bytes are damaged, reading
// goes on at the next document that begins as one, and a note tells what is lost.
//
// # Names
//
// The format says nothing of what a metric is called or what a setting means: a
// [dialect.Server] does, which the engine gives.
package ftdc
