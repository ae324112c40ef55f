// Package advise contains Plimsoll's advice for MongoDB: how to apply a layout to mongod, with its settings,
// its journal on a separate volume, and the commands that start, stop and check a member.
package advise

import (
	"cmp"
	"path"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/units"
)

// journalMount is the mount point of the journal's volume. No option sets the journal's location:
// it is the folder journal in dbPath, which becomes a link to a folder on the volume.
const journalMount = "/var/lib/mongodb-journal"

// Deployment describes how mongod is deployed, by default as in Debian's packages and MongoDB's
// images.
func Deployment() emit.Deployment {
	return emit.Deployment{
		Targets: []emit.Target{{Name: "mongod",
			About: "mongod.conf, and commands for settings that can be changed at run time",
			Write: mongod}},
		Places: map[string]emit.Place{
			"data": {Mount: "/var/lib/mongodb", Configure: "dbPath"},
			"journal": {Mount: journalMount,
				MoveData: "Shut mongod down cleanly (`db.adminCommand({shutdown: 1})`) to move the journal: copy it to `" +
					journalMount + "/journal` (`rsync -a` keeps owner and mode), " +
					"then the same command with `-nci` after `-a` must list nothing), and start mongod. Do one member of the replica set after another, the primary last."},
		},
		Reasons: reasons,
		Elsewhere: []emit.Elsewhere{
			{Setting: "leaf_page", Text: "an option of each collection when it is created"},
			{Setting: "compression", Text: "an option of each collection when it is created"},
			{Setting: "journal_each_write", Text: "the application's write concern (j: true)"},
			{Setting: "indexes", Text: "drop or create them in the application"},
		},
		Containers: []string{"mongod", "mongodb", "mongo", "psmdb"},
		Log:        &emit.LogInPod{Mount: journalMount, Dir: journalIn, Files: "WiredTigerLog.*"},
		Move: &emit.LogMove{Unit: "mongod", Data: "/var/lib/mongodb",
			Next: "one member of the replica set after another, the primary last, after `rs.stepDown()`; begin with the next when `rs.status()` shows this one as SECONDARY"},
		Renew: func(bring string) string {
			return bring +
				" In a pod, use the container's paths. In a replica set there is an easier way: delete the claims and the pod of one secondary, let it sync (`rs.status()`), then do the next; do the primary last, after `rs.stepDown()`. The oplog must cover the time of a sync."
		},
		BesideCache: units.GiB,
		Budget:      ioBudget,
	}
}

// journalIn finds the dbPath in the arguments, or assumes the official image's: the data's mount.
func journalIn(mounted string, args []string, _ func(string) string) (data, log string) {
	data = emit.Argument(args, "--dbpath")
	if data == "" {
		data = cmp.Or(mounted, "/data/db")
	}
	return data, path.Join(data, "journal")
}

// reasons explain the settings. Statements about stalls were measured in the laboratory (docs/models.md) or
// come from WiredTiger's documentation.
var reasons = map[string]string{
	"cache":                      "with a cache too small for the working set, application threads must evict; a cache too large leaves no memory for the page cache.",
	"eviction_target":            "the share of the cache from which eviction starts.",
	"eviction_trigger":           "the share of the cache from which application threads must evict.",
	"eviction_dirty_target":      "the share of dirty pages from which eviction writes: a lower one leaves less for a checkpoint to write.",
	"eviction_dirty_trigger":     "the share of dirty pages from which application threads must write.",
	"eviction_updates_target":    "the same for updates that are not yet on a page. (WiredTiger 3.2.1, in MongoDB 4.2, has no such setting.)",
	"eviction_updates_trigger":   "the same for application threads. (WiredTiger 3.2.1 lacks this one too.)",
	"eviction_checkpoint_target": "how far eviction cleans the cache before a checkpoint.",
	"eviction_threads_min":       "the minimum number of threads that evict.",
	"eviction_threads_max":       "the maximum number of threads that evict.",
	"checkpoint":                 "the pause between checkpoints: with a shorter pause each writes less, and all together write more.",
	"io_capacity":                "paces the engine's own writes, and passes them to the volume immediately.",
	"journal_interval":           "how long a write without j: true may remain unsynced.",
}
