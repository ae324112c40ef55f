package advise

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/base/units"
	"plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/model/scenario"
)

// A setting is a line of a configuration.
type setting struct {
	path    string // in the scenario
	name    string
	value   string
	before  string
	restart bool // it needs a restart; the others need a reload
}

// settings writes a file for conf.d. Source of the names and of which ones need a restart:
// PostgreSQL 15 documentation, chapter 20.
func settings(transition *emit.Transition) (*emit.Part, error) {
	before, after := scenario.ConfigOf[*model.Config](transition.Before),
		scenario.ConfigOf[*model.Config](transition.After)
	at := func(name string) string { return "engine.postgres." + name }
	all := []setting{
		{at("shared_buffers"), "shared_buffers", pgSize(after.SharedBuffers), pgSize(before.SharedBuffers), true},
		{at("max_connections"), "max_connections", strconv.Itoa(after.MaxConnections),
			strconv.Itoa(before.MaxConnections), true},
		{at("checkpoint_timeout"), "checkpoint_timeout", pgTime(after.CheckpointTimeout),
			pgTime(before.CheckpointTimeout), false},
		{at("checkpoint_completion_target"), "checkpoint_completion_target", pgNumber(after.CheckpointCompletionTarget),
			pgNumber(before.CheckpointCompletionTarget), false},
		{at("checkpoint_flush_after"), "checkpoint_flush_after", pgSize(after.CheckpointFlushAfter),
			pgSize(before.CheckpointFlushAfter), false},
		{at("max_wal_size"), "max_wal_size", pgMegabytes(after.MaxWALSize), pgMegabytes(before.MaxWALSize), false},
		{at("min_wal_size"), "min_wal_size", pgMegabytes(after.MinWALSize), pgMegabytes(before.MinWALSize), false},
		{at("full_page_writes"), "full_page_writes", onOff(after.FullPageWrites),
			onOff(before.FullPageWrites), false},
		{at("wal_buffers"), "wal_buffers", pgAuto(after.WALBuffers), pgAuto(before.WALBuffers), true},
		{at("synchronous_commit"), "synchronous_commit", onOff(after.SynchronousCommit),
			onOff(before.SynchronousCommit), false},
		{at("wal_writer_delay"), "wal_writer_delay", pgTime(after.WALWriterDelay),
			pgTime(before.WALWriterDelay), false},
		{at("commit_delay"), "commit_delay", strconv.FormatInt(after.CommitDelay.Std().Microseconds(), 10),
			strconv.FormatInt(before.CommitDelay.Std().Microseconds(), 10), false},
		{at("commit_siblings"), "commit_siblings", strconv.Itoa(after.CommitSiblings),
			strconv.Itoa(before.CommitSiblings), false},
		{at("bgwriter_delay"), "bgwriter_delay", pgTime(after.BgwriterDelay), pgTime(before.BgwriterDelay), false},
		{at("bgwriter_lru_maxpages"), "bgwriter_lru_maxpages", strconv.Itoa(after.BgwriterLRUMaxpages),
			strconv.Itoa(before.BgwriterLRUMaxpages), false},
		{at("bgwriter_lru_multiplier"), "bgwriter_lru_multiplier", pgNumber(after.BgwriterLRUMultiplier),
			pgNumber(before.BgwriterLRUMultiplier), false},
		{at("bgwriter_flush_after"), "bgwriter_flush_after", pgSize(after.BgwriterFlushAfter),
			pgSize(before.BgwriterFlushAfter), false},
		{at("backend_flush_after"), "backend_flush_after", pgSize(after.BackendFlushAfter),
			pgSize(before.BackendFlushAfter), false},
	}

	part := &emit.Part{}
	text := transition.Head("#", "Settings of PostgreSQL, for conf.d: the last one to set a parameter wins.")

	var restart, back []string
	for _, s := range all {
		// Only the parts that the layout changes; the rest of the server's configuration stays its own.
		if s.value == s.before {
			continue
		}
		text += "\n" + transition.Comments(s.path)
		if s.restart {
			text += "# Needs a restart.\n"
			restart = append(restart, "`"+s.name+"`")
		}
		text += s.name + " = " + s.value + "\n"
		back = append(back, "`"+s.name+" = "+s.before+"`")
		part.Applies = append(part.Applies, s.path)
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

// pgMegabytes is pgSize for settings whose unit is a megabyte. It rounds up, because PostgreSQL
// would round down.
func pgMegabytes(s units.Size) string { return pgSize((s + units.MiB - 1) / units.MiB * units.MiB) }

// pgAuto is pgSize with -1 for 0, which lets PostgreSQL choose.
func pgAuto(s units.Size) string {
	if s == 0 {
		return "-1"
	}
	return pgSize(s)
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

func pgNumber(r units.Ratio) string { return strconv.FormatFloat(float64(r), 'f', -1, 64) }

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}
