package live

import (
	"net/url"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	env := map[string]string{"PLIMSOLL_USER": "env", "PLIMSOLL_PASSWORD": "p:w d"}
	for text, want := range map[string]struct {
		name, secret string
		one          bool
	}{
		"mongodb://db":                                    {"mongodb://db/", "mongodb://env:p%3Aw%20d@db", true},
		"mongodb://db:27018/?tls=true":                    {"mongodb://db:27018/", "mongodb://env:p%3Aw%20d@db:27018/?tls=true", true},
		"mongodb://db?tls=true":                           {"mongodb://db/", "mongodb://env:p%3Aw%20d@db/?tls=true", true},
		"MongoDB://me@db/admin":                           {"mongodb://db/", "mongodb://me:p%3Aw%20d@db/admin", true},
		"mongodb://me:s3cret@a,b:2/?replicaSet=r":         {"mongodb://a,b:2/?replicaSet=r", "mongodb://me:s3cret@a,b:2/?replicaSet=r", false},
		"mongodb://me:s%40@a,b":                           {"mongodb://a,b/", "mongodb://me:s%40@a,b", false},
		"mongodb://a/?directConnection=false":             {"mongodb://a/", "mongodb://env:p%3Aw%20d@a/?directConnection=false", false},
		"mongodb://a/?replicaset=r&directconnection=true": {"mongodb://a/?replicaSet=r", "mongodb://env:p%3Aw%20d@a/?replicaset=r&directconnection=true", true},
		"mongodb+srv://c.example.net/":                    {"mongodb+srv://c.example.net/", "mongodb+srv://env:p%3Aw%20d@c.example.net/", false},
		"mongodb://db/?authMechanism=MONGODB-X509":        {"mongodb://db/", "mongodb://db/?authMechanism=MONGODB-X509", true},
		"mongodb://%2Ftmp%2Fmongodb-27017.sock":           {"mongodb://%2Ftmp%2Fmongodb-27017.sock/", "mongodb://env:p%3Aw%20d@%2Ftmp%2Fmongodb-27017.sock", true},
	} {
		a, err := parse(text, func(k string) string { return env[k] })
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if a.name != want.name || a.secret != want.secret || a.one() != want.one {
			t.Errorf("%s is %s, %s, one server %v; not %+v", text, a.name, a.secret, a.one(), want)
		}
	}

	for _, text := range []string{
		"", "db", "http://db", "mongodb://", "mongodb://@", "mongodb://u:s3cret@", "mongodb://a,,b", "mongodb://u:s3cret%@h", "mongodb://u:s3:cret@h", "mongodb://u:s3/cret@h",
		"mongodb://u:s3@cret@h", "mongodb://h/?a=%zz", "mongodb://h h", "mongodb://h\n", "mongodb://" + strings.Repeat("h", addressBytesMax),
	} {
		if a, err := parse(text, func(string) string { return "" }); err == nil || strings.Contains(err.Error(), "s3") {
			t.Errorf("%q: %v, %v", text, a, err)
		}
	}
}

// The password never appears in anything that is shown, whatever the address.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"mongodb://me:s3cret@a,b:2/?replicaSet=r", "mongodb+srv://me:s3cret@a/db?tlsCertificateKeyFilePassword=s3cret", "mongodb://s3cret@h/@", "mongodb://h?x=s3cret@", "mongodb://u:%73%33cret@[::1]:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parse(text, func(string) string { return "" })
		if err != nil {
			if err != errAddress { //nolint:errorlint // there is one error, which repeats nothing of the address
				t.Fatal(err)
			}
			return
		}

		if said := a.errorf(nil, "the driver says %s", a.secret).Error(); a.user && strings.Contains(said, a.secret) {
			t.Fatalf("%q is shown: %s", text, said)
		}

		if u, err := url.Parse(text); err == nil && u.User != nil {
			if p, _ := u.User.Password(); len(p) > 3 && strings.Contains(a.name, p) && !strings.Contains(u.Host+u.RawQuery, p) {
				t.Fatalf("%q is shown as %s", text, a.name)
			}
		}
	})
}
