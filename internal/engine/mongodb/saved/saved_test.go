package saved

import (
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

// The same status as printed by the old shell, by mongosh and as EJSON.
var spellings = map[string]string{
	"mongo":             "rs0:PRIMARY> db.serverStatus()\n{\n\t\"host\" : \"db-1:27017\",\n\t\"version\" : \"4.4.6\",\n\t\"uptimeMillis\" : NumberLong(10000),\n\t\"localTime\" : ISODate(\"2026-11-21T02:00:00.500Z\"),\n\t\"opcounters\" : { \"insert\" : 5 },\n\t\"opLatencies\" : { \"writes\" : { \"latency\" : NumberLong(\"64000000000\"), \"ops\" : NumberLong(2000000) } },\n\t\"$clusterTime\" : { \"clusterTime\" : Timestamp(1795226400, 1), \"signature\" : { \"hash\" : BinData(0,\"AA=\") } },\n\t\"ok\" : 1\n}\nrs0:PRIMARY> \n",
	"mongosh":           "{\n  host: 'db-1:27017',\n  version: '7.0.5',\n  uptimeMillis: Long('10000'),\n  localTime: ISODate('2026-11-21T02:00:00.500Z'),\n  opcounters: { insert: Long('5'), deprecated: [Object] },\n  opLatencies: {\n    writes: { latency: Long('64000000000'), ops: Long('2000000') }\n  },\n  '$clusterTime': { clusterTime: Timestamp({ t: 1795226400, i: 1 }) },\n  ok: 1\n}\n",
	"EJSON":             `{"host":"db-1:27017","version":"7.0.5","uptimeMillis":{"$numberLong":"10000"},"localTime":{"$date":"2026-11-21T02:00:00.500Z"},"opcounters":{"insert":5},"opLatencies":{"writes":{"latency":{"$numberLong":"64000000000"},"ops":{"$numberLong":"2000000"}}},"ok":1}` + "\n",
	"getDiagnosticData": "{ data: { start: ISODate('2026-11-21T02:00:00.500Z'), serverStatus: { start: ISODate('2026-11-21T02:00:00.500Z'), host: 'db-1:27017', version: '7.0.5', uptimeMillis: Long('10000'), localTime: ISODate('2026-11-21T02:00:01Z'), opcounters: { insert: 5 }, opLatencies: { writes: { latency: Long('64000000000'), ops: 2000000 } } } }, ok: 1 }\n",
}

func fileOf(text string) source.File {
	return source.File{Path: "status.txt", Modified: time.Unix(1795226700, 0),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func values(t *testing.T, text, query string) ([]recording.Series, recording.Source, error) {
	t.Helper()
	m := recording.NewMemory(recording.MemoryOptions{})
	s := New(fileOf(text))
	if err := s.Read(t.Context(), m, source.Options{}); err != nil {
		return nil, recording.Source{}, err
	}
	series, err := m.Samples(t.Context(), recording.MustSelector(query), time.Unix(0, 0), time.Unix(1<<32, 0))
	if err != nil {
		t.Fatal(err)
	}
	return series, s.Describe(), nil
}

func TestSpellings(t *testing.T) {
	for name, text := range spellings {
		if !Sniff([]byte(text)) {
			t.Errorf("%s: not recognised", name)
		}
		series, d, err := values(t, text, `mongodb_ss_opLatencies_latency{op_type="writes",instance="db-1:27017"}`)
		if err != nil || len(series) != 1 || len(series[0].Points) != 1 {
			t.Errorf("%s: %v, %v", name, series, err)
			continue
		}
		if p := series[0].Points[0]; p.F != 64e9 || p.T != 1795226400500 {
			t.Errorf("%s: %v at %d", name, p.F, p.T)
		}
		if d.Host != "db-1" || d.Version == "" {
			t.Errorf("%s: described as %+v", name, d)
		}
	}
}

// Several documents are a recording, in order of time, whatever text is between them.
func TestSeveral(t *testing.T) {
	later := strings.ReplaceAll(spellings["mongosh"], "02:00:00.500", "02:01:00.500")
	for name, text := range map[string]string{
		"one after the other": later + "// a remark\n" + spellings["mongosh"],
		"an array":            "[" + later + "," + spellings["mongosh"] + "]",
		"a cut one":           spellings["mongosh"] + later + "{ uptimeMillis: 5, opcounters: {",
	} {
		series, d, err := values(t, text, `mongodb_ss_opcounters`)
		if err != nil || len(series) != 1 || len(series[0].Points) != 2 || d.Period != time.Minute {
			t.Errorf("%s: %v, %+v, %v", name, series, d, err)
		}
	}
}

// Other documents are not recognised as a status, and a damaged one is an error with its line.
func TestNot(t *testing.T) {
	for _, text := range []string{
		"", `{"a":1}`, `{"t":{"$date":"2026-11-21T02:00:00Z"},"s":"I","ctx":"main","msg":"serverStatus was very slow","attr":{"uptimeMillis":5}}`,
		`{"metric":{"__name__":"mongodb_ss_uptimeMillis"}}`,
	} {
		if Sniff([]byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}

	_, _, err := values(t, "{\n uptimeMillis: 5,\n opcounters: {\n insert ? }", `x`)
	if err == nil || !strings.Contains(err.Error(), "status.txt") || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("error %v, want one with the file and line 4", err)
	}
}

func FuzzSaved(f *testing.F) {
	for _, s := range spellings {
		f.Add(s)
	}
	f.Add(strings.Repeat("[", 1000))
	f.Add("{a: new Date(9e99), b: Timestamp({t: -1}), '': NumberLong('x')}")
	f.Fuzz(func(t *testing.T, text string) {
		Sniff([]byte(text))
		m := recording.NewMemory(recording.MemoryOptions{})
		_ = New(fileOf(text)).Read(t.Context(), m, source.Options{}) // any error but a panic
	})
}
