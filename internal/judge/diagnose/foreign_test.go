package diagnose_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/record/recording"
)

// A device that is known not to hold the database's files is reported as elsewhere on the host. It
// makes no finding about the database critical, and no purchase is recommended for it. A device with an
// unknown owner stays, and so does a disk below the database's own device.
func TestOtherDevicesAreElsewhere(t *testing.T) {
	const data, other = "mount./var/lib/postgresql", "mount./srv/backup"
	calm := func(s float64) did { return did{writes: 200, writeS: 0.001, writeKiB: 16, busy: 0.2} }
	full := func(s float64) did {
		if int(s)%60 < 15 {
			return capped(4500, 3000, 0.0005, 16, 0)(s)
		}
		return capped(500, 3000, 0.0005, 16, 0)(s)
	}

	at := func(in, out float64) func(s float64) float64 { // while vdb is full
		return func(s float64) float64 {
			if full(s).busy > 0.99 {
				return in
			}
			return out
		}
	}

	commits, active := at(50, 500), at(40, 1)
	for _, x := range []struct {
		name    string
		facts   map[string]string
		db, alt func(s float64) did
		own     bool // whether a critical finding about vdb is attributed to the database
		moved   bool // whether it is reported as elsewhere
	}{
		{"of a backup", map[string]string{data: "xfs rw /dev/vda", other: "ext4 rw /dev/vdb", "writer.1": "rsync pid=7 share=0.90 device=vdb", "writer.2": "postgres pid=9 share=0.10 device=vda"}, calm, full, false, true},
		{"of a log behind a link", map[string]string{data: "xfs rw /dev/vda", "mount./wal": "ext4 rw /dev/vdb", "writer.1": "postgres pid=9 share=0.90 device=vda,vdb"}, calm, full, true, false},
		{"of something, by the mounts alone", map[string]string{data: "xfs rw /dev/vda", other: "ext4 rw /dev/vdb"}, calm, full, false, false},
		{"not known", map[string]string{}, calm, full, true, false},
		{"below the database's", map[string]string{data: "xfs rw /dev/vda", "below.vda": "vdb vdc"}, calm, full, true, false},
		{"of the log, in the folder", map[string]string{data: "xfs rw /dev/vda", "mount./var/lib/postgresql/main/pg_wal": "xfs rw /dev/vdb"}, calm, full, true, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := forms(t, time.Second, 10*time.Minute).postgres(commits, active).node("vda", x.db).node("vdb", x.alt)
			if len(x.facts) > 0 {
				x.facts["server.data_directory"] = "/var/lib/postgresql/main"
			}

			w.mem.Source(recording.Source{Kind: "recording", Name: "r", Engine: "postgres", Facts: x.facts, Period: time.Second})
			r := w.diagnose(diagnose.Options{})
			own, elsewhere := 0, 0
			count := func(all []diagnose.Finding, into *int) {
				for _, f := range all {
					if f.Subject == "vdb" && f.Kind != diagnose.Refutation && f.Severity == diagnose.Critical {
						*into++
					}
				}
			}

			count(r.Findings, &own)
			count(r.Elsewhere, &elsewhere)

			for _, i := range r.Incidents {
				count(i.Findings, &own)
			}

			if (own > 0) != x.own || (elsewhere > 0) != x.moved {
				t.Errorf("%d critical findings of vdb are the database's, %d elsewhere: %s", own, elsewhere, r.Verdict)
			}

			if x.moved && (strings.Contains(r.Verdict, "vdb") || len(r.Actions) > 0) {
				t.Errorf("%s; %d actions", r.Verdict, len(r.Actions))
			}
		})
	}
}
