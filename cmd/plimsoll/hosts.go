package main

import (
	"path/filepath"
	"strings"

	"plimsoll/internal/record/address"
)

// hostNames are the hosts that the user assigned to sources, by the source's argument or its last element.
type hostNames map[string]string

// parseHosts reads values of --host: iostat.log=db-1.
func parseHosts(values, args []string) (hostNames, error) {
	out := hostNames{}
	for _, v := range values {
		// The last equals sign: an address may contain others, a host name cannot.
		i := strings.LastIndexByte(v, '=')
		if i <= 0 || i == len(v)-1 {
			return nil, usagef("for example --host iostat.log=db-1", "--host %q: want SOURCE=NAME", address.Public(v))
		}
		name, host := v[:i], v[i+1:]
		if err := checkArgument("--host "+host, name, args); err != nil {
			return nil, err
		}
		out[name] = host
	}
	return out, nil
}

// of returns the host names by the names that the sources report for themselves.
func (h hostNames) of(inputs []input) map[string]string {
	out := map[string]string{}
	for _, in := range inputs {
		for _, name := range []string{in.arg, filepath.Base(in.arg)} {
			host, ok := h[name]
			if !ok {
				continue
			}
			out[in.Describe().Name] = host
			if in.Reader != nil {
				for _, s := range in.Reader.Sources() {
					out[s.Name] = host
				}
			}
		}
	}

	return out
}

// checkArgument refuses a flag for a name that matches no argument, neither an argument itself nor its last
// element. The hint lists the arguments.
func checkArgument(flag, name string, args []string) error {
	called := make([]string, len(args))
	for i, s := range args {
		if name == s || name == filepath.Base(s) {
			return nil
		}
		called[i] = address.Public(s)
	}
	return usagef("name it as on the command line: "+strings.Join(called, ", "), "%s: there is no source %q",
		flag, address.Public(name))
}
