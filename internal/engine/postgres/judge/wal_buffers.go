package judge

import (
	"regexp"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// minFull is the rate per second above which full WAL buffers can delay sessions: each time, one
	// session writes WAL to make room, which takes milliseconds at most on a volume that keeps up.
	minFull = 10.0
	// fullRise is how many times more often than at other times the buffers must be full.
	fullRise = 3.0
	// largeWALBuffers is the size above which larger buffers gain little: a segment is 16 MB, and
	// one write cannot span more segments than the buffers hold (xlog.c, AdvanceXLInsertBuffer).
	largeWALBuffers = 64 << 20
)

// roomWaits are the waits for room in the WAL buffers: to map a buffer page, or to insert behind a
// session that waits to map one.
var roomWaits = regexp.MustCompile(`^LWLock (WALBufMapping|WALInsert)(Lock)?$`)

func walBuffers() rules.Rule {
	rule := rules.Rule{ID: "postgres/wal-buffers",
		Title: "WAL buffers are full", Kind: rules.Cause, Storage: true, Stalled: true,
		When:    "plimsoll:postgres_wal_buffers_full:rate > 10",
		Needs:   []*rules.Signal{WALBuffersFull},
		NoAlert: "bulk loads fill the buffers without harm",
		Cause:   "PostgreSQL collects WAL in wal_buffers and writes it when a transaction commits. A transaction that changes more than fits, or many concurrent ones, fill the buffers before that. Then the session that needs room has to write WAL in the middle of its statement, and all other writers wait for it.",
		Words: rules.Words{
			"full":  "While commits stalled, full buffers forced a WAL write {{.in}} times per second{{with .out}}, and {{.}} times otherwise{{end}}.",
			"waits": "Meanwhile {{.share}} of the executing sessions waited for room in the buffers (otherwise {{.calm}}).",
			"size":  "wal_buffers is {{.size}}.",
		},
		Advice: map[string]rules.Advice{
			"larger": {Summary: "Set wal_buffers to 64 MB", Expect: "a session finds room without writing first",
				TradeOff: "a restart; that much shared memory", Do: []*rules.Remedy{largerWALBuffers}},
			"smaller": {Summary: "Load in smaller transactions, and with COPY instead of single inserts",
				Expect:   "less WAL per transaction, and commits write the buffers",
				TradeOff: "a load that fails partway has to be resumed", NoCommand: "it is a change to the application"},
			"quicker": {Summary: "Check the WAL's volume: if it does not keep up, larger buffers only move the wait to the commit",
				Expect:    "WAL leaves the buffers as fast as it arrives",
				TradeOff:  "none",
				NoCommand: "other findings name what slows the volume down; plimsoll trace shows what a write waits for"},
		}}

	rule.Judge = func(input *rules.Case, _ []timeline.Track) []rules.Finding {
		full := input.One(WALBuffersFull)
		in, out := timeline.Mean(timeline.At(full, input.Stall.Cells)),
			timeline.Mean(timeline.At(full, input.NotStalled()))
		if !(in >= minFull) || out*fullRise > in {
			return nil
		}

		// Wait events decide if they are known: full buffers may be a side effect of a stall or its
		// cause.
		share, calm, known := sessionShare(input, roomWaits)
		finding := rule.Finding("postgres")
		if known {
			finding.Weight = share - calm
			finding.Severity = input.SeverityOf(finding.Weight)
		} else {
			often := timeline.Where(full, func(x float64) bool { return x >= minFull })
			if input.MeetsByChance(often) {
				return nil
			}
			finding.Weight, _, _ = input.Attributable(often)
			if finding.Severity = input.SeverityOf(finding.Weight); finding.Severity == rules.Critical {
				finding.Severity = rules.Warning // it coincides, but nothing shows that sessions waited for it
			}
		}

		if !(finding.Weight >= rules.MinAttributable) {
			return nil
		}

		finding.Windows = input.Windows(input.Stall.Cells)
		finding.Say("full", rules.Values{"in": rules.Number(in), "out": rules.Number(out)})
		finding.Evidence = []rules.Evidence{
			input.Figure("WAL writes forced by full buffers while stalled", WALBuffersFull, in, "1/s", input.Stall.Cells),
			input.Figure("WAL writes forced by full buffers otherwise", WALBuffersFull, out, "1/s", input.NotStalled()),
		}

		if known {
			finding.Say("waits", rules.Values{"share": rules.Part(share), "calm": rules.Part(calm)})
			finding.Evidence = append(finding.Evidence,
				input.Figure("share of executing sessions that waited for room in the WAL buffers while stalled", Waiting,
					share, "ratio", input.Stall.Cells))
		}

		size := timeline.Max(input.One(WALBuffers))
		if size > 0 {
			finding.Say("size", rules.Values{"size": rules.Bytes(size)})
		}

		if !(size >= largeWALBuffers) {
			finding.Advise("larger", nil)
		}

		finding.Advise("smaller", nil)
		finding.Advise("quicker", nil)
		return []rules.Finding{finding}
	}

	return rule
}
