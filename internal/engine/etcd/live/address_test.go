package live

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/record/recognise"
)

func none(string) string { return "" }

func TestAddresses(t *testing.T) {
	for _, x := range []struct{ address, name, page string }{
		{"etcd://a", "etcd://a:2379", "http://a:2379/metrics"},
		{"etcd://a:1,b:2,[::1]:3", "etcd://a:1,b:2,[::1]:3", "http://a:1/metrics"},
		{"etcds://[::1]", "etcds://[::1]:2379", "https://[::1]:2379/metrics"},
		{"etcd://me:s3cret@a:1/", "etcd://a:1", "http://a:1/metrics"},
		{"etcds://a?metrics=http://:2381", "etcds://a:2379", "http://a:2381/metrics"},
		{"etcds://a?metrics=http://b:2381", "etcds://a:2379", "http://b:2381/metrics"},
	} {
		a, err := parse(x.address, none)
		if err != nil {
			t.Errorf("%s: %v", x.address, err)
			continue
		}
		if a.name() != x.name || a.page(a.endpoints[0]) != x.page {
			t.Errorf("%s: %s, %s; not %s, %s", x.address, a.name(), a.page(a.endpoints[0]), x.name, x.page)
		}
	}
	for address, want := range map[string]string{
		"etcd://":                                  "example: etcd://",
		"etcd://a,,b":                              "example: etcd://",
		"etcd://me:s3cret%zz@a":                    "percent-encoded",
		"etcd://a/s3cret":                          "has a path",
		"etcd://a?password=s3cret":                 "want cacert",
		"etcd://a?metrics=s3cret":                  "http://:2381",
		"etcd://a b":                               "example: etcd://",
		"etcd://x::y:z":                            "example: etcd://",
		strings.Repeat("etcd://a", 999):            "4096 bytes",
		"etcd://" + strings.Repeat("a,", 99) + "a": "at most 64",
	} {
		if _, err := Open(t.Context(), address, recognise.LiveOptions{Getenv: none}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.60s: %v; want %q", address, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("etcd://me:s3cret@a:2379,b,[::1]:3")
	f.Add("etcds://a?cacert=x&metrics=http://:2381")
	f.Add("etcd://%41@a@b:c:d")
	f.Fuzz(func(t *testing.T, text string) {
		const secret = "qZx7-s3cret"
		a, err := parse(strings.ReplaceAll(text, "s3cret", secret), none)
		shown := fmt.Sprint(err)

		if err == nil {
			if len(a.endpoints) == 0 || len(a.endpoints) > membersMax {
				t.Fatalf("%q has %d members", text, len(a.endpoints))
			}
			shown = a.name()
			for _, e := range a.endpoints {
				if a.page(e) == "" {
					t.Fatalf("%q: %q has no page", text, e)
				}
			}
		}

		if strings.Contains(text, ":s3cret@") && strings.Count(text, "s3cret") == 1 && strings.Contains(shown, secret) {
			t.Errorf("%q shows the secret: %s", text, shown)
		}
	})
}
