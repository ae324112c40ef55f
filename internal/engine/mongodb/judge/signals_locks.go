package judge

import (
	"strings"

	"plimsoll/internal/judge/rules"
)

// lockWait is the waiting for a kind of lock in all modes. A mode without any waiting has no
// metric. Rates have no metric name, so rates of several metrics would collide in one vector unless
// a label distinguishes them; hence one pattern per metric.
func lockWait(of string) string {
	var modes []string
	for _, mode := range []string{"r", "w", "R", "W"} {
		modes = append(modes, `label_replace(irate({__name__=~"mongodb_ss_locks_`+of+`_timeAcquiringMicros_`+mode+
			`"}[$w]), "mode", "`+mode+`", "", "")`)
	}
	return "sum(" + strings.Join(modes, " or ") + ") / 1e6"
}

func lockSignal(name, of, help string) *rules.Signal {
	return signal("mongodb_"+name+"_lock_wait:ratio", "s/s",
		sessions+" waiting for "+help+": seconds credited per second", lockWait(of))
}

// Signals of the waiting for each kind of lock, by the lock manager's resource types.
var (
	BatchLockWait = lockSignal("batch",
		"ParallelBatchWriterMode", "the application of oplog batches (up to 7.0)")
	FCVLockWait = lockSignal("fcv",
		"FeatureCompatibilityVersion", "a change of the feature compatibility version (up to 7.2)")
	BarrierWait = lockSignal("barrier",
		"MultiDocumentTransactionsBarrier", "the barrier for transactions (7.3 and later)")
	RoleLockWait = lockSignal("role", "ReplicationStateTransition", "a change of the member's role")

	GlobalLockWait     = lockSignal("global", "Global", "the global lock")
	DatabaseLockWait   = lockSignal("database", "Database", "a database's lock")
	CollectionLockWait = lockSignal("collection", "Collection", "a collection's lock")
	OplogLockWait      = lockSignal("oplog", "oplog", "the oplog's lock")
	DDLLockWait        = lockSignal("ddl", "DDLDatabase", "another DDL operation on a database (7.1 and later)")
	DDLOneLockWait     = lockSignal("ddl_collection",
		"DDLCollection", "another DDL operation on a collection (7.1 and later)")
	MetadataLockWait = lockSignal("metadata", "Metadata", "a lock of metadata")
	MutexLockWait    = lockSignal("mutex", "Mutex", "an internal mutex")
)

// locks are all kinds, in the order in which an operation takes them
// (src/mongo/db/concurrency/d_concurrency.cpp). Flow control's ticket comes first but is not a
// lock. PBWM was removed in 7.1 (SERVER-38341), and FCV became a barrier for transactions in 7.3
// (SERVER-66340).
var locks = []struct {
	name string // as in a finding's subject
	wait *rules.Signal
}{
	{"oplog application", BatchLockWait},
	{"feature compatibility", FCVLockWait},
	{"transactions barrier", BarrierWait},
	{roleLock, RoleLockWait},
	{globalLock, GlobalLockWait},
	{"database", DatabaseLockWait},
	{"collection", CollectionLockWait},
	{"oplog", OplogLockWait},
	{"DDL", DDLLockWait},
	{"DDL collection", DDLOneLockWait},
	{"metadata", MetadataLockWait},
	{"internal mutex", MutexLockWait},
}

const (
	roleLock   = "replication state"
	globalLock = "global"
)

func lockSignals() []*rules.Signal {
	out := make([]*rules.Signal, len(locks))
	for i, l := range locks {
		out[i] = l.wait
	}
	return out
}

// anyLockWaits is the condition that more than two operations wait for one kind of lock.
func anyLockWaits() string {
	parts := make([]string, len(locks))
	for i, l := range locks {
		parts[i] = l.wait.Name + " > 2"
	}
	return strings.Join(parts, " or ")
}
