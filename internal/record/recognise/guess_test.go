package recognise

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guesser is an opener of one engine, on a machine with two processes: a server on port 5599, and a shell.
func guesser(t *testing.T) (o *Opener, folder string) {
	t.Helper()
	proc, folder := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for pid, name := range map[int]string{41: "ledgerd", 42: "bash"} {
		write(filepath.Join(proc, fmt.Sprint(pid), "stat"),
			fmt.Sprintf("%d (%s) S 1%s\n", pid, name, strings.Repeat(" 0", 40)))
		write(filepath.Join(proc, fmt.Sprint(pid), "status"), "Uid:\t7\t7\t7\t7\n")
	}
	write(filepath.Join(proc, "net", "tcp"), "head\n 0: 0100007F:15DF 00000000:0000 0A 0:0 0:0 0 7 0 99\n")
	write(filepath.Join(folder, "LEDGER"), "41\n")

	o = For([]Engine{{
		Schemes: []string{"ledger"}, Port: "7000", Programs: []string{"ledgerd"}, Names: []string{"lg"},
		DataFolder: func(dir string) (int, string, bool) {
			_, err := os.Stat(filepath.Join(dir, "LEDGER"))
			return 41, "", err == nil
		},
		Configured: regexp.MustCompile(`^ledger port `), ConfiguredPort: regexp.MustCompile(`^ledger port (.*)`),
		Looks: []Look{{Is: Starts("LEDGER LOG"), Text: "is a log: give " + ServerHere}},
	}})
	o.proc = proc

	return o, folder
}

// For common inputs instead of an address, the error suggests the address of the server on this machine.
func TestMeant(t *testing.T) {
	o, folder := guesser(t)
	for arg, want := range map[string]string{
		"ledger":         "ledger://localhost:5599",
		"LG":             "ledger://localhost:5599",
		"ledgerd":        "ledger://localhost:5599",
		"41":             "ledger://localhost:5599",
		"42":             "--pid 42",
		"localhost:5599": "ledger://localhost:5599", ":5599": "ledger://localhost:5599",
		"5599": "ledger://localhost:5599",
		// These do not mean a server here: an unknown process, another port, another machine, a file's
		// name.
		"43": "", "5598": "", "localhost:5598": "", "db-7:5599": "", "ledger.log": "",
	} {
		if got := o.meant(arg); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s is answered with %q, want %q", arg, got, want)
		}
	}

	if got := o.dataFolder(folder); !strings.Contains(got, "ledger://localhost:5599") {
		t.Errorf("a data folder is answered with %q", got)
	}
	if got := o.dataFolder(t.TempDir()); got != "" {
		t.Errorf("an empty folder is taken for a data folder: %q", got)
	}
	if got := o.looksLike([]byte("LEDGER LOG\n"), plain); got != "is a log: give ledger://localhost:5599" {
		t.Errorf("a log is answered with %q", got)
	}
}

// Without a server on this machine, the default address is only an example.
func TestMeantElsewhere(t *testing.T) {
	o, folder := guesser(t)
	o.proc = t.TempDir()
	if got := o.meant("ledger"); !strings.Contains(got, "for example ledger://HOST:7000") {
		t.Errorf("ledger is answered with %q", got)
	}
	if got := o.dataFolder(folder); !strings.Contains(got, "is not running") {
		t.Errorf("the data folder of a server that ended is answered with %q", got)
	}
}

// A folder above a server's data or configuration, and the configuration itself, lead to the server's address.
func TestServerFolder(t *testing.T) {
	o, data := guesser(t)
	top := t.TempDir()
	if err := os.MkdirAll(filepath.Join(top, "15"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(data, filepath.Join(top, "15", "main")); err != nil {
		t.Fatal(err)
	}

	for dir, want := range map[string]string{
		top:                              filepath.Join(top, "15", "main") + " is the data folder",
		filepath.Join(top, "15"):         filepath.Join(top, "15", "main") + " is the data folder",
		filepath.Join(top, "15", "main"): filepath.Join(top, "15", "main") + " is the data folder",
	} {
		if got := o.serverFolder(dir); !strings.Contains(got, want) || !strings.Contains(got, "ledger://localhost:5599") {
			t.Errorf("%s is answered with %q, want %q", dir, got, want)
		}
	}

	etc := t.TempDir()
	path := filepath.Join(etc, "ledger.conf")
	for port, want := range map[string]string{
		"5599": "give its address, ledger://localhost:5599", "": "give its address, ledger://localhost:5599",
		"7001": "ledger://HOST:7001 (on this machine, no server has that port)",
	} {
		if err := os.WriteFile(path, []byte("ledger port "+port), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := o.serverFolder(etc); !strings.Contains(got, path+" is the configuration of a server (ledgerd)") ||
			!strings.HasSuffix(got, want) {
			t.Errorf("port %q is answered with %q, want %q", port, got, want)
		}
		if got := o.looksLike([]byte("ledger port "+port), plain); !strings.HasSuffix(got, want) {
			t.Errorf("port %q is answered with %q, want %q", port, got, want)
		}
	}
}

// A running server's command line names a folder that this user may not read.
func TestServedFrom(t *testing.T) {
	o, _ := guesser(t)
	if err := os.WriteFile(filepath.Join(o.proc, "41", "cmdline"), []byte("ledgerd\x00--data=/srv/ledger\x00"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := o.serverFolder("/srv/ledger"); !strings.Contains(got, "ledger://localhost:5599") {
		t.Errorf("a folder that cannot be read is answered with %q", got)
	}
	if got := o.serverFolder("/srv/other"); got != "" {
		t.Errorf("another folder is answered with %q", got)
	}
}
