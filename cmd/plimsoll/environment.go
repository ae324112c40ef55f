package main

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"plimsoll/internal/record/address"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/recording"
)

// envServer names the server that the credentials in the environment are for.
const envServer = "PLIMSOLL_SERVER"

// A credentialSet is the variables with the credentials of one server, and the addresses that accept them.
type credentialSet struct {
	variables []string
	takes     func(a *address.Address) bool
}

var credentialSets = []credentialSet{
	{[]string{exposition.EnvToken, exposition.EnvPassword, exposition.EnvUser}, func(a *address.Address) bool {
		return opener(nil).TakesCredentials(a.Scheme)
	}},
	{[]string{recording.EnvToken, recording.EnvTokenFile, recording.EnvPassword, recording.EnvUser},
		func(a *address.Address) bool {
			return a.Scheme == "http" || a.Scheme == "https"
		}},
}

// bindEnvironment returns the part of the environment that applies to each argument: the credentials in it
// belong to one server, and are sent to no other. If several servers could be meant, the error says how to
// name one.
func bindEnvironment(getenv func(string) string, args []string) ([]func(string) string, error) {
	servers := make([]*address.Address, len(args))
	for i, arg := range args {
		// A file may have a name that parses as an address, so only a scheme makes it a server.
		if a, err := address.Parse(arg); err == nil && strings.Contains(arg, "://") {
			servers[i] = a
		}
	}

	hidden := make([]map[string]bool, len(args))
	// Each set, such as a token or a user with a password, may belong to another server.
	for _, set := range credentialSets {
		first := slices.IndexFunc(set.variables, func(name string) bool { return getenv(name) != "" })
		if first < 0 {
			continue
		}

		to, err := set.server(getenv(envServer), set.variables[first], servers)
		if err != nil {
			return nil, err
		}

		for i, a := range servers {
			if a == nil || hosts(a) == to {
				continue
			}
			if hidden[i] == nil {
				hidden[i] = map[string]bool{}
			}
			for _, name := range set.variables {
				hidden[i][name] = true
			}
		}
	}

	out := make([]func(string) string, len(args))
	for i := range args {
		out[i] = func(name string) string {
			if hidden[i][name] {
				return ""
			}
			return getenv(name)
		}
	}

	return out, nil
}

// hosts returns an address's hosts in the form in which they are compared.
func hosts(a *address.Address) string { return strings.Join(a.Hosts, ",") }

// server returns the hosts of the one server that the variables are for; "" if there is none.
func (set *credentialSet) server(named, variable string, all []*address.Address) (string, error) {
	var could, users []string // each once
	for _, a := range all {
		// An address with its own password does not use the environment's.
		if a == nil || a.HasPassword || !set.takes(a) {
			continue
		}
		h := hosts(a)
		if !slices.Contains(could, h) {
			could = append(could, h)
		}
		if a.User != "" && !slices.Contains(users, h) {
			users = append(users, h)
		}
	}

	if named != "" {
		for _, h := range could {
			if h == named || slices.ContainsFunc(strings.Split(h, ","),
				func(one string) bool { return one == named || hostOnly(one) == named }) {
				return h, nil
			}
		}
		return "", nil
	}

	switch {
	case len(could) == 0:
		return "", nil
	case len(could) == 1:
		return could[0], nil
	// A user without a password in the address shows which server the password is for.
	case len(users) == 1:
		return users[0], nil
	}

	return "", usagef(fmt.Sprintf("name the server with %s=%s, or give each server's user and password in its address",
		envServer, could[0]),
		"%s is for one server, but could be for %s", variable, strings.Join(could, " or "))
}

func hostOnly(hostPort string) string {
	if h, _, err := net.SplitHostPort(hostPort); err == nil {
		return h
	}
	return hostPort
}
