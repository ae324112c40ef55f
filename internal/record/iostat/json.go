package iostat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/base/jsonerror"
)

// jsonReports reads iostat -o JSON. The reports are in an array, and each is decoded separately, so
// that a log of any length takes little memory, and one without its closing brackets (a killed
// iostat) is read to its end.
type jsonReports struct {
	in     *budget
	dec    *json.Decoder
	found  findings
	rep    report
	within bool // inside the array of statistics
	first  bool
	skip   bool // -y: the array starts with an empty line
	n      int64
	ended  bool
	offset func() int64 // bytes read
}

func newJSONReports(r io.Reader) *jsonReports {
	b := &budget{r: r, left: valueBytesMax}
	j := &jsonReports{in: b, dec: json.NewDecoder(b)}
	j.offset = j.dec.InputOffset
	return j
}

func (j *jsonReports) about() *findings { return &j.found }

// budget bounds the size of a value, because a decoder holds a whole value in memory.
type budget struct {
	r    io.Reader
	left int
	err  error // of r
}

var errTooLarge = errors.New("one value is larger than any report")

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err != nil && err != io.EOF {
		b.err = err
	}
	return n, err
}

type jsonStatistics struct {
	Timestamp jsonTime           `json:"timestamp"`
	CPU       map[string]float64 `json:"avg-cpu"`
	Load      []map[string]any   `json:"cpu-load"` // sadf
	Disk      *[]map[string]any  `json:"disk"`

	// Of sadf: figures of the whole host.
	Queue  map[string]any `json:"queue"`
	Paging map[string]any `json:"paging"`
	Swap   map[string]any `json:"swap-pages"`
}

// A jsonTime is the text of iostat, or the parts of sadf.
type jsonTime struct {
	text string
	sadf bool
	utc  bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *jsonTime) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var parts struct {
			Date string `json:"date"`
			Time string `json:"time"`
			Zone string `json:"tz"`
			UTC  int    `json:"utc"` // before sysstat 12.7
		}
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		*t = jsonTime{text: parts.Date + " " + parts.Time, sadf: true, utc: parts.Zone == "UTC" || parts.UTC == 1}
		return nil
	}
	return json.Unmarshal(b, &t.text)
}

// isSadf reports whether sysstat's JSON is from sadf: sar's files have their own date.
func isSadf(head []byte) bool { return bytes.Contains(head, []byte(`"file-date"`)) }

// next implements reports.
func (j *jsonReports) next() (*report, bool) {
	for !j.ended {
		// The bound is for each value, because a log may be of any length.
		j.in.left = valueBytesMax
		var err error
		if j.within {
			if j.dec.More() {
				var s jsonStatistics
				if err = j.dec.Decode(&s); err == nil {
					j.n++
					j.fill(&s)
					return &j.rep, true
				}

				var wrong *json.UnmarshalTypeError
				if errors.As(err, &wrong) {
					j.found.damage.add(0, j.dec.InputOffset(),
						fmt.Sprintf("report %d has a %s in the field %s", j.n+1, wrong.Value, wrong.Field))
					// The decoder has consumed the whole value, so the next report can still be
					// read.
					j.n++
					continue
				}
			} else {
				if _, err = j.dec.Token(); err == nil { // the end of the array
					j.within = false
				}
			}
		} else {
			err = j.header()
		}

		if err == nil {
			continue
		}

		j.ended = true
		if j.in.err != nil {
			j.found.damage.add(0, j.dec.InputOffset(), "read error: "+j.in.err.Error())
			// A log that was cut off ends within the array; an end outside of it is regular.
		} else if !errors.Is(err, io.EOF) || j.within {
			j.found.damage.add(0, j.dec.InputOffset(), damageText(err))
		}
	}
	return nil, false
}

func damageText(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the JSON has no closing brackets, for example because iostat was killed"
	}
	return jsonerror.Explain(nil, err).Error()
}

