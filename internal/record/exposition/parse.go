package exposition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"plimsoll/internal/record/recording"
)

// A sample is one line of a page.
type sample struct {
	labels labels.Labels
	ms     int64 // its own timestamp, 0 if it has none
	value  float64
}

// A badLine is an unreadable line.
type badLine struct {
	offset int64 // in the page
	text   string
}

// parser reads the pages of one source and detects which database they belong to.
type parser struct {
	exporters []Exporter

	want   func(string) bool
	series map[string]*known // by the text of the series
	page   int64             // counts the pages
	usual  int               // samples of the last page
	lines  int               // series of the current page
	table  *labels.SymbolTable
	room   *Room // for the series
	most   int   // maximum samples of a page; 0 means no limit

	prefixes map[string]bool // of metric names: etcd, pg, ...
	version  string
	host     string
	nodeTime float64 // node_time_seconds of the current page
	samples  int64
	dropped  int64 // samples of series beyond seriesMax
	tidied   int64 // page at which dead series were last dropped
}

// known is a series seen on an earlier line.
type known struct {
	labels labels.Labels // empty if not selected
	name   string
	page   int64 // the last page that contained it
	ms     int64 // its timestamp on that page
	valued bool  // whether it had a value on that page
}

// Series that have disappeared from the page are dropped from the cache: if labels change, such as
// those of connections or pods, an exporter creates new series all the time.
const (
	deadPages   = 10   // pages without a series after which it is dead
	seriesSpare = 1000 // cached series beyond twice those of a page before a cleanup
)

// tidy drops series that were not on this page so far, nor on the given number of pages before it.
// It runs at most once per page.
func (p *parser) tidy(pages int64) {
	if p.tidied == p.page {
		return
	}
	p.tidied = p.page
	for text, k := range p.series {
		if k.page < p.page-pages {
			delete(p.series, text)
			p.room.give(len(text))
		}
	}
}

func newParser(exporters []Exporter, want func(string) bool) *parser {
	return &parser{
		exporters: exporters, want: want, series: map[string]*known{},
		table: labels.NewSymbolTable(), prefixes: map[string]bool{}, room: NewRoom(),
	}
}

// leave releases the room of all series.
func (p *parser) leave() {
	for text := range p.series {
		p.room.give(len(text))
	}
	p.series = map[string]*known{}
}

// parse reads one page. It skips unreadable lines, so that one torn line does not cost the whole
// page.
func (p *parser) parse(body []byte, contentType string) (out []sample, bad []badLine) {
	p.page++
	p.nodeTime = 0
	out = make([]sample, 0, p.usual)
	defer func() {
		p.usual = len(out)
		if len(p.series) > seriesSpare+2*p.lines {
			p.tidy(deadPages)
		}
	}()

	p.lines = 0
	if contentType == "" {
		contentType = textType // for example from a shell script behind a web server
	}

	// The text parser appends a newline. With room for it, it does not copy the page, and run can
	// locate a series in body.
	body = slices.Grow(body, 1)
	offset := int64(0)
	for range resumesMax {
		tp, err := textparse.New(body, contentType, p.table, textparse.ParserOptions{
			FallbackContentType: textType, OpenMetricsSkipSTSeries: true,
		})
		if tp == nil {
			return out, append(bad, badLine{offset: offset, text: err.Error()})
		}

		var good int
		out, good, err = p.run(tp, body, out)
		if err == nil {
			return out, bad
		}

		// The line after the last good one is skipped. It may be a description before the bad line;
		// then the next round gets to the bad line itself.
		skip := bytes.IndexByte(body[good:], '\n') + 1
		bad = append(bad, badLine{offset: offset + int64(good), text: unreadable(err)})
		if skip == 0 {
			return out, bad
		}

		body = body[good+skip:]
		offset += int64(good + skip)
		if len(body) == 0 || bytes.Equal(bytes.TrimSpace(body), eofLine) {
			return out, bad
		}
	}

	return out, append(bad, badLine{offset: offset,
		text: "too many unreadable lines: skipped the rest of the page"})
}

