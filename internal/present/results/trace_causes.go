package results

import (
	"fmt"
	"path"

	"plimsoll/internal/base/units"
	"plimsoll/internal/present/document"
	"plimsoll/internal/trace/chain"
)

// causePhrase completes a sentence after a share of the time.
func causePhrase(c *chain.Cause) string {
	switch c.Kind {
	case chain.TheDevice:
		return "the device itself"
	case chain.TheFlush:
		return "the device's flushes"
	case chain.TheLimit:
		if c.Culprit.Cgroup != "" {
			return "a limit of its cgroup " + c.Culprit.Cgroup
		}
		return "a limit of its cgroup"
	case chain.Processor:
		return "ready to run, without a processor"
	case chain.TheKernel:
		return "the kernel's own work"
	case chain.NotKnown:
		return "unexplained"
	case chain.NobodyKnown:
		return "behind requests that were not traced"
	default:
		return "behind " + culpritPhrase(&c.Culprit)
	}
}

// culpritPhrase says what was ahead of the call, and why.
func culpritPhrase(culprit *chain.Culprit) string {
	file := path.Base(culprit.File)
	switch {
	case culprit.Holds != "":
		file = culprit.Holds
	case culprit.File != "":
	case culprit.Inode != 0:
		file = fmt.Sprintf("inode %d", culprit.Inode)
	default:
		file = ""
	}

	who := culprit.Comm
	if culprit.PID != 0 && culprit.Comm == "" {
		who = fmt.Sprintf("process %d", culprit.PID)
	}

	pages := "pages"
	if file != "" {
		pages = "pages of " + file
	}

	if culprit.Self {
		pages = "its own pages"
		// For a sync the file is the one being synced, so naming it would repeat the call.
		if file != "" && !(culprit.Why == chain.WhyFsync) {
			pages = "its own pages of " + file
		}
	}

	written := ""
	if who != "" && !culprit.Self {
		written = " that " + who + " wrote"
	}

	// Joins the reason: "pages that X wrote and the kernel flushed", or "pages that the kernel
	// flushed".
	and := " that"
	if written != "" {
		and = written + " and"
	}

	switch culprit.Why {
	case chain.WhyBackground:
		return pages + and + " the kernel flushed because too much memory was dirty"
	case chain.WhyPeriodic:
		return pages + and + " the kernel flushed because they were old"
	case chain.WhySyncAll:
		return pages + and + " a sync of the whole file system flushed"
	case chain.WhyReclaim, chain.WhyOtherFlush:
		return pages + and + " the kernel flushed"
	case chain.WhyFsync:
		if culprit.Self {
			return pages
		}
		return fmt.Sprintf("%s that %s's own sync wrote", pages, who)
	case chain.WhyDirect:
		return owned(culprit, who, "direct writes")
	case chain.WhyRead:
		return owned(culprit, who, "reads")
	case chain.WhyJournal:
		if culprit.File != "" || culprit.Inode != 0 {
			return pages + and + " the journal had to write first"
		}
		return "ext4's journal"
	case chain.WhyLog:
		return "XFS's log"
	case chain.WhyMetadata:
		return "the file system's metadata"
	case chain.WhyFlush:
		return "a flush of the device's cache"
	case chain.WhyDiscard:
		return "discards"
	case chain.WhyLock:
		return fmt.Sprintf("a lock that %s (%d) held", who, culprit.PID)
	case chain.WhyHandle:
		return fmt.Sprintf("a transaction that %s (%d) kept open", who, culprit.PID)
	}

	return who
}

func owned(c *chain.Culprit, who, what string) string {
	if c.Self {
		return "its own " + what
	}
	return what + " of " + who
}

// causesShown is how many causes a report lists.
const causesShown = 12

func causesTable(causes []chain.Cause) *document.Table {
	tab := &document.Table{Caption: "What the slow calls waited for", Short: 6,
		Columns: []document.Column{{Text: "share", Number: true}, {Text: "time", Number: true},
			{Text: "requests ahead", Number: true, Drop: 2}, {Text: "bytes ahead", Number: true, Drop: 1},
			{Text: "waited for"}, {Text: "process", Drop: 3}}}

	for i := range causes {
		c := &causes[i]
		if i == causesShown {
			break
		}

		requests, size, process := "", "", ""
		if c.Requests > 0 {
			requests, size = units.Count(int64(c.Requests)), units.Bytes(float64(c.Bytes))
		}

		if c.Culprit.PID != 0 {
			process = fmt.Sprintf("%s %d", c.Culprit.Comm, c.Culprit.PID)
			if c.Culprit.Cgroup != "" {
				process += " in " + c.Culprit.Cgroup
			}
		}

		tab.Add([]document.Cell{{Text: units.Percent(c.Share)}, {Text: traceTime(c.Time)}, {Text: requests},
			{Text: size}, {Text: causePhrase(c)}, {Text: process, Roles: "long"}})
	}

	return tab
}
