package examples

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/rules"
)

// mongods are captures of a real mongod on emulated volumes: its own diagnostic.data, which does not
// contain the data's volume, and iostat of that volume.
const mongods = "../../shared/data/mongod"

// mongodDiagnosis diagnoses some files of a run.
func mongodDiagnosis(t *testing.T, run string, files ...string) *diagnose.Report {
	t.Helper()
	if _, err := os.Stat(filepath.Join(mongods, run)); err != nil {
		t.Skip("the captures of a mongod are not beside the checkout (../shared/data/mongod from its root)")
	}
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i] = filepath.Join(mongods, run, file)
	}
	return diagnoseFiles(t, paths...)
}

// Without the data's volume, nothing is claimed about it: the only recorded device was idle.
func TestMongodAlone(t *testing.T) {
	for _, run := range []string{"base-600", "base-1000", "journal-800", "slow-300", "slow-dirty-300", "slow-ext4-300", "slow-400-nowbt",
		"slow-journal-300-nowbt", "lock-400", "scan-400"} {
		t.Run(run, func(t *testing.T) {
			r := mongodDiagnosis(t, run, "diagnostic.data")
			if !strings.Contains(r.Verdict, "The data is on a device that is not in these sources") {
				t.Errorf("that the volume is not seen is not in the verdict: %s", r.Verdict)
			}
			for _, x := range r.Incidents {
				for _, f := range x.Findings {
					if strings.HasPrefix(f.Rule, "disk/") || strings.Contains(f.Summary, "did not wait in a volume's queue") {
						t.Errorf("%s is judged by the wrong device: %s", f.Rule, f.Summary)
					}
				}
			}
		})
	}
}

// With the volume's own log, the disk is judged.
func TestMongodWithVolume(t *testing.T) {
	r := mongodDiagnosis(t, "slow-300", "diagnostic.data", "iostat.log")
	if f, ok := byRule(r)["evidence/volume-not-seen"]; ok {
		t.Errorf("the volume is there: %s", f.Summary)
	}
	// Its plateau, 37.7 to 41.0 MB/s under a cap of 41.9, is not flat enough to be distinguished from a busy device
	// without one. But the disk must not be cleared.
	for _, id := range []string{"disk/not-the-cause", "disk/limits-unused"} {
		if f, ok := byRule(r)[id]; ok {
			t.Errorf("%s: %s", id, f.Summary)
		}
	}
	if f, ok := byRule(r)["wiredtiger/journal-stall"]; !ok || f.Kind != "cause" {
		t.Errorf("the journal's syncs are not a cause: %s", r.Verdict)
	}
}

// A journal that is already on a separate volume is not moved.
func TestMongodJournalApart(t *testing.T) {
	for _, run := range []string{"slow-journal-300-nowbt", "journal-800"} {
		for _, f := range mongodDiagnosis(t, run, "diagnostic.data", "iostat.log").Findings {
			for _, x := range f.Fixes {
				if strings.Contains(x.Summary, "separate volume") && !strings.Contains(x.Summary, "already") {
					t.Errorf("%s: %s advises: %s", run, f.Rule, x.Summary)
				}
			}
		}
	}
}

// A lock held by a backup is a separate cause, with its own stalled time.
func TestMongodLock(t *testing.T) {
	for _, files := range [][]string{{"diagnostic.data"}, {"diagnostic.data", "iostat.log"}} {
		r := mongodDiagnosis(t, "lock-400", files...)
		worst := r.Incidents[0]
		f, ok := ofRule(worst.Findings, "mongodb/held-lock")
		if !ok || worst.Findings[0].Rule != f.Rule || !strings.Contains(worst.Verdict, "Why: a held lock stops operations (global lock)") {
			t.Fatalf("the lock is not the first cause of the worst incident: %s", worst.Verdict)
		}

		if !strings.Contains(f.Summary, "fsyncLock") || len(f.Windows) != 2 {
			t.Errorf("fsyncLock is not named with both of its times: %s, %v", f.Summary, f.Windows)
		}

		// fsyncLock from 13:26:21.3 to 13:26:36.0, and from 13:27:11.3 to 13:27:28.2.
		for i, want := range []string{"13:26:21 13:26:36", "13:27:11 13:27:29"} {
			w := f.Windows[i]
			if got := w.From.UTC().Format("15:04:05") + " " + w.To.UTC().Format("15:04:05"); got != want {
				t.Errorf("it was held from %s, want %s", got, want)
			}
		}
	}
}

// The effect of scans on writes is reported, and the slow reads are the scans.
func TestMongodScans(t *testing.T) {
	r := mongodDiagnosis(t, "scan-400", "diagnostic.data", "iostat.log")
	if !strings.Contains(r.Verdict, "Queries scanned whole collections for 61.0 s: writes took") {
		t.Errorf("what the scans did is not in the verdict: %s", r.Verdict)
	}
	for _, x := range r.Incidents {
		if x.Class == "reads" && x.Findings[0].Rule != "mongodb/collection-scans" {
			t.Errorf("the reads were the scans: %s", x.Verdict)
		}
	}
}

// With a separate journal and no throttling, writers wait for reads that queue behind the checkpoint's
// writes. Nothing is promised about the journal.
func TestMongodPageReads(t *testing.T) {
	r := mongodDiagnosis(t, "slow-journal-300-nowbt", "diagnostic.data", "iostat.log")
	f, ok := byRule(r)["wiredtiger/page-reads"]
	if !ok || f.Weight < 0.7 || r.Findings[0].Rule != f.Rule {
		t.Errorf("page reads are not the first cause: %s", r.Verdict)
	}
}

func ofRule(all []rules.Finding, id string) (rules.Finding, bool) {
	for _, f := range all {
		if f.Rule == id {
			return f, true
		}
	}
	return rules.Finding{}, false
}

// A queue of a hundred writes suggests checking writeback throttling; nine do not.
func TestMongodThrottling(t *testing.T) {
	for run, want := range map[string]bool{"slow-400-nowbt": true, "slow-journal-300-nowbt": true, "slow-300": false, "slow-dirty-300": false, "slow-ext4-300": false,
		"base-600": false, "base-1000": false, "journal-800": false, "lock-400": false, "scan-400": false} {
		if _, ok := byRule(mongodDiagnosis(t, run, "diagnostic.data", "iostat.log"))["host/writeback-throttling"]; ok != want {
			t.Errorf("%s: the finding on writeback throttling is %v, want %v", run, ok, want)
		}
	}
}
