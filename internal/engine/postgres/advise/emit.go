package advise

import (
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/model/scenario"
)

// settings writes a file for conf.d.
func settings(transition *emit.Transition) (*emit.Part, error) {
	after := scenario.ConfigOf[*model.Config](transition.After)
	before := scenario.ConfigOf[*model.Config](transition.Before).Settings()
	at := func(name string) string { return "engine.postgres." + name }

	part := &emit.Part{}
	text := transition.Head("#", "Settings of PostgreSQL, for conf.d: the last one to set a parameter wins.")

	var restart, back []string
	for i, s := range after.Settings() {
		// Only the parts that the layout changes; the rest of the server's configuration stays its own.
		value, was := pgValue(s), pgValue(before[i])
		if value == was {
			continue
		}
		text += "\n" + transition.Comments(at(s.Name))
		if s.Restart {
			text += "# Needs a restart.\n"
			restart = append(restart, "`"+s.Name+"`")
		}
		text += s.Name + " = " + value + "\n"
		back = append(back, "`"+s.Name+" = "+was+"`")
		part.Applies = append(part.Applies, at(s.Name))
	}

	if len(part.Applies) == 0 {
		return nil, nil
	}

	const name = "90-plimsoll.conf"
	part.Files = []emit.File{emit.Text("postgres/"+name, text)}
	part.Apply = []string{"Copy `postgres/" + name +
		"` into the server's `conf.d` (Debian: `/etc/postgresql/<version>/<cluster>/conf.d`; elsewhere add `include_dir = 'conf.d'` to postgresql.conf; if it has a file of that name, keep a copy of it first), check " +
		"`SELECT name, setting, applied, error FROM pg_file_settings WHERE NOT applied OR error IS NOT NULL`, which reads the files again without applying them, and `SHOW data_directory`, which shows whether this is the right server, then `SELECT pg_reload_conf()`. " +
		"Settings made by `ALTER SYSTEM` override this file: remove them with `ALTER SYSTEM RESET`."}

	if len(restart) > 0 {
		part.Restarts = []string{"PostgreSQL, for " + strings.Join(restart, ", ") +
			". `SELECT name FROM pg_settings WHERE pending_restart` shows which settings wait for a restart."}
	} else {
		part.Restarts = []string{"PostgreSQL: nothing, a reload is enough."}
	}

	part.Verify = []string{"`SHOW checkpoint_timeout` and so on give the new values; `log_checkpoints = on` shows how long checkpoints write and sync."}
	part.Back = []string{"Remove `" + name + "` from `conf.d`, or put the copy back, and reload (or restart). The old values: " +
		strings.Join(back, ", ") + ", if the scenario had them."}
	if transition.Changed(at("full_page_writes")) && !after.FullPageWrites {
		part.Risks = append(
			part.Risks, "`full_page_writes = off`: a crash can leave torn pages, which means data loss, unless the file system never tears 8 kB.")
	}

	if transition.Changed(at("synchronous_commit")) && !after.SynchronousCommit {
		part.Risks = append(
			part.Risks, "`synchronous_commit = off`: a crash loses acknowledged commits of up to three times `wal_writer_delay`.")
	}

	if transition.Changed(at("checkpoint_timeout")) || transition.Changed(at("max_wal_size")) {
		part.Risks = append(
			part.Risks, "More WAL between checkpoints makes recovery after a crash longer, and takes room on its volume.")
	}

	return part, nil
}

// pgSize formats a size in PostgreSQL's binary units; PostgreSQL rounds it to blocks.
func pgSize(s units.Size) string {
	switch {
	case s == 0:
		return "0"
	case s%units.GiB == 0:
		return fmt.Sprintf("%dGB", int64(s/units.GiB))
	case s%units.MiB == 0:
		return fmt.Sprintf("%dMB", int64(s/units.MiB))
	}
	return fmt.Sprintf("%dkB", int64((s+units.KiB-1)/units.KiB))
}

// pgValue formats a setting. The unit of some sizes is a megabyte: they are rounded up, because PostgreSQL
// would round down. -1 lets PostgreSQL choose the WAL buffers.
func pgValue(s model.Setting) string {
	size := pgSize
	switch s.Name {
	case "max_wal_size", "min_wal_size":
		size = func(x units.Size) string { return pgSize((x + units.MiB - 1) / units.MiB * units.MiB) }
	case "wal_buffers":
		if s.Value == units.Size(0) {
			return "-1"
		}
	}
	return s.Text(size, pgTime)
}

// pgTime formats a duration in the largest exact unit, down to milliseconds.
func pgTime(d units.Duration) string {
	switch n := d.Std(); {
	case n%time.Minute == 0:
		return fmt.Sprintf("%dmin", int64(n/time.Minute))
	case n%time.Second == 0:
		return fmt.Sprintf("%ds", int64(n/time.Second))
	default:
		return fmt.Sprintf("%dms", n.Round(time.Millisecond).Milliseconds())
	}
}
