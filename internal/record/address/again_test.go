package address

import "testing"

// An address that is given again keeps its user, and loses every secret.
func TestAgain(t *testing.T) {
	for arg, want := range map[string]string{
		"postgres://me:s3cret@db-1:5433/shop?sslmode=require&sslpassword=s3cret": "postgres://me@db-1:5433/shop?sslmode=require",
		"postgres://postgres@/postgres?host=/run/pg&port=5433":                   "postgres://postgres@/postgres?host=/run/pg&port=5433",
		"mongodb://app:p%40ss@a:1,b:2/?replicaSet=rs":                            "mongodb://app@a:1,b:2/?replicaSet=rs",
		"http://t0ken@prometheus:9090":                                           "http://prometheus:9090",
		"https://me:s3cret@prometheus:9090?token=s3cret":                         "https://prometheus:9090",
		"postgres://me:s3/cret@db-1/shop":                                        "postgres://...",
		"host":                                                                   "host",
		"/var/lib/x y":                                                           "/var/lib/x y",
	} {
		if got := Again(arg); got != want {
			t.Errorf("%q: %q, want %q", arg, got, want)
		}
	}
}
