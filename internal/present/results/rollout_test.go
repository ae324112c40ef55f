package results

import (
	"strings"
	"testing"

	"plimsoll/internal/advise/emit"
	"plimsoll/internal/advise/rollout"
	"plimsoll/internal/advise/rollout/steps"
	"plimsoll/internal/check/golden"
	"plimsoll/internal/present/document"
	"plimsoll/internal/present/text"
)

// rolled is a rollout of three steps of which one is done.
func rolled() *rollout.Report {
	return &rollout.Report{
		Engine:     "mongodb",
		Direction:  "forward",
		Recordings: &rollout.Recordings{Before: "a", After: "b"},
		Steps: []rollout.ReportedStep{
			{
				Name:         "stop the engine",
				Action:       "systemctl stop mongod",
				Precondition: "it is running",
				Check:        "it is stopped",
				Undo:         "systemctl start mongod",
				Down:         true,
				Phase:        "done",
			},
			{
				Name:   "move the journal",
				Action: "mv journal /wal",
				Down:   true,
				Phase:  "begun",
			}, {Name: "start the engine", Action: "systemctl start mongod"}},
		Left: []emit.Change{{Path: "host.instance", From: "m6i.large", To: "m6i.xlarge"}},
	}
}

// A rollout lists its steps with what each does, needs, checks and how it is undone.
func TestRollout(t *testing.T) {
	golden.Inline(t, set(t, Rollout(rolled()), text.Options{Width: 90}), `
In progress (forward): 2 of 3 steps left. --resume continues, --undo reverts the rollout.

STEPS
──────────────────────────────────────────────────────────────────────────────────────────
1  stop the engine (done; the engine is stopped afterwards)
   does   systemctl stop mongod
   needs  it is running
   checks it is stopped
   undo   systemctl start mongod

2  move the journal (begun; the engine is stopped afterwards)
   does   mv journal /wal

3  start the engine
   does   systemctl start mongod

NOT DONE BY THE ROLLOUT
──────────────────────────────────────────────────────────────────────────────────────────
   plimsoll emit writes the files for these changes.

   change         from       to
   host.instance  m6i.large  m6i.xlarge
`)
}

