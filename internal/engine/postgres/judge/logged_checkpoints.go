package judge

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// slowFileS is how long the sync of one file takes on a device that has a backlog of other writes: a
	// sync of a file that is already written takes milliseconds.
	slowFileS = 1.0
	// slowSyncsS is the same for the syncs of one checkpoint.
	slowSyncsS = 3.0
)

func loggedCheckpoints() rules.Rule {
	rule := rules.Rule{ID: "postgres/logged-checkpoints", Title: "Checkpoints in the log wait for the disk",
		Kind: rules.Cause, Storage: true,
		When:    "plimsoll:postgres_logged_file_syncs_longest:seconds > 1 or plimsoll:postgres_checkpoint_sync:ratio > 3",
		Needs:   []*rules.Signal{loggedFileSyncs.Running, CheckpointSync},
		NoAlert: "it is about a log that was read; postgres/checkpoint-burst has an alert",
		Cause:   "At its end a checkpoint syncs each file that it wrote to. If the kernel has not written these pages yet, they all go to the device in one burst, and the WAL's syncs queue behind it. A sync of one file that takes seconds shows such a burst, or a slow device.",
		Words: rules.Words{
			"syncs":   "The log has {{.n}} checkpoints. The slowest sync of one file took {{.file}}{{with .at}} (until {{.}} UTC){{end}}, and the longest syncs of a whole checkpoint {{.sync}}.",
			"took":    "The longest checkpoint took {{.longest}}.",
			"files":   "They synced {{.files}} files on average.",
			"waits":   "Logged commits were slow for {{.share}} of their time.",
			"unknown": "Whether clients waited is not in the log: log_min_duration_statement adds that.",
		},
		Advice: map[string]rules.Advice{
			"pace": {Summary: "Pace the checkpoint: checkpoint_completion_target = 0.9 and checkpoint_flush_after = 256kB",
				Expect: "pages are on the device before the sync", TradeOff: "a little less merging of writes",
				Do: []*rules.Remedy{paceCheckpoints}},
			"record": {Summary: "Record the server and its devices (plimsoll record postgres://... host): they show who waited and what the device did",
				Expect: "the cause of slow syncs", TradeOff: "none", NoCommand: "it depends on where the server runs"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		files, runs, sync, ok := slowCheckpoints(input)
		if !ok {
			return nil
		}

		finding := rule.Finding("postgres")
		finding.Severity = rules.Warning
		slow := input.Credited(input.One(CheckpointSync))
		cells := timeline.Where(slow, func(x float64) bool { return x >= input.LeastOfCell(0.3, CheckpointSync) })
		finding.Windows, finding.PeriodS = input.Windows(cells), input.Period(cells.Close(input.Cells(3e9)))

		v := runs.Values()
		v["file"], v["at"], v["sync"] = rules.Seconds(files.Longest), files.Values()["at"], rules.Seconds(sync)
		finding.Say("syncs", v)
		finding.Say("took", v)
		finding.Evidence = append(files.Evidence(input, loggedFileSyncs)[1:2],
			runs.Evidence(input, loggedCheckpointRuns)[:2]...)
		finding.Evidence = append(finding.Evidence,
			input.Figure("syncs of one checkpoint, longest", CheckpointSync, sync,
				"seconds", cells))

		if n := timeline.Sum(input.One(LoggedFiles)) * input.Grid.StepSeconds(); n > 0 {
			finding.Say("files", rules.Values{"files": rules.Number(n / runs.N)})
			finding.Evidence = append(finding.Evidence,
				input.Figure("files synced per checkpoint, mean", LoggedFiles, n/runs.N,
					"", runs.Running))
		}

		// postgres/checkpoint-burst judges whether it explains a stall, by comparison with the time without
		// checkpoints.
		switch commits := input.SumOf(loggedCommits); {
		case input.Stall.Any():
			finding.Weight, finding.Severity = rules.Share(cells.Widen(1, 1), input.Stall.Cells), rules.Info
			if commits.N > 0 {
				finding.Say("waits", rules.Values{"share": rules.Part(rules.Share(commits.Running, cells))})
			}
		case !input.Stall.IsDatabase:
			finding.Weight, finding.Foremost = 1, true
			finding.Say("unknown", nil)
		default:
			finding.Severity = rules.Info
		}

		finding.Advise("pace", pacing(input))
		finding.Advise("record", nil)
		return []rules.Finding{finding}
	}

	return rule
}

// slowCheckpoints summarises the logged checkpoints; sync is the longest total sync time of one checkpoint,
// in seconds. ok reports whether a sync was slow.
func slowCheckpoints(c *rules.Case) (files, runs rules.LoggedSum, sync float64, ok bool) {
	files, runs = c.SumOf(loggedFileSyncs), c.SumOf(loggedCheckpointRuns)
	sync = timeline.Max(c.One(CheckpointSync)) * c.Grid.StepSeconds()
	return files, runs, sync, runs.N >= 1 && (files.Longest >= slowFileS || sync >= slowSyncsS)
}
