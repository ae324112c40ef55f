package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The parts of the password in secretive addresses. None of them may appear in any text.
const (
	secretFirst = "qZx7"
	secretLast  = "w9Kv"
)

// secretive are addresses with unescaped characters in the password, at a port where nothing
// listens, and malformed addresses.
func secretive() []string {
	var out []string
	schemes := []string{"mongodb", "postgres", "etcd", "http", "https", "mysql", "etcds", "mongodb+srv", "postgresql"}
	for i, filling := range []string{"/", "?", "#", "@", ":", "%", "/@", " ", "\\\"", "%41", "=", "&"} {
		out = append(out, schemes[i%len(schemes)]+"://me:"+secretFirst+filling+secretLast+"@127.0.0.1:1/metrics")
	}
	return append(out, "me:"+secretFirst+secretLast+"@127.0.0.1:1", "postgres:/me:"+secretFirst+"/"+secretLast+"@127.0.0.1:1",
		"postgres://127.0.0.1:1/db?user=me&password="+secretFirst+secretLast,
		"host=127.0.0.1 port=1 user=me password="+secretFirst+secretLast, "host=127.0.0.1 password='"+secretFirst+" "+secretLast+"'",
		"http://127.0.0.1:1/metrics;token="+secretFirst+secretLast, "http://127.0.0.1:1/metrics?api_key="+secretFirst+secretLast)
}

// Secrets used for reading and sending appear nowhere: not in the output, as text or JSON, not in
// the recording, and not in requests to a receiver or to the target of a redirect.
func TestNoSecretIsKept(t *testing.T) {
	const secret = secretFirst + secretLast
	var elsewhere strings.Builder
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = r.Header.Write(&elsewhere)
	}))
	defer other.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away/metrics" {
			http.Redirect(w, r, other.URL, http.StatusFound)
			return
		}
		fmt.Fprintln(w, "pg_up 1")
	}))

	defer page.Close()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuses" {
			http.Error(w, "no", http.StatusBadRequest)
		}
	}))

	defer receiver.Close()

	with := func(address string) string {
		return strings.Replace(address, "http://", "http://me:"+secret+"@", 1)
	}
	dir := filepath.Join(t.TempDir(), "kept")
	for name, args := range map[string][]string{
		"a recording":             {"record", with(page.URL) + "/metrics?token=" + secret + "&x=1", "--for", "1s", "--out", dir, "-o", "json"},
		"a redirect":              {"diagnose", with(page.URL) + "/away/metrics?auth=" + secret, "--for", "1s"},
		"a receiver":              {"record", page.URL + "/metrics", "--for", "1s", "--remote-write", with(receiver.URL) + "/write?tenant=" + secret, "--header", "X-Token: " + secret, "-o", "json"},
		"a receiver, as text":     {"record", page.URL + "/metrics", "--for", "1s", "--remote-write", with(receiver.URL) + "/write?tenant=" + secret},
		"a receiver that refuses": {"record", page.URL + "/metrics", "--for", "1s", "--remote-write", receiver.URL + "/refuses?k=" + secret},
	} {
		a, stdout, stderr := testApp(args...)
		a.getenv = func(name string) string { return map[string]string{"PLIMSOLL_TOKEN": secret}[name] }
		a.run(t.Context())
		if text := stdout.String() + stderr.String(); strings.Contains(text, secretFirst) || strings.Contains(text, secretLast) || text == "" {
			t.Errorf("%s shows %s", name, text)
		}
	}

	if strings.Contains(elsewhere.String(), secretFirst) || elsewhere.Len() == 0 {
		t.Errorf("another server gets %s", elsewhere.String())
	}

	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), secretFirst) || strings.Contains(string(text), secretLast) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%v, %d files", err, files)
	}
}

// shows runs the program and returns any part of the password that it prints.
func shows(t *testing.T, args ...string) {
	t.Helper()
	// Commands that would run forever are stopped; their progress does not matter.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	a, stdout, stderr := testApp(args...)
	a.run(ctx)
	for _, text := range []string{stdout.String(), stderr.String()} {
		if strings.Contains(text, secretFirst) || strings.Contains(text, secretLast) {
			t.Errorf("%q shows %.1000s", args, text)
		}
	}
}

// anyName has, by command, the flag that takes a file or folder of any name, which is shown.
var anyName = map[string]string{"plimsoll rules export": "out", "plimsoll trace": "path"}

// Every verb and every flag is given an address, whether it accepts one or wants a file, a name or a
// number and rejects it.
func TestNoSecretIsShown(t *testing.T) {
	t.Chdir(t.TempDir())
	all := secretive()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		slow := len(path) > 0 && (path[0] == "watch" || path[0] == "record" || path[0] == "diagnose") // these read them
		for i, address := range all {
			if !slow || i%3 == 0 {
				shows(t, append(path, address)...)
				if i%4 == 0 {
					shows(t, append(path, "-o", "json", address)...)
				}
			}
		}

		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.NoOptDefVal != "" || anyName[c.CommandPath()] == f.Name {
				return
			}
			shows(t, append(path, "--"+f.Name, all[0])...)
			shows(t, append(path, "no-such-file", "--"+f.Name+"="+all[3])...)
		})

		for _, sub := range c.Commands() {
			visit(sub)
		}
	}

	a, _, _ := testApp()
	visit(newRootCommand(a))
}

// Verbs with a separate address argument get each address together with the other arguments they need.
func TestNoSecretOfServersIsShown(t *testing.T) {
	scenarios, err := filepath.Glob("../../examples/scenarios/lab-*.yaml")
	if err != nil || len(scenarios) == 0 {
		t.Fatal("no scenarios", err)
	}

	for i := range scenarios {
		if scenarios[i], err = filepath.Abs(scenarios[i]); err != nil {
			t.Fatal(err)
		}
	}

	t.Chdir(t.TempDir())
	for _, filling := range []string{"/", "?", "#", "@", ":", "%", "/@", " "} {
		for _, scheme := range []string{"mongodb", "postgres", "etcd", "https"} {
			address := scheme + "://me:" + secretFirst + filling + secretLast + "@127.0.0.1:1/"
			for _, s := range scenarios {
				if scheme == "https" || strings.Contains(s, scheme) || scheme == "mongodb" && strings.Contains(s, "wiredtiger") {
					shows(t, "lab", "run", s, "--yes", "--server", address)
				}
			}
			shows(t, "lab", "check-perf", "--yes", "--for", "1s", "--server", address)
			shows(t, "diagnose", "host", "--for", "1s", "--offset", address+"=1s")
			shows(t, "diagnose", "host", "--for", "1s", "--offset", address)
			shows(t, "diagnose", "--prometheus", address)
			shows(t, "diagnose", "host", "--header", "X "+address)
		}
	}

	shows(t, "watch", "postgres://me:"+secretFirst+"@"+secretLast+"@127.0.0.1:1/shop", "--web.listen-address", "127.0.0.1:0")
}
