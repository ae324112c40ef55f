package judge

import (
	"math"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func loggedFailures() rules.Rule {
	rule := rules.Rule{ID: "postgres/logged-failures", Title: "The log reports failures", Kind: rules.Cause,
		Whole:   true,
		When:    "plimsoll:postgres_logged_no_space:rate > 0 or plimsoll:postgres_logged_fsync_failures:rate > 0 or plimsoll:postgres_logged_archive_failures:rate > 0 or plimsoll:postgres_logged_replication_timeouts:rate > 0 or plimsoll:postgres_logged_crashes:rate > 0",
		Needs:   []*rules.Signal{LoggedLines},
		NoAlert: "it is about a log that was read",
		Cause:   "A full file system stops writes, and the whole server if it holds the WAL. After a failed fsync the server restarts, because the kernel may have dropped the pages. A failing archive_command keeps all WAL until the disk is full. A replication timeout means that a standby did not answer in time.",
		Words: rules.Words{
			"no space":    "{{.n}} lines report a full file system (first at {{.at}} UTC).",
			"fsync":       "{{.n}} lines report that fsync failed (first at {{.at}} UTC): a fault of the device or of the layer below; the server restarts.",
			"crash":       "{{.n}} lines report a crash or a start without a clean shutdown (first at {{.at}} UTC).",
			"archive":     "archive_command failed {{.n}} times (first at {{.at}} UTC): WAL is kept until it succeeds.",
			"replication": "Connections to a standby timed out {{.n}} times (first at {{.at}} UTC).",
		},
		Advice: map[string]rules.Advice{
			"read": {Summary: "Read these lines: they name the file, the command or the standby", Expect: "the object that failed",
				TradeOff: "none", NoCommand: "it depends on what failed"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		finding := rule.Finding("postgres")
		finding.Severity, finding.Weight = rules.Info, 0
		cells := make(timeline.Mask, input.Grid.N)

		// Ordered by how much they hurt. Restarts may be maintenance, and a standby may be elsewhere.
		for _, failure := range []struct {
			of          *rules.Signal
			words, text string
			severity    rules.Severity
		}{
			{LoggedNoSpace, "no space", "log lines about a full file system", rules.Critical},
			{LoggedFsyncFailures, "fsync", "log lines about a failed fsync", rules.Critical},
			{LoggedCrashes, "crash", "log lines about a crash or an unclean start", rules.Warning},
			{LoggedArchiveFailures, "archive", "failures of archive_command", rules.Warning},
			{LoggedReplicationTimeouts, "replication", "replication timeouts", rules.Info},
		} {
			lines := input.One(failure.of)
			when := timeline.Where(lines, func(v float64) bool { return v > 0 })
			eps := when.Episodes()
			if len(eps) == 0 {
				continue
			}

			n := math.Round(timeline.Sum(lines) * input.Grid.StepSeconds())
			finding.Say(failure.words, rules.Values{"n": rules.Events(n),
				"at": rules.Moment(input.Grid.Time(eps[0].First))})
			finding.Evidence = append(finding.Evidence, input.Figure(failure.text, failure.of, n, "", when))
			cells = cells.Or(when)

			if failure.severity == rules.Critical || failure.severity == rules.Warning &&
				finding.Severity == rules.Info {
				finding.Severity = failure.severity
			}
		}

		if len(finding.Evidence) == 0 {
			return nil
		}

		// Only a disk that refuses writes is more important than the clients' latency.
		if finding.Severity == rules.Critical {
			finding.Foremost, finding.Weight = true, 1
		}

		finding.Windows = input.Windows(cells)
		finding.Advise("read", nil)
		return []rules.Finding{finding}
	}

	return rule
}
