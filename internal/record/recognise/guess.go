package recognise

import (
	"cmp"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/base/procfs"
	"plimsoll/internal/record/host"
)

// procDir is where the processes of this machine are listed.
const procDir = "/proc"

// A server is what an argument says about a server on this machine.
type server struct {
	pid  int    // 0: unknown
	port string // "": unknown
}

// meant explains an argument that is not a source but means a server: an engine's name, a process id, or the
// port of a server on this machine. It is "" if the argument means none.
func (o *Opener) meant(arg string) string {
	if n, err := strconv.Atoi(arg); err == nil {
		return cmp.Or(o.process(n), o.listeningAt(arg, "localhost", arg))
	}

	for _, e := range o.engines {
		named := func(name string) bool { return strings.EqualFold(name, arg) }
		if len(e.Schemes) == 0 || !slices.ContainsFunc(e.names(), named) {
			continue
		}
		if here := o.running(e); len(here) > 0 {
			return fmt.Sprintf("%s is not an address: the server on this machine is %s", arg, either(here))
		}
		return fmt.Sprintf("%s is not an address: give the server's, for example %s://HOST:%s", arg, e.Schemes[0],
			e.Port)
	}

	host, port, err := net.SplitHostPort(arg)
	if err != nil || !thisMachine(host) {
		return ""
	}
	return o.listeningAt(arg, cmp.Or(host, "localhost"), port)
}

// listeningAt explains an argument that means a port of a server on this machine.
func (o *Opener) listeningAt(arg, host, port string) string {
	for _, e := range o.engines {
		if len(e.Schemes) > 0 && slices.Contains(o.running(e), addressAt(e, "localhost", port)) {
			return fmt.Sprintf("%s has no scheme: give %s", arg, addressAt(e, host, port))
		}
	}
	return ""
}

// names are what users call an engine: its schemes, its programs and further names.
func (e *Engine) names() []string { return slices.Concat(e.Schemes, e.Programs, e.Names) }

func thisMachine(host string) bool {
	return host == "" || host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func addressAt(e *Engine, host, port string) string {
	return e.Schemes[0] + "://" + net.JoinHostPort(host, port)
}

// process explains a process id.
func (o *Opener) process(pid int) string {
	if !procfs.Alive(o.proc, pid) {
		return ""
	}

	name := o.programOf(pid)
	for _, e := range o.engines {
		if slices.Contains(e.Programs, name) && len(e.Schemes) > 0 {
			return fmt.Sprintf("%d is a process of %s: give the server's address, %s", pid, name,
				o.addressOf(e, server{pid: pid}))
		}
	}
	return fmt.Sprintf("%d is a process (%s), not a source: plimsoll trace --pid %d explains its slow writes", pid, name,
		pid)
}

// programOf is the name of a process.
func (o *Opener) programOf(pid int) string {
	p, err := procfs.ProcessOf(o.proc, pid)
	if err != nil {
		return ""
	}
	return p.Name
}

// running are the addresses of an engine's servers on this machine.
func (o *Opener) running(e *Engine) (out []string) {
	if len(e.Schemes) == 0 {
		return nil
	}
	pids, _ := procfs.PIDs(o.proc) // no list: none is known
	for _, pid := range pids {
		if !slices.Contains(e.Programs, o.programOf(pid)) {
			continue
		}
		if port := e.port(procfs.Listening(o.proc, pid)); port != "" {
			out = append(out, addressAt(e, "localhost", port))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Running are the addresses of the engines' servers on this machine.
func (o *Opener) Running() (out []string) {
	for _, e := range o.engines {
		out = append(out, o.running(e)...)
	}
	return out
}

// port chooses the clients' port among those that a server listens on; "" if there is none.
func (e *Engine) port(open []int) string {
	if standard, err := strconv.Atoi(e.Port); err == nil && slices.Contains(open, standard) {
		return e.Port
	}
	if len(open) == 0 {
		return ""
	}
	return strconv.Itoa(open[0])
}

// addressOf is the address of a server on this machine. A backend process has no listening socket; then it is
// one of the servers that run here, or the default address.
func (o *Opener) addressOf(e *Engine, s server) string {
	port := s.port
	if port == "" && s.pid > 0 {
		port = e.port(procfs.Listening(o.proc, s.pid))
	}
	if port != "" {
		return addressAt(e, "localhost", port)
	}
	if here := o.running(e); len(here) > 0 {
		return either(here)
	}
	return addressAt(e, "localhost", e.Port)
}

func either(addresses []string) string { return strings.Join(addresses, " or ") }

// dataFolder explains an engine's data folder; "" if dir is none.
func (o *Opener) dataFolder(dir string) string {
	for _, e := range o.engines {
		if e.DataFolder == nil || len(e.Schemes) == 0 {
			continue
		}
		var s server
		is := false
		if s.pid, s.port, is = e.DataFolder(dir); !is {
			continue
		}

		what := fmt.Sprintf("%s is the data folder of a server (%s)", filepath.Clean(dir), e.Programs[0])
		if s.pid > 0 && !procfs.Alive(o.proc, s.pid) || s.pid == 0 && s.port == "" && len(o.running(e)) == 0 {
			return what + ", which is not running: start it and give its address, " + o.addressOf(e, server{port: s.port})
		}
		return what + ": give its address, " + o.addressOf(e, s)
	}
	return ""
}

// serverOf says where the server is whose log was given: a [Look]'s text with [ServerHere].
func (o *Opener) serverOf(e *Engine, text string) string {
	if !strings.Contains(text, ServerHere) {
		return text
	}
	return strings.ReplaceAll(text, ServerHere, o.addressOf(e, server{}))
}

// IsThisMachine reports whether an argument means the machine that the program runs on.
func IsThisMachine(arg string) bool { return host.Sniff(arg, nil) }
