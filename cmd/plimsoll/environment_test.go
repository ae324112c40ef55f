package main

import (
	"strings"
	"testing"
)

// Credentials in the environment belong to one server.
func TestCredentialsAreOneServers(t *testing.T) {
	const mongo, page, other = "mongodb://db:27017/", "http://db:9216/metrics", "https://else/metrics"
	for name, x := range map[string]struct {
		env  map[string]string
		args []string
		want string // which arguments get the password or token, or the error
	}{
		"none":                   {nil, []string{mongo, page}, "00"},
		"one server":             {map[string]string{"PLIMSOLL_PASSWORD": "x"}, []string{"host", page, "a.log"}, "111"},
		"the same server":        {map[string]string{"PLIMSOLL_PASSWORD": "x"}, []string{page, "http://db:9216/other/metrics"}, "11"},
		"several":                {map[string]string{"PLIMSOLL_PASSWORD": "x"}, []string{page, other, "host"}, "PLIMSOLL_PASSWORD is for one server, but could be for db:9216 or else"},
		"several, a token":       {map[string]string{"PLIMSOLL_TOKEN": "x"}, []string{mongo, other}, "PLIMSOLL_TOKEN is for one server, but could be for db:27017 or else"},
		"named":                  {map[string]string{"PLIMSOLL_PASSWORD": "x", "PLIMSOLL_SERVER": "else"}, []string{page, other}, "01"},
		"named by host and port": {map[string]string{"PLIMSOLL_PASSWORD": "x", "PLIMSOLL_SERVER": "db:9216"}, []string{mongo, page, other}, "010"},
		"another is named":       {map[string]string{"PLIMSOLL_PASSWORD": "x", "PLIMSOLL_SERVER": "db:1"}, []string{mongo, page}, "00"},
		"one has a user":         {map[string]string{"PLIMSOLL_PASSWORD": "x"}, []string{"mongodb://me@db:27017/", page}, "10"},
		"the others have one":    {map[string]string{"PLIMSOLL_PASSWORD": "x"}, []string{"http://me:y@a/metrics", other}, "01"},
		"Prometheus":             {map[string]string{"PLIMSOLL_PROMETHEUS_TOKEN": "x"}, []string{"http://a:9090", "http://b:9090"}, "PLIMSOLL_PROMETHEUS_TOKEN is for one server"},
		"Prometheus and others":  {map[string]string{"PLIMSOLL_PROMETHEUS_TOKEN": "x"}, []string{"http://a:9090", mongo}, "10"},
	} {
		getenv := func(key string) string { return x.env[key] }
		bound, err := bindEnvironment(getenv, x.args)
		if err != nil {
			f := asFailure(t.Context(), err)
			if !strings.HasPrefix(err.Error(), x.want) || f.code != exitUsage || !strings.Contains(f.hint, envServer+"=") {
				t.Errorf("%s: %v, hint %q", name, err, f.hint)
			}
			continue
		}

		got := ""
		for _, env := range bound {
			sees := "0"
			if env("PLIMSOLL_PASSWORD")+env("PLIMSOLL_TOKEN")+env("PLIMSOLL_PROMETHEUS_TOKEN") != "" {
				sees = "1"
			}
			got += sees
		}

		if got != x.want {
			t.Errorf("%s: %s, not %s", name, got, x.want)
		}
	}
}
