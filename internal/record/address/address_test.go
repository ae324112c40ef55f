package address

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	a, err := Parse("PostgreSQL://me:p%40ss@a:1,[::1]:2/db?sslpassword=q%26r&x=y")
	if err != nil {
		t.Fatal(err)
	}

	got := fmt.Sprint(a.Scheme, " ", a.User, " ", a.Password, " ", a.HasPassword, " ", a.Hosts, " ", a.Path, " ", a.Query)
	if want := "postgresql me p@ss true [a:1 [::1]:2] /db sslpassword=q%26r&x=y"; got != want {
		t.Errorf("%s, not %s", got, want)
	}

	if got := a.Secrets.Hide("p%40ss p@ss q%26r q&r y"); got != "*** *** *** *** y" {
		t.Error(got)
	}

	for text, want := range map[string]error{
		"db:5432": ErrScheme, "x://h\n": ErrControl, "x://%zz@h": ErrUser, "x://u:s3cret%zz@h": ErrPassword, "x://a b": ErrHost,
		"x://u:s3/cret@h": ErrAt, "x://u:s3?cret@h": ErrAt, "x://u:s3#cret": ErrHost,
	} {
		if _, err := Parse(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, not %v", text, err, want)
		}
	}
}

func TestRedact(t *testing.T) {
	var s Secrets
	s.Add("cret", "s3cret", "", "x")
	err := s.Redact(fmt.Errorf("x://u:x@h: s3cret: %w", context.DeadlineExceeded))
	if want := "x://u:***@h: ***: context deadline exceeded"; err.Error() != want || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, not %s", err, want)
	}
	if s.Redact(nil) != nil || Shown("x", nil).Error() != "x" || errors.Is(Shown("x", nil), err) {
		t.Error("a nil error became non-nil")
	}
}

// Nothing derived from an address that may be shown contains any part of its password, whatever
// characters it has: neither the hosts, nor an error, nor a command-line argument, nor what a driver
// repeats.
func FuzzSecrets(f *testing.F) {
	for _, password := range []string{"s3cret", "a/b", "a?b", "a#b", "a@b", "a:b", "a%b", "%41", "p@h:1/x?y=z", "://", ",", "@@", " "} {
		for _, rest := range []string{"h", "a:1,b:2/db?sslpassword=q", "[::1]:2/", "h/?x@"} {
			f.Add("mongodb", password, rest)
		}
	}
	f.Fuzz(func(t *testing.T, scheme, filling, rest string) {
		if strings.ContainsAny(scheme, ":/?#@") {
			return
		}

		const first, last = "qZx7", "w9Kv"
		password := first + filling + last

		text := scheme + "://me:" + password + "@" + rest
		for _, shown := range []string{Public(text), Public(scheme + "://me:" + url.PathEscape(password) + "@" + rest)} {
			if strings.Contains(shown, first) || strings.Contains(shown, last) {
				t.Errorf("%q is shown as %s", text, shown)
			}
		}

		if u, err := url.Parse(text); err == nil && u.User != nil {
			if shown := PublicURL(u); strings.Contains(shown, first) || strings.Contains(shown, last) {
				t.Errorf("%q is shown as %s", text, shown)
			}
		}

		a, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), first) || strings.Contains(err.Error(), last) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}

		shown := a.Scheme + strings.Join(a.Hosts, ",") + a.User + a.Secrets.Hide("the driver says "+text+" and "+a.Password)
		if strings.Contains(shown, first) || strings.Contains(shown, last) {
			t.Errorf("%q shows %s", text, shown)
		}
	})
}

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://me:s3#c:r@t@h:1/x?y=z": "http://me:s3%23c%3Ar%40t@h:1/x?y=z", "https://h/p?target=a@b": "https://h/p?target=a@b", "http://[::1]:9/": "http://[::1]:9/",
	} {
		if u, err := ParseURL(text); err != nil || u.String() != want {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
	for _, text := range []string{"h:9090", "http://", "http://me:12/34@h/", "http://me:s3/cret@h", "http://me:s3?cret@h:1/", "http://h:x/", "http://me:%zz@h"} {
		if u, err := ParseURL(text); err == nil || strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "34") {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
}
