package corerules

import (
	"plimsoll/internal/judge/rules"
	"plimsoll/internal/record/timeline"
)

func evidenceElsewhere() rules.Rule {
	r := rules.Rule{ID: "evidence/volume-not-seen", Title: "The data's volume is not in these sources", Kind: rules.Symptom,
		Needs: []*rules.Signal{}, Whole: true,
		NoAlert: "it compares totals over the whole recording",
		Cause:   "A database's own capture lists physical devices only. A volume behind a loop device, NBD, a bare device mapper or a network file system (NFS, EFS) is missing there, and so is every device that a log of selected devices leaves out.",
		Words: rules.Words{
			"elsewhere": "The database handed {{.handed}} to the operating system, but the devices in these sources wrote only {{.arrived}} in the same time ({{.device}} the most). The data is on a device that is not among them, so its volume is neither confirmed as the cause nor ruled out.",
			"headline":  "The data is on a device that is not in these sources: its volume is neither confirmed as the cause nor ruled out. Add `iostat -xt 1`, node_exporter or `plimsoll record host`.",
		},
		Advice: map[string]rules.Advice{"add": {Summary: "Record the volume in addition to this source: `iostat -xt 1` on the host, node_exporter's metrics, or `plimsoll record host`, and diagnose both together",
			Expect:    "the volume's queue and limits are judged, and the disk is confirmed as the cause or ruled out",
			TradeOff:  "none",
			NoCommand: nothingToDo}}}

	r.Judge = func(c *rules.Case, _ []timeline.Track) []rules.Finding {
		e := c.Elsewhere
		if e == nil {
			return nil
		}

		f := r.Finding("sources")
		f.Severity = rules.Warning
		f.Say("elsewhere", rules.Values{"handed": rules.Bytes(e.Handed), "arrived": rules.Bytes(e.Arrived),
			"device": rules.Called(e.Device)})
		f.Close("headline", nil)
		f.Evidence = []rules.Evidence{
			c.Figure("bytes that the database handed to the operating system", nil, e.Handed, "bytes", e.Cells),
			c.Figure("bytes that all devices in the sources wrote", rules.DiskWritten, e.Arrived, "bytes", e.Cells),
		}

		f.Advise("add", nil)
		return []rules.Finding{f}
	}

	return r
}
