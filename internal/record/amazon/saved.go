package amazon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"plimsoll/internal/base/jsonerror"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// savedBytesMax bounds a saved answer. A day of 500 metrics by the minute takes 40 MB.
const savedBytesMax = 64 << 20

// savedAsk describes what to request from CloudWatch.
const savedAsk = "request metrics of AWS/EBS, AWS/EC2 or AWS/RDS, with --statistics Sum for the operations, bytes and times of a volume, and Average for rates, latencies and queues"

// savedPeriod is the assumed period of a series with a single point.
const savedPeriod = time.Minute

// Saved reads the output of `aws cloudwatch get-metric-data` and `get-metric-statistics`. The
// former does not say which statistic it has; the one that rules read is assumed, as for a live
// address. Neither says which resource the metrics belong to, unless a label does.
func (Cloud) Saved(from source.File) source.Source {
	return &saved{source.OfFile(from, recording.Source{Kind: "cloudwatch"})}
}

var (
	savedData       = regexp.MustCompile(`"MetricDataResults"\s*:`)
	savedStatistics = regexp.MustCompile(`"Datapoints"\s*:`)
)

// IsSaved reports whether a file's beginning looks like a saved answer.
func (Cloud) IsSaved(head []byte) bool {
	// The plain search comes first, because most files are something else and regular expressions
	// are slow.
	return bytes.Contains(head, []byte(`"MetricDataResults"`)) && savedData.Match(head) ||
		bytes.Contains(head, []byte(`"Datapoints"`)) && savedStatistics.Match(head)
}

type saved struct{ *source.RecordedFile }

// An answer is the output of either command.
type answer struct {
	Results []struct {
		ID         string `json:"Id"` // the query's: a long answer has its series in several parts
		Label      string
		Timestamps []time.Time
		Values     []float64
	} `json:"MetricDataResults"`

	Label      string
	Datapoints []map[string]any
}

// A point is the value of an interval that starts at begin.
type point struct {
	begin time.Time
	value float64
}

// Read implements source.Source.
func (s *saved) Read(ctx context.Context, writer recording.Writer, opt source.Options) error {
	a, err := s.answer()
	if err != nil {
		return fmt.Errorf("CloudWatch answer %s: %w", s.Path, err)
	}

	series, unknown, err := a.series()
	if err != nil {
		return fmt.Errorf("CloudWatch answer %s: %w", s.Path, err)
	}

	described := s.Describe()

	// Each time counts as one sample, however many series have a value at that time.
	moments := map[int64]bool{}
	for _, savedSeries := range series {
		period := savedSeries.period()
		described.Period = max(described.Period, period)
		if name := savedSeries.labels.Get(labels.MetricName); opt.Want != nil && !opt.Want(name) {
			unknown = append(unknown, name)
			continue
		}

		b := &recording.Batch{}
		var values []float64
		for _, p := range savedSeries.points {
			// A sample carries the end of its interval; CloudWatch reports the beginning.
			at := p.begin.Add(period).Add(opt.ClockOffset)
			if opt.From.IsZero() || !at.Before(opt.From) {
				if opt.To.IsZero() || !at.After(opt.To) {
					b.TimesMs, values = append(b.TimesMs, at.UnixMilli()), append(values, p.value)
					moments[at.UnixMilli()] = true
				}
			}
		}

		if len(b.TimesMs) == 0 {
			continue
		}

		b.Columns = []recording.Column{{Labels: savedSeries.labels, Values: values}}
		if err := writer.Append(ctx, b); err != nil {
			return err
		}

		from, to := time.UnixMilli(b.TimesMs[0]).UTC(), time.UnixMilli(b.TimesMs[len(b.TimesMs)-1]).UTC()
		recording.Extend(&described.From, &described.To, from, to)
	}

	if len(moments) == 0 && len(unknown) == len(series) {
		return fmt.Errorf("CloudWatch answer %s: no rule uses %s: %s", s.Path,
			strings.Join(unknown, ", "), savedAsk)
	}

	described.Samples = int64(len(moments))
	s.SetDescription(described)
	writer.Source(described)

	if len(unknown) > 0 {
		writer.Note(recording.Note{Kind: recording.NoteDropped, Source: s.Path, File: s.Path,
			Text: "skipped in the CloudWatch answer, because no rule uses them or they are ambiguous: " +
				strings.Join(unknown, ", ")})
	}

	return nil
}

func (s *saved) answer() (*answer, error) {
	in, err := s.Open()
	if err != nil {
		return nil, err
	}

	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, savedBytesMax+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > savedBytesMax:
		return nil, fmt.Errorf("larger than %d MiB: request fewer metrics or a shorter time", savedBytesMax>>20)
	}

	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("%w: save it again", jsonerror.Explain(text, err))
	}

	return &a, nil
}

// A savedSeries is one series of an answer, in order of time.
type savedSeries struct {
	id     string
	labels labels.Labels
	points []point
}

