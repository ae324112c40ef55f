package existing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// kinds covers three engines.
var kinds = Kinds{
	{
		Engine: "etcd", Product: "etcd", Schemes: []string{"etcd", "http", "https"}, Secure: []string{"https"},
		Begin: "etcd://, http://, https://", Example: "etcd://127.0.0.1:2379", Makes: "keys below %s/",
	},
	{Engine: "postgres", Product: "PostgreSQL", Schemes: []string{"postgres", "postgresql"}, Begin: "postgres://", Example: "postgres://user@host/", Socket: true, HostParameter: "host"},
	{Engine: "mongodb", Product: "MongoDB", Schemes: []string{"mongodb", "mongodb+srv"}, Begin: "mongodb://", Example: "mongodb://user@host/"},
}

func TestWanted(t *testing.T) {
	if got, want := kinds.Wanted(), "for example etcd://127.0.0.1:2379, postgres://user@host/ or mongodb://user@host/"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func none(string) string { return "" }

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"etcd://127.0.0.1:2379":                 "etcd at 127.0.0.1:2379, local",
		"etcd://localhost":                      "etcd at localhost, local",
		"https://a:2379,b:2379/":                "etcd at a:2379,b:2379",
		"http://[::1]:2379":                     "etcd at [::1]:2379, local",
		"postgres://me:s3cret@db-1/app":         "PostgreSQL at db-1",
		"postgresql://me@/app?host=/tmp/pg":     "PostgreSQL on this machine, local",
		"postgres:///app?host=db-2":             "PostgreSQL at db-2",
		"mongodb://me:s3cret@h1,h2:2/?a=b":      "MongoDB at h1,h2:2",
		"mongodb+srv://cluster.example.com/":    "MongoDB at cluster.example.com",
		"postgres://me:p%40ss@127.0.0.1:5432/x": "PostgreSQL at 127.0.0.1:5432, local",
	} {
		a, err := kinds.Parse(text, none)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}

		got := a.String()
		if a.Local() {
			got += ", local"
		}

		if got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                           "an address must begin with",
		"db-1:5432":                  "an address must begin with",
		"mysql://root:s3cret@db/":    "an address must begin with",
		"etcd://":                    "has no host",
		"mongodb://me:s3cret@/":      "has no host",
		"mongodb://me:s3%zzcret@h/":  "cannot decode the password",
		"etcd://me:s3cret@bad host/": "no valid host",
		"etcd://h\x1b[31m":           "control character",
		"etcd://" + strings.Repeat("h", addressBytesMax): "at most",
	} {
		_, err := kinds.Parse(text, none)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Printing an address never shows its secrets, nor does a redacted error.
func TestSecretsAreNotShown(t *testing.T) {
	env := func(name string) string { return map[string]string{EnvPassword: "hunter 2"}[name] }
	for _, text := range []string{
		"postgres://me:s3cret@db/x?sslpassword=s3cret", "mongodb://me:s3cret@h/?tlsCertificateKeyFilePassword=s3cret", "etcd://me:s3cret@h", "mongodb://me:s3c%72et@h/",
	} {
		a, err := kinds.Parse(text, none)
		if err != nil {
			t.Fatal(err)
		}

		shown := []string{fmt.Sprint(a), fmt.Sprintf("%v %+v %#v %s %q", a, a, a, a, a)}
		wrapped := a.Redact(fmt.Errorf("dialling %s with s3cret: %w", a.Secret(), context.DeadlineExceeded))

		shown = append(shown, wrapped.Error(), fmt.Sprintf("%+v", wrapped))
		for _, x := range shown {
			if strings.Contains(x, "s3cret") || strings.Contains(x, "s3c%72et") {
				t.Errorf("%s shows %s", text, x)
			}
		}

		if !errors.Is(wrapped, context.DeadlineExceeded) {
			t.Error("a redacted error lost its identity")
		}
	}

	a, err := kinds.Parse("mongodb://me@h/", env)
	if err != nil {
		t.Fatal(err)
	}

	if user, password := a.User(); user != "me" || password != "hunter 2" || a.Secret() != "mongodb://me:hunter%202@h/" {
		t.Errorf("%s, %s: %s", user, password, a.Secret())
	}

	if got := a.Hide("hunter 2 or hunter%202"); strings.Contains(got, "hunter") {
		t.Error(got)
	}

	if a.Redact(nil) != nil {
		t.Error("a nil error became non-nil")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"etcd://a,b", "postgres://u:p@h/d?password=q", "mongodb://u:p%40@[::1]:1/?x", "https://", "://", "postgres:///?host=/x,y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := kinds.Parse(text, none)
		if err != nil {
			return
		}

		user, password := a.User()
		again, err := kinds.Parse(a.Secret(), none)
		if err != nil || a.Engine() == "" || a.Product() == "" || again.String() != a.String() {
			t.Fatalf("%q: %#v, again %#v, %v", text, a, again, err)
		}

		if u, p := again.User(); u != user || p != password {
			t.Errorf("%q: drivers see another user or password", text)
		}

		if len(password) > 3 && !strings.Contains(strings.Join(a.Hosts(), ","), password) && !strings.Contains("PostgreSQL at MongoDB etcd on this machine", password) &&
			strings.Contains(a.String(), password) {
			t.Errorf("%q shows its password: %s", text, a)
		}
	})
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		name := NewName()
		if err := CheckName(name); err != nil || seen[name] {
			t.Errorf("%s: %v, %v", name, err, seen[name])
		}
		seen[name] = true
	}
	for _, name := range []string{"", "shop", "plimsoll_lab_", "plimsoll_lab_A", `plimsoll_lab_x";drop`, "plimsoll_lab_" + strings.Repeat("x", 51), "my_plimsoll_lab_x"} {
		if CheckName(name) == nil {
			t.Errorf("%q would be removed at the end", name)
		}
	}
}

const text = `
plimsoll: 1
run: {duration: 50s, warmup: 10s}
volumes: {data: {type: gp3, size: 50GiB}}
engine: {etcd: {}}
workload:
  arrivals: {constant: 100/s}
  mix: {update: 50%, read: 50%}
  keys: {count: 1000}
  document: {size: 1kB}
`

// The announcement matches what the run does.
func TestIntent(t *testing.T) {
	a, err := kinds.Parse("etcd://me:s3cret@h:1", none)
	if err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		sets []string
		want string
	}{
		"open": {nil, "creates keys below plimsoll_lab_x/ on etcd at h:1 (etcd 3.6.0), writes about 3975 documents (3.98 MB) within 1m0s, 1000 of them beforehand, and removes it at the end"},
		"closed": {[]string{"workload.arrivals={clients: 8}"},
			"creates keys below plimsoll_lab_x/ on etcd at h:1 (etcd 3.6.0), writes 1000 documents (1.00 MB), then as many as its clients can send for 1m0s, and removes it at the end"},
	} {
		t.Run(name, func(t *testing.T) {
			sc, err := language.Parse("test.yaml", []byte(text), c.sets)
			if err != nil {
				t.Fatal(err)
			}

			in := IntentOf(a, "plimsoll_lab_x", sc, &Inspection{Server: "etcd 3.6.0"})
			if got := in.Plan(); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}

			in.Keep = true
			if got := in.Plan(); !strings.HasSuffix(got, ", and keeps it") || in.Within != time.Minute {
				t.Error(got)
			}
		})
	}
}