// run reads until the end or a bad line. good is the start of the line after the last readable one.
func (p *parser) run(tp textparse.Parser, body []byte, out []sample) (_ []sample, good int, err error) {
	for {
		entry, err := tp.Next()
		if errors.Is(err, io.EOF) {
			return out, len(body), nil
		}

		if err != nil {
			return out, good, err
		}
		if entry != textparse.EntrySeries {
			continue
		}

		text, ts, v := tp.Series()

		// text is a part of body, so their capacities give its offset.
		end := cap(body) - cap(text) + len(text)
		if end < good || end > len(body) {
			end = good
		}

		if nl := bytes.IndexByte(body[end:], '\n'); nl >= 0 {
			good = end + nl + 1
		}

		ms := int64(0)
		if ts != nil {
			ms = *ts
		}

		s, ok := p.sample(tp, text, ms, v)
		switch {
		case ok && (p.most == 0 || len(out) < p.most):
			out = append(out, s)
		case ok:
			p.dropped++
		}
	}
}

func (p *parser) sample(tp textparse.Parser, text []byte, ms int64, value float64) (sample, bool) {
	series, ok := p.series[string(text)]
	if !ok {
		// If there is no room, series that are not on this page are dropped to make some.
		room := p.room.take(len(text))
		if !room {
			p.tidy(0)
			room = p.room.take(len(text))
		}

		if !room {
			p.dropped++
			return sample{}, false
		}

		var l labels.Labels
		tp.Labels(&l)
		series = &known{name: strings.Clone(l.Get(labels.MetricName))}
		p.learn(series.name, l)

		if p.want == nil || p.want(series.name) {
			series.labels = l
		}

		p.series[string(text)] = series
	}

	// It is read even if the metric is not wanted, because it may give the time of the page.
	if series.name == "node_time_seconds" {
		p.nodeTime = value
	}

	p.samples++
	p.lines++
	again := series.page == p.page && series.ms == ms && series.valued
	valued := value == value
	series.valued = valued || series.page == p.page && series.valued
	series.page, series.ms = p.page, ms

	// If a series occurs twice on a page with the same time, the first value counts.
	if series.labels.IsEmpty() || !valued || again {
		return sample{}, false
	}

	return sample{labels: series.labels, ms: ms, value: value}, true
}

func (p *parser) learn(name string, l labels.Labels) {
	prefix, _, _ := strings.Cut(name, "_")
	p.prefixes[prefix] = true
	for i := range p.exporters {
		if e := &p.exporters[i]; name == e.VersionMetric && p.version == "" {
			p.version = strings.Clone(l.Get(e.VersionLabel))
		}
	}
	if name == "node_uname_info" {
		p.host = strings.Clone(l.Get("nodename"))
	}
}

// engine returns the database whose metrics were seen, or "". The host's metrics may be on the same
// page.
func (p *parser) engine() string {
	for i := range p.exporters {
		if p.prefixes[p.exporters[i].Prefix] {
			return p.exporters[i].Engine
		}
	}
	return ""
}

// batches groups samples by time. Samples without a time get ms.
func batches(samples []sample, ms int64) []recording.Batch {
	byTime := map[int64]*recording.Batch{}
	var times []int64

	values := make([]float64, len(samples))
	for i, s := range samples {
		t := s.ms
		if t == 0 {
			t = ms
		}

		b := byTime[t]
		if b == nil {
			b = &recording.Batch{TimesMs: []int64{t}}
			if len(times) == 0 { // usually all have the same time
				b.Columns = make([]recording.Column, 0, len(samples))
			}
			byTime[t] = b
			times = append(times, t)
		}

		values[i] = s.value
		// The capacity is limited too: an append to a column must not overwrite the next one's
		// value.
		b.Columns = append(b.Columns, recording.Column{Labels: s.labels, Values: values[i : i+1 : i+1]})
	}

	slices.Sort(times)
	out := make([]recording.Batch, len(times))
	for i, t := range times {
		out[i] = *byTime[t]
	}

	return out
}

// overSeries returns the text about a page with too many series.
func overSeries(samples int64) string {
	return fmt.Sprintf("skipped %d samples: the page has more than %d series", samples, seriesMax)
}

// quotedMax bounds what an error quotes of a line that cannot be read.
const quotedMax = 80

// unreadable explains an error of the text parser, whose own text mentions its tokens and strconv. It
// ends with the rest of the line, quoted, from the place where the parser gave up.
func unreadable(err error) string {
	text := err.Error()
	_, rest, quotes := strings.Cut(text, " while parsing: ")
	if line, e := strconv.Unquote(rest); quotes && e == nil {
		line, _, _ = strings.Cut(line, "\n")
		return fmt.Sprintf("not a line of metrics: %.*q", quotedMax, line)
	}
	if strings.Contains(text, "strconv.") {
		return "a value that is not a number"
	}
	return text
}