// The verdict for each state of a rollout, on this machine and on a cluster.
func TestRolloutState(t *testing.T) {
	on := func(r *rollout.Report) { r.On = "db/mongod" }
	for _, c := range []struct {
		name   string
		change func(*rollout.Report)
		want   string
	}{
		{"busy", func(r *rollout.Report) { r.Busy = true }, "Another process is working on this rollout (forward): 2 of 3 steps left."},
		{"dry run", func(r *rollout.Report) { r.DryRun = true }, "Dry run: 2 steps left; every precondition that can be checked now holds. Nothing was changed."},
		{"dry run that fails", func(r *rollout.Report) { r.DryRun, r.Problems = true, []string{"no space"} }, "Dry run of 3 steps: the rollout cannot start yet. Nothing was changed."},
		{"dry run on a cluster", func(r *rollout.Report) { on(r); r.DryRun = true }, "Dry run on db/mongod: 2 steps left; every precondition that can be checked now holds. Nothing was changed."},
		{"in progress", func(*rollout.Report) {}, "In progress (forward): 2 of 3 steps left. --resume continues, --undo reverts the rollout."},
		// A step that was never begun needs no undo.
		{"undoing", func(r *rollout.Report) { r.Direction = "undoing" }, "In progress (undoing): 2 of 3 steps left. --resume continues, --undo reverts the rollout."},
		{"undone", func(r *rollout.Report) { r.Direction = "undone" }, "Undone: everything is back in place, and the engine is running."},
		{"finished", func(r *rollout.Report) { r.Direction = "finished" }, "Finished: the log is on its new volume, and the old one was removed."},
		{"done", func(r *rollout.Report) { r.Done = true }, "Done: the log is on its new volume. The old one is kept until the recordings prove better; --undo reverts the rollout."},
		{"done and better", func(r *rollout.Report) { r.Done, r.Proof = true, steps.Better }, "Done, and proved better. plimsoll rollout --finish removes the old log; --undo reverts the rollout."},
		{"cluster, in progress", on, "In progress (forward): 2 of 3 steps left. --resume continues, --undo reverts the rollout."},
		{"cluster, not started", func(r *rollout.Report) { on(r); r.Steps[0].Phase = "" }, "Not started: 3 steps."},
		{"cluster, done", func(r *rollout.Report) { on(r); r.Done = true }, "Done. --undo reverts the rollout, --finish ends it."},
		{"cluster, better", func(r *rollout.Report) { on(r); r.Done, r.Proof = true, steps.Better }, "Done, and proved better. --finish ends the rollout, --undo reverts it."},
		{"cluster, undone", func(r *rollout.Report) { on(r); r.Direction = "undone" }, "Undone: the StatefulSet and its pods are as before. Volumes that were grown and claims that were created remain."},
		{"cluster, finished", func(r *rollout.Report) { on(r); r.Direction = "finished" }, "Finished. Nothing was removed. A log that was moved is still in its old place too, as LOG.plimsoll-old: remove it once you are satisfied."},
	} {
		r := rolled()
		c.change(r)
		if got := Rollout(r).Verdict; got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// The recordings' content appears once, with its verdict.
func TestRolloutSaysTheProof(t *testing.T) {
	for want, r := range map[string]*rollout.Report{
		"The recordings before and after: Better: write p99 fell by 90 %.":                 {Proof: steps.Better, ProofText: "Better: write p99 fell by 90 %."},
		"The recordings before and after: not compared: before is too short (record).":     {Proof: steps.NotCompared, ProofText: "before is too short (record)"},
		"The recordings before and after: No change is proved: p99 was 1 s, which may be.": {Proof: "can't tell", ProofText: "No change is proved: p99 was 1 s, which may be."},
		"The recordings before and after: worse.":                                          {Proof: "worse"}, // by an earlier version
	} {
		r.Recordings, r.Direction, r.Done = &rollout.Recordings{Before: "a", After: "b"}, "forward", true
		if lead := Rollout(r).Lead; len(lead) != 2 || lead[0] != want ||
			lead[1] != "Details: plimsoll prove a b." {
			t.Errorf("%q, want %q", lead, want)
		}
	}
}

// Without recordings the lead says how to make them, and only a proved rollout says how to remove old logs.
func TestRolloutWithoutRecordings(t *testing.T) {
	r := rolled()
	r.Recordings, r.Done, r.OldLog = nil, true, []string{"rm -r a", "rm -r b"}
	if got := Rollout(r).Lead; len(got) != 1 ||
		!strings.HasPrefix(got[0], "Nothing is recorded (--record-for 0)") {
		t.Errorf("%q", got)
	}
	r.On = "db/mongod"
	if got := Rollout(r).Lead; len(got) != 1 ||
		!strings.HasPrefix(got[0], "Nothing is recorded. Use --record SOURCE") {
		t.Errorf("%q", got)
	}
	r.Direction = "undoing"
	if got := Rollout(r).Lead; len(got) != 0 {
		t.Errorf("while undoing there is nothing to prove: %q", got)
	}
	r.Proof, r.Problems = steps.Better, []string{"no space"}
	if got := Rollout(r).Lead; len(got) != 2 || got[0] != "To remove the old logs: rm -r a; rm -r b" ||
		got[1] != "Cannot start: no space." {
		t.Errorf("%q", got)
	}
}

// A terminal gets the paths of written files, one a line; a page gets their text and what they change.
func TestEmit(t *testing.T) {
	r := &emit.Report{
		Dir:     "layout",
		Written: true,
		Idle:    []string{"helm"},
		Files: []emit.ReportedFile{
			{Path: "terraform/main.tf", Text: "a\nb\n"},
			{Path: "README.md", Text: "c"},
		},
		Changes: []emit.ReportedChange{
			{Change: emit.Change{Path: "volumes.wal", To: "{type: gp3}"}, By: []string{"terraform"}},
			{Change: emit.Change{Path: "host.cores", From: "2", To: "4"}},
		},
	}
	if got := strings.ReplaceAll(set(t, Emit(r), text.Options{}), `\`, "/"); got != "layout/terraform/main.tf\nlayout/README.md\n" {
		t.Errorf("%q", got)
	}
	tab := tableOf(Emit(r), "changes")
	if got := tab.Rows[0][1].Text + " " + tab.Rows[0][3].Text + ", " + tab.Rows[1][1].Text + " " + tab.Rows[1][3].Text; got != "– terraform, 2 –" {
		t.Error(got)
	}

	r.Written, r.Changes = false, nil
	if got := set(t, Emit(r), text.Options{}); got != "" {
		t.Errorf("nothing was written: %q", got)
	}
	if s := Emit(r).Sections; len(s) != 1 || s[0].Only.Has(document.Terminal) ||
		strings.Join(s[0].Parts[0].Files[0].Lines, ",") != "a,b" {
		t.Errorf("%+v", s)
	}
	r.Diff = "--- a\n+++ b\n"
	if got := set(t, EmitDiff(r), text.Options{}); got != "layout\n  --- a\n  +++ b\n" {
		t.Errorf("%q", got)
	}
	r.Diff = ""
	if got := EmitDiff(r); len(got.Sections) != 0 || got.Title != "How layout would change" {
		t.Errorf("%+v", got)
	}
}
