package address

import "testing"

func TestPublic(t *testing.T) {
	for arg, want := range map[string]string{
		"iostat.log":                        "iostat.log",
		"a@b/c?d":                           "a@b/c?d", // a file's name
		"http://me:s3cret@h:1/metrics?k=s3": "http://h:1/metrics",
		"mongodb://me:s3cret@a,b:2/?x=s3":   "mongodb://a,b:2/",
		"mongodb://me:s3@cret@a":            "mongodb://a",
		"mongodb://me:s3/cret@a":            "mongodb://...",
		"postgres://me:s3?cret@a/db":        "postgres://...",
		"etcd://a:2379,b:2379":              "etcd://a:2379,b:2379",
	} {
		if got := Public(arg); got != want {
			t.Errorf("%s is shown as %s, not %s", arg, got, want)
		}
	}
}