// header reads one token outside the reports. It recognises keys at any depth, because the nesting
// differs between versions.
func (j *jsonReports) header() error {
	tok, err := j.dec.Token()
	if err != nil {
		return err
	}

	switch tok {
	case "nodename":
		return j.dec.Decode(&j.found.host)
	case "release":
		var release string
		if err := j.dec.Decode(&release); err != nil {
			return err
		}
		j.found.kernel = "Linux " + release
	case "number-of-cpus":
		return j.dec.Decode(&j.found.cpus)
	case "date", "file-date":
		var date string
		if err := j.dec.Decode(&date); err != nil {
			return err
		}
		if s, ok := parseDate([]byte(date)); ok && !j.found.date.hasDate {
			j.found.date = s
		}
	case "statistics":
		open, err := j.dec.Token()
		if err != nil || open != json.Delim('[') {
			return err
		}
		// The first report of a run is the average since boot.
		j.within, j.first = true, true
		j.found.runs++
		j.skip = j.emptyLine()
	}

	return nil
}

// emptyLine examines what the decoder has buffered after the opening bracket of the array. If the
// empty line is just beyond that, -y is not recognised and one report is lost, which is harmless.
func (j *jsonReports) emptyLine() bool {
	ahead := make([]byte, 4)
	n, _ := io.ReadFull(j.dec.Buffered(), ahead)
	return bytes.HasPrefix(ahead[:n], []byte("\n\n")) || bytes.HasPrefix(ahead[:n], []byte("\r\n\r\n"))
}

// fill converts a decoded report to the common form.
func (j *jsonReports) fill(decoded *jsonStatistics) {
	j.rep.reset()
	j.rep.run = j.found.runs
	j.rep.sinceBoot = j.first && !j.skip

	if decoded.Timestamp.sadf {
		j.rep.sinceBoot = false
		decoded.CPU = allCPUs(decoded.Load)
	}

	j.first = false

	// sadf writes the zone as a separate field.
	if st, ok := parseStamp([]byte(decoded.Timestamp.text)); ok {
		j.rep.stamp = st
		j.rep.stamp.hasZone = st.hasZone || decoded.Timestamp.utc
	}

	j.rep.hasCPU = len(decoded.CPU) > 0
	for i, mode := range cpuModes {
		v, ok := decoded.CPU[mode]
		if !ok || !(v >= 0 && v < rateMax) {
			j.rep.hasCPU = false
		}
		j.rep.cpu[i] = v
	}

	for _, table := range []map[string]any{decoded.Queue, decoded.Paging, decoded.Swap} {
		for key, value := range table {
			if f, known := hostColumns[key]; known {
				if v, ok := value.(float64); ok {
					j.rep.setHost(f, v)
				}
			}
		}
	}

	if decoded.Disk == nil {
		return
	}

	j.rep.hasDevices = true
	for _, row := range *decoded.Disk {
		if len(j.rep.devices) >= devicesMax {
			j.found.damage.add(0, j.offset(), fmt.Sprintf("more than %d devices in one report", devicesMax))
			break
		}
		j.row(row)
	}
}

// allCPUs returns sadf's row of all CPUs.
func allCPUs(load []map[string]any) map[string]float64 {
	for _, row := range load {
		if row["cpu"] != "all" {
			continue
		}

		out := map[string]float64{}
		for key, value := range row {
			if v, ok := value.(float64); ok {
				if mode, known := sarModes["%"+key]; known {
					out[cpuModes[mode]] += v
				}
			}
		}

		return out
	}
	return nil
}

// jsonColumn returns the column of a key. sadf's keys have no "/s" and spell out the percent sign.
func jsonColumn(key string) column {
	key = strings.ToLower(key)
	for _, name := range []string{key, key + "/s", strings.TrimSuffix(key, "-percent")} {
		if c, ok := columns[name]; ok {
			return c
		}
	}
	return column{}
}

func (j *jsonReports) row(row map[string]any) {
	name, ok := row["disk_device"].(string)
	if !ok {
		name, ok = row["disk-device"].(string) // sadf
	}

	if !ok || name == "" {
		j.rep.torn = true
		j.found.damage.add(0, j.offset(), fmt.Sprintf("report %d has a device without a name", j.n))
		return
	}

	r := noRates()

	// In order of their names, because sadf has some figures in two units, rd_sec and rkB.
	for _, key := range slices.Sorted(maps.Keys(row)) {
		if v, ok := row[key].(float64); ok && v >= 0 && v < rateMax && !math.IsNaN(v) {
			r.set(jsonColumn(key), v)
		}
	}

	r.finish()
	j.rep.devices = append(j.rep.devices, device{name: name, rates: r})
}
