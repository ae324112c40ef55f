package live

import (
	"testing"

	"plimsoll/internal/record/recognise"
)

func TestConfiguration(t *testing.T) {
	e := recognise.Engine{Configured: Configured, ConfiguredPort: ClientURLs}
	for text, want := range map[string]string{
		"name: m1\nlisten-client-urls: http://10.0.0.1:2399,http://127.0.0.1:2379\n": "2399",
		"ETCD_NAME=m1\nETCD_LISTEN_CLIENT_URLS=\"https://10.0.0.1:2378\"\n":          "2378",
		"initial-cluster: a=http://a:2380\n":                                         "",
		"name: m1\n":                                                                 "no",
	} {
		port, is := e.Configuration([]byte(text))
		if got := port; is && got != want || is == (want == "no") {
			t.Errorf("%q: port %q, %t; want %q", text, port, is, want)
		}
	}
}
