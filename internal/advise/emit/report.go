package emit

// A Report is the emitted files. Its JSON is the output of `plimsoll emit -o json` and a contract:
// fields may be added, never changed.
type Report struct {
	Version int              `json:"version"`
	Dir     string           `json:"dir,omitempty"`
	Written bool             `json:"written"`
	Files   []ReportedFile   `json:"files"`
	Changes []ReportedChange `json:"changes"`
	Idle    []string         `json:"idle,omitempty"` // targets with nothing to do
	Diff    string           `json:"diff,omitempty"` // compared with the folder before the write
}

// A ReportedFile is a file of the layout with its checksum in hexadecimal.
type ReportedFile struct {
	Path       string `json:"path"`
	Executable bool   `json:"executable,omitempty"`
	SHA256     string `json:"sha256"`
	Text       string `json:"text"`
}

// A ReportedChange is a change with the targets that apply it; none if the files do not.
type ReportedChange struct {
	Change
	By []string `json:"by"`
}

// Report returns the report on a layout's files; the caller adds whether they were written.
func (r *Result) Report(l *Transition) *Report {
	out := r.FileReport()
	for i, c := range l.Changes() {
		out.Changes = append(out.Changes, ReportedChange{c, append([]string{}, r.By[i]...)})
	}
	return out
}

// FileReport returns the report on files that belong to no layout.
func (r *Result) FileReport() *Report {
	out := &Report{Version: 1, Idle: r.Idle, Files: []ReportedFile{}, Changes: []ReportedChange{}}
	for _, f := range r.Files {
		out.Files = append(out.Files, ReportedFile{f.Path, f.Mode&0o111 != 0, f.Checksum(), string(f.Text)})
	}
	return out
}

// Left returns the paths of the changes that no file applies.
func (r *Report) Left() []string {
	var out []string
	for _, c := range r.Changes {
		if len(c.By) == 0 {
			out = append(out, c.Path)
		}
	}
	return out
}
