package address

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// An error may repeat any part of a command line except a password.
func TestOfArguments(t *testing.T) {
	for _, args := range [][]string{
		{"mongodb://me:s3cret@h/"}, {"x://me:s3/cr?et@h"}, {"--server=postgres://me:s3cret@h/db"}, {"--server", "etcd://u:s3cret@a,b"},
		{"http://u:s3%63ret@h:1/metrics"}, {"me:s3cret@h:5432"}, {"mongodb:/me:s3cret@h"}, {"mongodb://me:s3cret@h/=2s"}, {"postgres://h/db?user=me&password=s3cret"},
	} {
		s := OfArguments(args)
		for _, a := range args {
			said := s.Hide("no such thing: " + a + ", " + strconv.Quote(a) + ", s3cret")
			if strings.Contains(said, "s3cret") && !strings.Contains(args[0], "cr?et") || strings.Contains(said, "s3/cr?et") || strings.Contains(said, "s3%63ret") {
				t.Errorf("%q: %s", args, said)
			}
		}
	}

	s := OfArguments([]string{"postgres://postgres:postgres@db:5432/postgres", "iostat.log", "http://h:9090/x"})
	if text := "postgres://db:5432/postgres and iostat.log"; s.Hide(text) != text {
		t.Error(s.Hide(text))
	}

	var out bytes.Buffer
	if n, err := io.WriteString(OfArguments([]string{"x://me:s3cret@h"}).Writer(&out), "a s3cret\n"); n != 9 || err != nil || out.String() != "a ***\n" {
		t.Errorf("%d, %v, %q", n, err, out.String())
	}
}

// No text that repeats an address, whether unchanged, quoted, escaped or cut where a parser cuts it,
// shows its password.
func FuzzArguments(f *testing.F) {
	for _, filling := range []string{"/", "?", "#", "@", ":", "%", "%41", "\\", "\"", "'", " ", "\x00", "é", "://", "=", "&x=", "/@"} {
		f.Add("mongodb", filling, "h:27017/db")
	}
	f.Fuzz(func(t *testing.T, scheme, filling, rest string) {
		if strings.ContainsAny(scheme, ":/@?#-= ") || strings.ContainsAny(rest, "@=") || strings.Contains(rest, "qZx7") || strings.Contains(rest, "w9Kv") {
			return
		}

		text := scheme + "://me:qZx7" + filling + "w9Kv@" + rest
		s := OfArguments([]string{text})

		said := []string{text, strconv.Quote(text), fmt.Sprintf("%+q", text), url.PathEscape(text), url.QueryEscape(text)}
		for _, cut := range []string{"/", "?", "#", "@", ":", "=", "&"} {
			said = append(said, strings.Split(text, cut)...)
		}

		if _, err := url.Parse(text); err != nil {
			said = append(said, err.Error())
		}

		for _, x := range said {
			if shown := s.Hide(x); strings.Contains(shown, "qZx7") || strings.Contains(shown, "w9Kv") {
				t.Errorf("%q: %q is shown as %q", text, x, shown)
			}
		}
	})
}
