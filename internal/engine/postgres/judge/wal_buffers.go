package judge

import (
	"regexp"

	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

const (
	// leastFull is the rate from which full WAL buffers can hold up sessions: each time one of them
	// writes out what is in the way, which takes milliseconds at most on a volume that keeps up.
	leastFull = 10.0
	// fullRise is how many times as often as otherwise they have to be full.
	fullRise = 3.0
	// largeWALBuffers is the size from which more of them change little: a segment is 16 MB, and a
	// write cannot span more of them than fit (xlog.c, AdvanceXLInsertBuffer).
	largeWALBuffers = 64 << 20
)

// roomWaits are the waits for room in the WAL buffers: to map a page of them, and to insert behind a
// session that waits to map one.
var roomWaits = regexp.MustCompile(`^LWLock (WALBufMapping|WALInsert)(Lock)?$`)

func walBuffers() rules.Rule {
	r := rules.Rule{ID: "postgres/wal-buffers", Title: "WAL buffers are full", Kind: rules.Cause, Storage: true,
		When:    "plimsoll:postgres_wal_buffers_full:rate > 10",
		Needs:   []*rules.Signal{WALBuffersFull},
		NoAlert: "bulk loads fill the buffers without harm to anybody",
		Cause:   "WAL is collected in wal_buffers and written when a transaction commits. One that changes more than fits, or many at the same time, fill them before: the session that needs room has to write WAL itself in the middle of its statement, and all others that write wait for it.",
		Words: rules.Words{
			"full":  "WAL was written because the buffers were full {{.in}} times per second while commits stalled{{with .out}}, and {{.}} otherwise{{end}}.",
			"waits": "{{.share}} of the sessions executing then waited for room in them (otherwise {{.calm}}).",
			"size":  "wal_buffers is {{.size}}.",
		},
		Advice: map[string]rules.Advice{
			"larger": {Summary: "Set wal_buffers to 64 MB", Expect: "a session finds room without writing first",
				TradeOff: "a restart; that much of shared memory", Do: []*rules.Remedy{largerWALBuffers}},
			"smaller": {Summary: "Load in smaller transactions, and with COPY instead of single inserts",
				Expect:   "less WAL at once, and the buffers are written at commits",
				TradeOff: "a load that fails has to be continued", NoCommand: "it is a change of the application"},
			"quicker": {Summary: "Look at the WAL's volume: larger buffers only move the wait to the commit if it does not keep up",
				Expect:    "WAL leaves the buffers as it comes",
				TradeOff:  "none",
				NoCommand: "other findings say what holds the volume up; plimsoll trace shows what a write waits for"},
		}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		full := c.One(WALBuffersFull)
		if !c.Stall.IsDatabase || !c.Stall.Any() {
			return nil
		}

		in, out := timeline.Mean(timeline.At(full, c.Stall.Cells)), timeline.Mean(timeline.At(full, c.NotStalled()))
		if !(in >= leastFull) || out*fullRise > in {
			return nil
		}

		// Where waits are known they decide: full buffers are an episode of the stall or its cause.
		share, calm, known := sessionShare(c, roomWaits)
		f := r.Finding("postgres")
		if known {
			f.Weight = share - calm
			f.Severity = c.SeverityOf(f.Weight)
		} else {
			often := timeline.Where(full, func(x float64) bool { return x >= leastFull })
			if c.MeetsByChance(often) {
				return nil
			}
			f.Weight, _, _ = c.Attributable(often)
			if f.Severity = c.SeverityOf(f.Weight); f.Severity == rules.Critical {
				f.Severity = rules.Warning // that it coincides is known, not that sessions waited for it
			}
		}

		if !(f.Weight >= rules.MinAttributable) {
			return nil
		}

		f.Windows = c.Windows(c.Stall.Cells)
		f.Say("full", rules.Values{"in": rules.Number(in), "out": rules.Number(out)})
		f.Evidence = []rules.Evidence{
			c.Figure("times that the WAL buffers were full while stalled", WALBuffersFull, in, "1/s", c.Stall.Cells),
			c.Figure("times that they were full otherwise", WALBuffersFull, out, "1/s", c.NotStalled()),
		}

		if known {
			f.Say("waits", rules.Values{"share": rules.Part(share), "calm": rules.Part(calm)})
			f.Evidence = append(f.Evidence,
				c.Figure("of the sessions executing while stalled, those that waited for room in them", Waiting, share,
					"ratio", c.Stall.Cells))
		}

		size := timeline.Max(c.One(WALBuffers))
		if size > 0 {
			f.Say("size", rules.Values{"size": rules.Bytes(size)})
		}

		if !(size >= largeWALBuffers) {
			f.Advise("larger", nil)
		}

		f.Advise("smaller", nil)
		f.Advise("quicker", nil)
		return []rules.Finding{f}
	}

	return r
}
