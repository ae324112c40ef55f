package advise

import (
	"fmt"

	"plimsoll/internal/advise/budget"
	"plimsoll/internal/advise/emit"
)

// The background writer's rounds a second at its default delay of 200 ms, and the most pages that it
// takes in one (PostgreSQL's documentation, "Background Writer").
const (
	writerRounds   = 5
	writerPagesMax = 1_073_741_823
)

// ioBudget paces checkpoints and the background writer by what the data's volume gives.
func ioBudget(l *emit.Layout, data budget.Budget) (files []emit.File, apply, restarts string) {
	pages := min(max(int64(data.Background()/writerRounds), 1), writerPagesMax)
	text := l.Head("#", "PostgreSQL's I/O budget, for conf.d.") + fmt.Sprintf(`
# Spread a checkpoint over nearly the whole interval, and let the kernel write meanwhile.
checkpoint_completion_target = 0.9
checkpoint_flush_after = 256kB

# %d rounds a second of so many pages are half of the %.0f IOPS that the volume gives for ever.
bgwriter_delay = 200ms
bgwriter_lru_maxpages = %d
`, writerRounds, data.IOPS, pages)
	return []emit.File{emit.Text("budget/postgresql.conf", text)},
		"`budget/postgresql.conf`: into conf.d, then `SELECT pg_reload_conf()`. Values that the layout's own file sets come from there: leave them out here.",
		"PostgreSQL: nothing, a reload is enough."
}
