package recognise

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/record/recording"
)

// Limits of the search for a server's folder or configuration under a folder. Debian's clusters are at
// /var/lib/postgresql/15/main, two levels below the folder that users know.
const (
	serverLevels     = 2
	serverEntriesMax = 500
)

// serverFolder explains a folder that is a server's or contains one: its data, or its configuration. It is ""
// if there is none.
func (o *Opener) serverFolder(dir string) string {
	left := serverEntriesMax
	found := o.serversIn(dir, serverLevels, &left)
	switch {
	case len(found) == 0:
		return o.servedFrom(dir)
	case strings.HasPrefix(found[0], filepath.Clean(dir)+" "): // it is the folder itself
		return found[0]
	}
	return fmt.Sprintf("%s is not a source, but %s", dir, strings.Join(found, "; "))
}

// serversIn explains the servers' folders and configurations in a folder, down to some levels below it.
func (o *Opener) serversIn(dir string, levels int, left *int) (out []string) {
	// A capture in a server's folder is a source, and Open suggests it.
	if recording.IsRecording(dir) || o.capture(dir, nil) != nil {
		return nil
	}
	if is := o.dataFolder(dir); is != "" {
		return []string{is}
	}

	var folders []string
	config := ""
	for _, path := range entries(dir) {
		if *left--; *left < 0 {
			return out
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			folders = append(folders, path)
		case info.Mode().IsRegular() && info.Size() <= headBytes:
			// Several files configure one server. The last is the main one: postgresql.conf follows pg_hba.conf.
			if head, err := os.ReadFile(path); err == nil {
				if is := o.configuration(head); is != "" {
					config = path + " " + is
				}
			}
		}
	}

	if config != "" {
		return []string{config}
	}
	if levels == 0 {
		return nil
	}
	for _, folder := range folders {
		out = append(out, o.serversIn(folder, levels-1, left)...)
	}
	return out
}

// servedFrom explains a folder that this user may not read, by a running server that was started with it.
func (o *Opener) servedFrom(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}

	pids, _ := procfs.PIDs(o.proc) // no list: none is known
	for _, pid := range pids {
		name := o.programOf(pid)
		i := slices.IndexFunc(o.engines, func(e *Engine) bool {
			return len(e.Schemes) > 0 && slices.Contains(e.Programs, name)
		})
		if i < 0 {
			continue
		}

		line, _ := os.ReadFile(filepath.Join(o.proc, fmt.Sprint(pid), "cmdline"))
		for arg := range strings.SplitSeq(string(line), "\x00") {
			if _, value, ok := strings.Cut(arg, "="); ok {
				arg = value
			}
			if arg == dir {
				return fmt.Sprintf("%s belongs to a server (%s): give its address, %s", dir, name,
					o.addressOf(o.engines[i], server{pid: pid}))
			}
		}
	}
	return ""
}

// configuration explains the text of a server's configuration; "" if it is none.
func (o *Opener) configuration(head []byte) string {
	for _, e := range o.engines {
		if port, is := e.Configuration(head); is && len(e.Schemes) > 0 {
			return o.configured(e, port)
		}
	}
	return ""
}

// configured explains a configuration with a port, "" if it names none.
func (o *Opener) configured(e *Engine, port string) string {
	what := fmt.Sprintf("is the configuration of a server (%s): give its address, ", e.Programs[0])
	here := addressAt(e, "localhost", port)
	if port == "" || slices.Contains(o.running(e), here) {
		return what + o.addressOf(e, server{port: port})
	}
	return fmt.Sprintf("%s%s (on this machine, no server has that port)", what,
		addressAt(e, "HOST", port))
}
