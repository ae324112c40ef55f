package advise

import (
	"fmt"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/advise/emit"
)

// The background writer's rounds per second at its default delay of 200 ms, and the maximum number
// of pages per round (PostgreSQL's documentation, "Background Writer").
const (
	writerRounds   = 5
	writerPagesMax = 1_073_741_823
)

// ioBudget paces checkpoints and the background writer by the data volume's sustained limits.
func ioBudget(l *emit.Transition, data budget.Budget) *emit.Part {
	pages := min(max(int64(data.Background()/writerRounds), 1), writerPagesMax)
	text := l.Head("#", "PostgreSQL's I/O budget, for conf.d.") + fmt.Sprintf(`
# Spread a checkpoint over nearly the whole interval, and let the kernel write during it.
checkpoint_completion_target = 0.9
checkpoint_flush_after = 256kB

# %d rounds per second with this many pages use half of the volume's sustained %.0f IOPS.
bgwriter_delay = 200ms
bgwriter_lru_maxpages = %d
`, writerRounds, data.IOPS, pages)

	const (
		settings = "checkpoint_completion_target, checkpoint_flush_after, bgwriter_delay and bgwriter_lru_maxpages"
		file     = "`zz-plimsoll-budget.conf`"
	)
	return &emit.Part{
		Files: []emit.File{emit.Text("budget/postgresql.conf", text)},
		Apply: []string{"`budget/postgresql.conf`: keep what `SELECT name, setting, unit, source, sourcefile FROM pg_settings WHERE name ~ '^(checkpoint_(completion|flush)|bgwriter_(delay|lru_maxpages))'` prints. " +
			"A value whose sourcefile is postgresql.auto.conf, or whose source is `command line`, prevails over the file. " +
			"Copy the file to conf.d as " + file + ", without the values that the layout's own file sets, then `SELECT pg_reload_conf()`. The query then shows the new values."},
		Back: []string{"PostgreSQL: remove " + file + " from conf.d, then `SELECT pg_reload_conf()`. The query shows the former " +
			settings + " again."},
		Restarts: []string{"PostgreSQL: nothing, a reload is enough."},
	}
}
