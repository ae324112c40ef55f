package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/judge/diagnose"
	"plimsoll/internal/judge/fleet"
	"plimsoll/internal/present/results"
	"plimsoll/internal/record/exposition"
	"plimsoll/internal/record/httpclient"
	"plimsoll/internal/record/recording"
)

// fleetOptions are the flags of `plimsoll diagnose --prometheus`.
type fleetOptions struct {
	server   string
	by       []string
	cluster  string
	parallel int
	force    bool
	rank     choice
	headers  []string

	// Set by Validate.
	header http.Header
}

// parallelMax bounds how many databases are read concurrently.
const parallelMax = 256

func (o *fleetOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(
		&o.server, "prometheus",
		"", "diagnose every database in the Prometheus, Thanos, Mimir or VictoriaMetrics at this URL")
	f.StringSliceVar(&o.by, "by",
		nil, "with --prometheus, the labels that identify a database, such as cluster or namespace,pod; host is instance without its port (default: detected)")
	f.StringVar(
		&o.cluster, "cluster", "", "with --prometheus, the full diagnosis of the database with this name")
	f.IntVar(&o.parallel, "parallel",
		4, "with --prometheus, how many databases to read concurrently; each is held in memory")
	f.BoolVar(&o.force, "force", false, "with --prometheus, read any amount of data")
	o.rank.value = "hours"
	addChoice(cmd,
		&o.rank, "rank",
		"", "with --prometheus, the order: most stalled hours explained, most databases, or most hours for the money",
		fleet.Ranks...)

	addHeader(cmd, &o.headers)
	inGroup(cmd, fleetFlags, "force", "header")

	complete(cmd, "by", "cluster", "namespace,pod", "cluster,host", "host", "instance", "job")
}

// addHeader adds --header, for servers that need more than credentials.
func addHeader(cmd *cobra.Command, headers *[]string) {
	cmd.Flags().StringArrayVar(headers, "header",
		nil, "an additional header for requests to the server, such as 'X-Scope-OrgID: team' for Mimir (repeatable)")
	complete(cmd, "header", "X-Scope-OrgID: ", "THANOS-TENANT: ")
}

// parseHeaders reads values of --header.
func parseHeaders(values []string) (http.Header, error) {
	h := http.Header{}
	for i, v := range values { // its text may be a token
		name, value, ok := strings.Cut(v, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name+value, "\r\n") ||
			strings.Contains(name, " ") {
			return nil, usagef("for example --header 'X-Scope-OrgID: team'", "--header: value %d is not a header", i+1)
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return h, nil
}

func (o *fleetOptions) asked() bool { return o.server != "" }

// Validate checks which flags go together. given reports whether a flag is on the command line.
func (o *fleetOptions) Validate(given func(flag string) bool, args []string) (err error) {
	if !o.asked() {
		for _, name := range []string{"by", "cluster", "parallel", "force", "rank", "header"} {
			if given(name) {
				return usagef("plimsoll diagnose --prometheus http://prometheus:9090 --"+name+" ...",
					"--%s needs --prometheus", name)
			}
		}
		return nil
	}

	if len(args) > 0 {
		return usagef("diagnose either a fleet with --prometheus, or sources",
			"diagnose: %q beside --prometheus", args[0])
	}

	for _, name := range []string{"offset", "for", "period"} {
		if given(name) {
			return usagef("", "--%s does not go with --prometheus", name)
		}
	}

	if o.parallel < 1 || o.parallel > parallelMax {
		return usagef("4 is gentle, 16 is for a large cluster", "--parallel %d: want 1 to %d", o.parallel,
			parallelMax)
	}

	for _, name := range o.by {
		if strings.ContainsAny(name, "{}=\"' ") || name == "" {
			return usagef("for example --by cluster or --by namespace,pod", "--by %q is not a label name", name)
		}
	}

	o.header, err = parseHeaders(o.headers)
	return err
}

// dial connects to the server.
func (o *fleetOptions) dial(ctx context.Context, a *app, src *sourceOptions) (*recording.Server, error) {
	opt := recording.RemoteOptions{From: src.fromAt, To: src.toAt, Selector: src.selector, Header: o.header,
		Parallel: o.parallel, Transport: transport(src.insecure)}
	// Variables for a Prometheus server take precedence over the general ones, and the two are
	// never mixed.
	if a.getenv(recording.EnvToken) == "" && a.getenv(recording.EnvTokenFile) == "" &&
		a.getenv(recording.EnvUser) == "" {
		opt.Token = a.getenv(exposition.EnvToken)
		opt.User, opt.Password = a.getenv(exposition.EnvUser), a.getenv(exposition.EnvPassword)
	}
	return recording.Dial(ctx, o.server, opt)
}

// transport is Go's default one, with a connection for each concurrent request.
func transport(insecure bool) http.RoundTripper {
	t := httpclient.Base(insecure)
	// Go keeps 2 idle connections per host, so concurrent requests would reconnect all the time.
	t.MaxIdleConnsPerHost = parallelMax
	return t
}

func (o *fleetOptions) run(ctx context.Context, env *app, diagnosis *diagnoseOptions) error {
	t, stop := env.progress()
	defer stop()
	t.setStage("listing databases", 0, 0)

	server, err := o.dial(ctx, env, &diagnosis.sourceOptions)
	if err != nil {
		return err
	}

	opt := fleet.Options{Pack: pack(), By: o.by, Parallel: o.parallel, Force: o.force, Rank: o.rank.value,
		Progress: func(done, of int, samples int64) {
			t.setCount(fmt.Sprintf("diagnosing (%s samples)", shortNumber(samples)), "databases", done, of)
		}}

	// One database gets its full diagnosis instead of a row in the fleet's table.
	if o.cluster != "" {
		if diagnosis.output.value == asPage {
			opt.Diagnose.Slots = diagnose.SlotsMax
		}

		r, err := fleet.One(ctx, server, o.cluster, opt)
		stop()
		if err != nil {
			return fleetError(err)
		}

		if err := diagnosis.write(env, r); err != nil {
			return err
		}

		return diagnosis.verdict(r)
	}

	r, err := fleet.Run(ctx, server, opt)
	stop()
	if err != nil {
		return fleetError(err)
	}

	if err := o.show(env, diagnosis, r); err != nil {
		return err
	}

	// The report is written first: it covers the databases read so far.
	if r.Interrupted {
		return failf(exitInterrupted, "", "interrupted; this diagnosis covers %d of %d databases", r.Read, r.Found)
	}

	return diagnosis.failOnSeverity(severities(r))
}

// fleetError gives errors of the census their exit code.
func fleetError(err error) error {
	var unknown *fleet.UnknownError
	if errors.As(err, &unknown) {
		return usagef(unknown.Hint(), "--cluster: %w", err)
	}
	return err
}

func (o *fleetOptions) show(a *app, d *diagnoseOptions, r *fleet.Report) error {
	if d.output.value == "json" {
		return writeJSON(a, r)
	}
	return a.write(results.Fleet(r, d.zone), d.output, d.options(a))
}

// severities are the severities of all databases' causes and symptoms.
func severities(r *fleet.Report) []diagnose.Severity {
	var out []diagnose.Severity
	for _, d := range r.Databases {
		for _, f := range d.Findings {
			if f.Kind != diagnose.Refutation {
				out = append(out, f.Severity)
			}
		}
	}
	return slices.Clip(out)
}

// shortNumber writes a count for a progress line: 1.2 million.
func shortNumber(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f million", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%d thousand", n/1000)
	}
	return fmt.Sprint(n)
}
