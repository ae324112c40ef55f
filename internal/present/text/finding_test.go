package text

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/present/document"
)

// capped is a finding with everything that one can have.
func capped() document.Finding {
	return document.Finding{
		Number:  1,
		Level:   document.Critical,
		Word:    "critical",
		Title:   "The volume's IOPS cap binds",
		Subject: "nvme1n1",
		Rule:    "disk/iops-capped",
		Weight:  "in 94 % of the stalled time",
		Summary: "nvme1n1 serves 3,000 requests a second and no more.",
		Cause:   "A gp3 volume has 3,000 IOPS unless more are ordered.",
		When:    []document.Cell{{Text: "15:00:10 to 15:00:40"}},
		Period:  "every 60.0 s",
		Observations: []document.Observation{
			{
				Value:  "3,003 IOPS",
				Text:   "highest rate",
				When:   document.Cell{Text: "15:00:12"},
				Metric: "node_disk_writes_completed_total",
			},
			{Value: "98 %", Text: "of the time busy", When: document.Cell{Text: "15:00:00"}, Whole: true},
			{Text: "No other volume was busy."}},
		Fixes: []document.Fix{
			{Summary: "Order 6,000 IOPS", Expect: "the stalls end", Cost: "15 USD a month"},
		},
	}
}

// A finding starts with its severity. Evidence that holds for the whole time has no time; metric names are
// only for a verbose page.
func TestFinding(t *testing.T) {
	draws(t, page{width: 80}, func(p *page) { p.findings([]document.Finding{capped()}) }, `
1  CRITICAL  The volume's IOPS cap binds
   nvme1n1, disk/iops-capped, in 94 % of the stalled time
   nvme1n1 serves 3,000 requests a second and no more.
   cause     A gp3 volume has 3,000 IOPS unless more are ordered.
   when      15:00:10 to 15:00:40; every 60.0 s
   evidence  3,003 IOPS  highest rate (15:00:12)
                   98 %  of the time busy
             No other volume was busy.
   fix       Order 6,000 IOPS
     expect    the stalls end
     costs     15 USD a month
`)
	draws(
		t,
		page{width: 50, verbose: true, ascii: true},
		func(p *page) { p.findings([]document.Finding{capped()}) },
		`
1  CRITICAL  The volume's IOPS cap binds
   nvme1n1, disk/iops-capped, in 94 % of the
   stalled time
   nvme1n1 serves 3,000 requests a second and no
   more.
   cause     A gp3 volume has 3,000 IOPS unless
             more are ordered.
   when      15:00:10 to 15:00:40; every 60.0 s
   evidence  3,003 IOPS  highest rate (15:00:12)
                         [node_disk_writes_complet
                         ed_total]
                   98 %  of the time busy
             No other volume was busy.
   fix       Order 6,000 IOPS
     expect    the stalls end
     costs     15 USD a month
`,
	)
}

// Refutations are not numbered, because there is nothing to do about them. Multiple fixes are numbered.
func TestFindingRefuted(t *testing.T) {
	f := capped()
	f.Level, f.Cause, f.When, f.Observations = document.Not, "The cache was 12 % full.", nil, nil
	f.Fixes = []document.Fix{{Summary: "Leave the cache alone"}, {Summary: "Look at the disk"}}
	draws(t, page{width: 60}, func(p *page) { p.findings([]document.Finding{f}) }, `
x  The volume's IOPS cap binds
   nvme1n1, disk/iops-capped, in 94 % of the stalled time
   nvme1n1 serves 3,000 requests a second and no more.
   fix 1     Leave the cache alone
   fix 2     Look at the disk
`)
	draws(t, page{width: 60, verbose: true}, func(p *page) { p.findings([]document.Finding{f}) }, `
x  The volume's IOPS cap binds
   nvme1n1, disk/iops-capped, in 94 % of the stalled time
   nvme1n1 serves 3,000 requests a second and no more.
   because   The cache was 12 % full.
   fix 1     Leave the cache alone
   fix 2     Look at the disk
`)
}