// period returns the typical time between two points.
func (x *savedSeries) period() time.Duration {
	var steps []time.Duration
	for i := 1; i < len(x.points); i++ {
		steps = append(steps, x.points[i].begin.Sub(x.points[i-1].begin))
	}
	if len(steps) == 0 {
		return savedPeriod
	}
	slices.Sort(steps)
	return steps[(len(steps)-1)/2]
}

// series returns the series that rules can read, and the names of the others.
func (a *answer) series() (out []*savedSeries, unknown []string, err error) {
	var all []string
	for _, r := range a.Results {
		all = append(all, r.Label)
	}

	all = append(all, a.Label)
	add := func(id, label, statistic string, points []point) {
		m, of := lookUp(label, statistic, all)
		if m == "" {
			unknown = append(unknown, cmp.Or(label, "a metric without a label"))
			return
		}

		ls := labels.NewBuilder(of).Set(labels.MetricName, m).Labels()
		i := slices.IndexFunc(out, func(x *savedSeries) bool { return labels.Equal(x.labels, ls) })
		switch {
		case i >= 0 && out[i].id != id:
			// It may belong to another volume, so the two are not merged.
			unknown = append(unknown, label+
				" (from a second query with the same label: put the volume into each label)")
			return
		case i < 0 && len(points) == 0:
			return
		case i < 0:
			i = len(out)
			out = append(out, &savedSeries{id: id, labels: ls})
		}

		x := out[i]
		x.points = append(x.points, points...)
		slices.SortFunc(x.points, func(p, q point) int { return p.begin.Compare(q.begin) })

		// Parts of a long answer overlap at their ends.
		x.points = slices.CompactFunc(x.points, func(p, q point) bool { return p.begin.Equal(q.begin) })
	}

	for _, r := range a.Results {
		if len(r.Timestamps) != len(r.Values) {
			return nil, nil, fmt.Errorf("%s has %d times and %d values", r.Label, len(r.Timestamps), len(r.Values))
		}
		var points []point
		for i, t := range r.Timestamps {
			points = append(points, point{t, r.Values[i]})
		}
		add(r.ID, r.Label, "", points)
	}

	for _, statistic := range []string{"Sum", "Average", "Maximum", "Minimum"} {
		points, err := pointsOf(a.Datapoints, statistic)
		if err != nil {
			return nil, nil, err
		}
		if len(points) > 0 {
			add("", a.Label, statistic, points)
		}
	}

	if len(out) == 0 {
		return nil, nil, fmt.Errorf("no values of any metric that a rule uses (it has: %s): %s",
			cmp.Or(strings.Join(unknown, ", "), "nothing"), savedAsk)
	}

	return out, unknown, nil
}

// pointsOf returns the points of get-metric-statistics that have a statistic.
func pointsOf(data []map[string]any, statistic string) (points []point, err error) {
	for i, p := range data {
		v, ok := p[statistic].(float64)
		if !ok || math.IsNaN(v) {
			continue
		}
		text, _ := p["Timestamp"].(string)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, fmt.Errorf("datapoint %d has the time %q: want for example 2026-01-05T10:00:00Z", i+1, text)
		}
		points = append(points, point{at, v})
	}
	return points, nil
}

// lookUp finds a metric by an answer's label, which is the metric's name, or contains it together
// with the resource: "vol-0123456789abcdef0 VolumeWriteOps". If two namespaces have the name, the
// other labels decide. statistic is "" if unknown; then it is the one that rules read.
func lookUp(label, statistic string, all []string) (name string, of labels.Labels) {
	words := strings.Fields(label)
	var found []kind

	var as string
	for k := range spaces {
		for _, m := range spaces[k].metrics {
			if !slices.Contains(words, m.name) {
				continue
			}
			n := m.as
			if statistic != "" {
				// Names end with the statistic, and the answer's may differ from the one that rules
				// read.
				n = strings.TrimSuffix(n, strings.ToLower(m.statistic)) + strings.ToLower(statistic)
			}
			if len(found) == 0 || ownOf(kind(k), all) {
				found, as = append(found, kind(k)), n
			}
		}
	}

	if len(found) == 0 {
		return "", labels.EmptyLabels()
	}

	// A later namespace was added only because the answer's other labels belong to it.
	k := found[len(found)-1]
	id := [...]string{volume: "volume", instance: "instance", database: "database"}[k]
	// If the label has no ID, the kind replaces it, so that the series of one answer stay separate.
	for _, w := range words {
		if volumeID.MatchString(w) && k == volume || instanceID.MatchString(w) && k == instance {
			id = w
		}
	}

	return as, labels.FromStrings(spaces[k].label, id)
}

// ownOf reports whether any label has a metric that only this kind has.
func ownOf(k kind, all []string) bool {
	for _, label := range all {
		for _, word := range strings.Fields(label) {
			isNamed := func(m metric) bool { return m.name == word }
			others := 0
			for other := range spaces {
				if kind(other) != k && slices.ContainsFunc(spaces[other].metrics, isNamed) {
					others++
				}
			}
			if others == 0 && slices.ContainsFunc(spaces[k].metrics, isNamed) {
				return true
			}
		}
	}
	return false
}
