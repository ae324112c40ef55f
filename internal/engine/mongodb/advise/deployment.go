// Package advise is what Plimsoll advises of MongoDB: how a layout is applied to a mongod.
package advise

import (
	"path"
	"strings"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/units"
)

// journalMount is the journal's volume: no option says where the journal is, but that it is the
// folder journal of dbPath.
const journalMount = "/var/lib/mongodb/journal"

// Deployment is how a mongod is deployed, as Debian's packages and MongoDB's own images have it.
func Deployment() emit.Deployment {
	return emit.Deployment{
		Targets: []emit.Target{{Name: "mongod", About: "mongod.conf, and what can be set while it runs", Write: mongod}},
		Places: map[string]emit.Place{
			"data": {Mount: "/var/lib/mongodb", Tell: "dbPath"},
			"journal": {Mount: journalMount, Bring: "The journal moves with mongod stopped in order (`db.adminCommand({shutdown: 1})`): copy what is in `" + journalMount + "` to the new volume before it is mounted there " +
				"(`rsync -a`), mount it, `chown mongodb:mongodb " + journalMount + "`, start. One member of the replica set after the other, the primary last."},
		},
		Reasons: reasons,
		Elsewhere: []emit.Elsewhere{
			{Setting: "leaf_page", Text: "an option of each collection when it is created"},
			{Setting: "compression", Text: "an option of each collection when it is created"},
			{Setting: "journal_each_write", Text: "the application's write concern (j: true)"},
			{Setting: "indexes", Text: "the application's to drop or create"},
		},
		Containers: []string{"mongod", "mongodb", "mongo", "psmdb"},
		MountIn:    mountIn,
		Renew: func(bring string) string {
			return bring + " In a pod the paths are the container's. Simpler in a replica set: delete one secondary's claims and pod, let it sync (`rs.status()`), then the next; the primary last, after `rs.stepDown()`. The oplog must reach over the time of a sync."
		},
		BesideCache: units.GiB,
	}
}

// mountIn puts the journal into the dbPath, as the arguments have it, or where the data is mounted.
func mountIn(volume, data string, args []string) string {
	if volume != "journal" {
		return ""
	}
	if data == "" {
		data = "/data/db"
	}
	for i, arg := range args {
		v, ok := strings.CutPrefix(arg, "--dbpath=")
		if !ok && arg == "--dbpath" && i+1 < len(args) {
			v, ok = args[i+1], true
		}
		if ok {
			return path.Join(v, "journal")
		}
	}
	return path.Join(data, "journal")
}

// reasons: what is said of stalls was measured in the laboratory (docs/models.md) or is
// WiredTiger's documentation.
var reasons = map[string]string{
	"cache":                      "a cache too small for the working set has application threads evict; one too large leaves nothing to the page cache.",
	"eviction_target":            "the share of the cache from which eviction works.",
	"eviction_trigger":           "the share of the cache from which application threads must evict.",
	"eviction_dirty_target":      "the share of dirty pages from which eviction writes: lower leaves less for a checkpoint to write at once.",
	"eviction_dirty_trigger":     "the share of dirty pages from which application threads must write.",
	"eviction_updates_target":    "the same for updates that are on no page yet. (WiredTiger 3.2.1, which is MongoDB 4.2's, has no such setting.)",
	"eviction_updates_trigger":   "the same for application threads. (Nor this one.)",
	"eviction_checkpoint_target": "how far a checkpoint lets eviction clean first.",
	"eviction_threads_min":       "threads that evict.",
	"eviction_threads_max":       "threads that evict, at most.",
	"checkpoint":                 "the pause between checkpoints: shorter ones write less each, and more in all.",
	"io_capacity":                "paces the engine's own writes, and hands them to the volume as they are made.",
	"journal_interval":           "how long a write without j: true may be unsynced.",
}