// The fifth finding and an informational one are shortened; findings that the document marks are shown in
// full.
func TestFindingsAfterTheFirst(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(*document.Finding)
		verbose   bool
		cause     bool
		evidence  bool
		shortened bool
	}{
		{name: "fourth", change: func(f *document.Finding) { f.Number = 4 }, cause: true, evidence: true},
		{name: "fifth", change: func(f *document.Finding) { f.Number = 5 }, shortened: true},
		{name: "fifth, verbose", change: func(f *document.Finding) { f.Number = 5 }, verbose: true, cause: true, evidence: true},
		{name: "fifth, whole", change: func(f *document.Finding) { f.Number, f.Full = 5, true }, cause: true, evidence: true},
		{name: "fifth, whose evidence is its result", change: func(f *document.Finding) { f.Number, f.Essential = 5, true }, evidence: true, shortened: true},
		{name: "information", change: func(f *document.Finding) { f.Word = "info" }, shortened: true},
	} {
		f := capped()
		c.change(&f)
		p := page{width: 80, verbose: c.verbose}
		p.findings([]document.Finding{f})
		got := p.out.String()
		if strings.Contains(got, "cause") != c.cause || strings.Contains(got, "3,003 IOPS") != c.evidence ||
			p.shortened != c.shortened {
			t.Errorf("%s: shortened %v:\n%s", c.name, p.shortened, got)
		}
	}
}

// Long lists end in "and N more", and only if N is at least two.
func TestFindingLimits(t *testing.T) {
	of := func(n int) document.Finding {
		f := document.Finding{Number: 1, Word: "warning"}
		for i := range n {
			f.Among = append(f.Among, fmt.Sprintf("db%d", i+1))
			f.When = append(f.When, document.Cell{Text: fmt.Sprintf("15:0%d", i)})
			f.Observations = append(f.Observations, document.Observation{Text: fmt.Sprintf("fact %d.", i+1)})
		}
		return f
	}

	for _, c := range []struct {
		n       int
		verbose bool
		more    string // the numbers of "and N more", in the order: databases, windows, observations
	}{
		{n: 3, more: ""}, {n: 4, more: ""}, {n: 5, more: "2"}, {n: 6, more: "3"}, {n: 7, more: "4 2"}, {n: 8, more: "2 5 3"}, {n: 8, verbose: true, more: ""},
	} {
		p := page{width: 200, verbose: c.verbose}
		p.findings([]document.Finding{of(c.n)})
		var more []string
		for _, part := range strings.Split(p.out.String(), "and ")[1:] {
			more = append(more, strings.Fields(part)[0])
		}
		if got := strings.Join(more, " "); got != c.more || p.shortened != (c.more != "") {
			t.Errorf(
				"%d of each, verbose %v: %q more, want %q; shortened %v\n%s",
				c.n,
				c.verbose,
				got,
				c.more,
				p.shortened,
				p.out.String(),
			)
		}
	}
}

// What could not be judged is grouped by what to record. Few gaps are listed even if they matter little.
func TestGaps(t *testing.T) {
	gaps := []document.Gap{
		{
			Advice: "Run node_exporter next to the database.",
			Rules: []document.Unjudged{
				{
					Rule:    "disk/iops-capped",
					Missing: []string{"node_disk_reads_completed_total", "node_disk_writes_completed_total"},
				},
				{Rule: "host/swapping", Missing: []string{"node_vmstat_pswpin"}},
			},
		},
		{
			Advice: "Turn on track_io_timing.",
			Rules: []document.Unjudged{
				{Rule: "postgres/slow-reads", Missing: []string{"pg_stat_database_blk_read_time"}},
			},
		}}
	draws(t, page{width: 80}, func(p *page) { p.gaps(gaps, false) }, `
   disk/iops-capped, host/swapping
     record  Run node_exporter next to the database.
   postgres/slow-reads
     record  Turn on track_io_timing.
`)
	draws(t, page{width: 80}, func(p *page) { p.gaps(gaps, true) }, `
   3 rules: -v lists them, with what to record next time
`)
	draws(t, page{width: 80}, func(p *page) { p.gaps(gaps[1:], true) }, `
   postgres/slow-reads
     record  Turn on track_io_timing.
`)
	draws(t, page{width: 80, verbose: true}, func(p *page) { p.gaps(gaps, true) }, `
   disk/iops-capped, host/swapping
     record  Run node_exporter next to the database.
     metrics disk/iops-capped: node_disk_reads_completed_total;
             node_disk_writes_completed_total
     metrics host/swapping: node_vmstat_pswpin

   postgres/slow-reads
     record  Turn on track_io_timing.
     metrics postgres/slow-reads: pg_stat_database_blk_read_time
`)
}
