package judge

import "plimsoll/internal/judge/rules"

// compared lists the signals for comparing two recordings.
var compared = rules.Compared{
	Operations: []rules.Operations{{Signals: []*rules.Signal{ProposalsCommitted}, EachCountsAll: true}},
	Source:     "etcd's /metrics",
	Figures: []rules.Figure{
		{Name: "wal_fsync_p99", Title: "WAL fsync p99", Unit: "seconds", Wanted: rules.Less, Felt: true,
			Classes: WALFsyncClasses, Q: 0.99},
		{Name: "backend_commit_p99", Title: "backend commit p99", Unit: "seconds", Wanted: rules.Less, Felt: true,
			Classes: BackendCommitClasses, Q: 0.99},
	},
}
