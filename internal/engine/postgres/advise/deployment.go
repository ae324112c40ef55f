// Package advise contains Plimsoll's advice for PostgreSQL: how to apply a layout to a server.
package advise

import (
	"cmp"
	"path"

	"plimsoll/internal/advise/emit"
)

// walMount is the mount point of the WAL's volume.
const walMount = "/var/lib/postgresql-wal"

// Deployment describes how a server is deployed, with the paths of Debian's packages.
func Deployment() emit.Deployment {
	return emit.Deployment{
		Targets: []emit.Target{{Name: "postgres", About: "a file for conf.d", Write: settings}},
		Places: map[string]emit.Place{
			"data": {Mount: "/var/lib/postgresql", Configure: "data_directory"},
			"wal": {
				Mount: walMount, Configure: "pg_wal is a symbolic link to it",
				MoveData: "Stop PostgreSQL to move the WAL: copy `pg_wal` to `" + walMount +
					"/pg_wal` (`rsync -a` keeps owner and mode 0700), replace it in the data directory with a symbolic link, and start PostgreSQL.",
			},
		},
		Reasons:    reasons,
		Budget:     ioBudget,
		Containers: []string{"postgres", "postgresql", "database"},
		Log:        &emit.LogInPod{Mount: walMount, Dir: walIn, Files: "????????????????????????"},
		Move: &emit.LogMove{Unit: "postgresql@15-main", Data: "/var/lib/postgresql/15/main",
			Next: "standbys first"},
	}
}

// walIn finds the data directory (-D, PGDATA as in the official image, or the data's mount) and its
// pg_wal.
func walIn(mounted string, args []string, getenv func(string) string) (data, log string) {
	data = cmp.Or(emit.Argument(args, "-D"), getenv("PGDATA"), mounted, "/var/lib/postgresql/data")
	return data, path.Join(data, "pg_wal")
}

var reasons = map[string]string{
	"shared_buffers":               "PostgreSQL's own page cache: a checkpoint writes its dirty pages.",
	"max_connections":              "concurrent connections.",
	"checkpoint_timeout":           "longer means fewer checkpoints, less WAL (full-page images) and a longer recovery.",
	"checkpoint_completion_target": "the share of the interval over which a checkpoint spreads its writes: without pacing, they reach the volume in one burst.",
	"checkpoint_flush_after":       "makes the kernel write during the checkpoint, so that the final fsync has little left to do.",
	"max_wal_size":                 "a checkpoint starts when the WAL reaches about half of it, whatever the timeout.",
	"min_wal_size":                 "WAL files kept for reuse: up to this size no new ones are allocated.",
	"full_page_writes":             "logs each page in full at its first change after a checkpoint. Off risks torn pages after a crash.",
	"wal_buffers":                  "the size of the WAL buffers.",
	"synchronous_commit":           "off acknowledges before the WAL is durable: a crash loses the last commits, not the database.",
	"wal_writer_delay":             "how often the WAL is synced for commits that do not wait.",
	"commit_delay":                 "how long a flush waits for other commits.",
	"commit_siblings":              "how many other transactions must be active for it to wait.",
	"bgwriter_delay":               "how often the background writer runs.",
	"bgwriter_lru_maxpages":        "the maximum number of pages it writes per round.",
	"bgwriter_lru_multiplier":      "how far ahead of demand it writes.",
	"bgwriter_flush_after":         "makes the kernel write out the background writer's pages.",
	"backend_flush_after":          "makes the kernel write out pages that backends wrote themselves.",
}
