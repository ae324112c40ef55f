package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"plimsoll/internal/base/latency"
	"plimsoll/internal/model/simulate"
)

// Measured is a stored set of lab results, so that a model can be compared with them without
// running the engines again.
type Measured struct {
	Version int           `json:"version"` // 1
	Runs    []Measurement `json:"runs"`
}

// A Measurement is one run of a scenario.
type Measurement struct {
	Run    string `json:"run"`
	Date   string `json:"date"`   // "2026-11-21"
	Server string `json:"server"` // engine and version
	Kernel string `json:"kernel"`
	Cores  int    `json:"cores"`
	// Doubtful means that the emulator or the load generator could not keep up: the run does not
	// count.
	Doubtful bool    `json:"doubtful"`
	Figures  Figures `json:"figures"`
}

// Figures are the figures of a result that the tables compare.
type Figures struct {
	DonePerSec  float64         `json:"done_per_second"`
	Writes      latency.Class   `json:"writes"`
	Reads       latency.Class   `json:"reads"`
	Checkpoints simulate.Cycles `json:"checkpoints"`
}

// FiguresOf extracts them from the result of a real engine or a model.
func FiguresOf(r *simulate.Result) Figures {
	f := Figures{r.DonePerSec, r.Writes, r.Reads, r.Checkpoints}
	f.Writes.SinceCheckpoint, f.Reads.SinceCheckpoint = nil, nil // not in any table
	return f
}

// measuredBytesMax bounds a file of measurements: enough for well over a thousand runs of a
// kilobyte each.
const measuredBytesMax = 16 << 20

// ReadMeasured reads a file of measurements.
func ReadMeasured(folder fs.FS, file string) (*Measured, error) {
	text, err := readBounded(folder, file, measuredBytesMax)
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if m.Version != 1 {
		return nil, fmt.Errorf("%s: measurements have version %d: this program reads version 1", file, m.Version)
	}
	return m, nil
}

func readBounded(folder fs.FS, file string, most int64) ([]byte, error) {
	f, err := folder.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: too large: want at most %d bytes", file, most)
	}
	return text, err
}

// Write writes the file.
func (m *Measured) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(m)
}

// Of returns the measurements of a run: those that count, or, if there are none, the doubtful ones.
func (m *Measured) Of(run string) (of []Measurement, doubtful bool) {
	var bad []Measurement
	for _, r := range m.Runs {
		switch {
		case r.Run != run:
		case r.Doubtful:
			bad = append(bad, r)
		default:
			of = append(of, r)
		}
	}
	if len(of) == 0 {
		return bad, len(bad) > 0
	}
	return of, false
}

// ErrNotMeasured means that there is nothing to compare with.
var ErrNotMeasured = errors.New("not measured")

// Compare returns the rows of a run: the median of the measurements, and the model.
func (m *Measured) Compare(run, title string, model *simulate.Result) ([]Row, error) {
	of, doubtful := m.Of(run)
	if len(of) == 0 {
		return nil, fmt.Errorf("%s: %w", run, ErrNotMeasured)
	}

	all := make([][]Row, len(of))
	for i := range of {
		f := FiguresOf(model)
		all[i] = rowsOf(&of[i].Figures, &f)
	}

	rows := all[0]
	for i := range rows {
		r := &rows[i]
		r.Run, r.Scenario, r.Doubtful = run, title, doubtful
		var values []float64
		for _, same := range all {
			k := slices.IndexFunc(same, func(o Row) bool { return o.Figure == r.Figure })
			if k >= 0 && same[k].Lab != nil {
				values = append(values, *same[k].Lab)
			}
		}
		// The model is deterministic, so only the lab's runs have a spread.
		r.middle(values)
	}

	return rows, nil
}

// Rows compares one run of a real engine with the model.
func Rows(lab, model *simulate.Result, doubtful bool) []Row {
	f, g := FiguresOf(lab), FiguresOf(model)
	rows := rowsOf(&f, &g)
	for i := range rows {
		r := &rows[i]
		r.Scenario, r.Doubtful = lab.Scenario, doubtful
		if r.Lab != nil {
			r.middle([]float64{*r.Lab})
		}
	}
	return rows
}

// middle sets the median of the measurements and their extremes.
func (r *Row) middle(values []float64) {
	r.LabRuns = len(values)
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	n := len(values)
	median := (values[(n-1)/2] + values[n/2]) / 2
	r.Lab, r.LabLow, r.LabHigh = &median, values[0], values[n-1]
}
