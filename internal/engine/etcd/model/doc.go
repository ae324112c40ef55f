// Package model models etcd: a write-ahead log that a majority of members must have on disk before
// a write is acknowledged, and a B+tree file that follows behind.
//
// # What a put waits for
//
// The leader's raft loop takes everything proposed since its last turn (a Ready), sends it to the
// followers, appends it to its own write-ahead log (WAL) and calls fdatasync once for the whole
// batch. A follower does the same with what has arrived, and answers when its sync is done. A put
// is committed when a majority has it on disk:
//
//	commit = the quorum-th fastest of {leader's fdatasync, RTT + a follower's fdatasync}
//
// So a slow minority costs nothing, and a slow majority delays everything. But there is only one
// loop: it applies what was committed in its next Ready, after its own fdatasync is done. So every
// put feels a slow leader, even if a majority was fast.
//
// Three consequences decide what to buy. There is one fdatasync at a time, so a single client's rate is at
// most the reciprocal of the volume's latency, whatever its IOPS. Requests that arrive during a sync share
// the next one, so many clients hide a slow sync. And an append into new blocks also costs writes of the file
// system's journal.
//
// Behind the log, each member applies its puts to a bbolt file and commits it every 100 ms or
// 10,000 puts, with two fdatasyncs: one for the changed pages, one for the meta page that makes
// them valid. While it commits, nothing is applied.
//
// # Members and their volumes
//
// A cluster consists of [Member]s, each with a host, a device for the WAL and one for the database.
// Members may share a host and its cores, as in a lab, or have one each. The simulator names the
// devices of member k "m<k>/wal" and "m<k>/data", with k counting from 1; a member without a WAL
// device keeps its WAL with its data. Each member needs a separate volume: two members on the same
// volume both wait for it.
//
// A member's series carry the label instance="m<k>".
//
// # Not modelled
//
//   - Elections. The leader stays. A real leader loses its role if a sync takes longer than the
//     election timeout; in the model that shows as heartbeats sent late, counted as etcd counts
//     them.
//   - Heartbeats themselves, leases, watches, auth, and the ReadIndex batching of reads: a read
//     costs its CPU and, with more than one member, a round trip.
//   - Limits that refuse requests: "too many requests" when 5,000 entries wait to be applied, and
//     the alarm of a full quota. The database grows up to its quota and then reuses the oldest
//     pages, as if compaction had freed them. Defragmentation.
//   - The HardState records and the creation of a WAL segment (a few syncs every 64 MB).
//   - The network except for its round-trip time, which is constant, without a byte limit.
//   - The Go scheduler: cores serve in order of arrival. With hundreds of clients on few cores, the
//     real raft loop gets its turn sooner, and its batches are smaller.
package model
