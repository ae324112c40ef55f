package live

import (
	"testing"

	"plimsoll/internal/record/recognise"
)

func TestConfiguration(t *testing.T) {
	e := recognise.Engine{Configured: Configured, ConfiguredPort: ConfiguredPort}
	for text, want := range map[string]string{
		"storage:\n  dbPath: /var/lib/mongodb\nnet:\n  port: 27018\n": "27018",
		"# mongod.conf\nsystemLog:\n  destination: file\n":            "",
		"dbpath = /data\nport = 27019\n":                              "27019",
		"engine: wiredtiger\nvolumes:\n  data:\n    type: gp3\n":      "no",
	} {
		port, is := e.Configuration([]byte(text))
		if got := port; is && got != want || is == (want == "no") {
			t.Errorf("%q: port %q, %t; want %q", text, port, is, want)
		}
	}
}
