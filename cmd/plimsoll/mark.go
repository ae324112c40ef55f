package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/present/results"
	"plimsoll/internal/record/address"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
	"plimsoll/internal/watch"
)

// signalMark is the text of a mark by SIGUSR1.
const signalMark = "SIGUSR1"

// markOptions are the flags of `plimsoll mark`.
type markOptions struct {
	at, to, tz string
	insecure   bool
	output     choice

	// Set by Validate.
	mark recording.Mark
	url  *url.URL // of a watch; nil if to is a folder
}

func newMarkCommand(a *app) *cobra.Command {
	o := &markOptions{}
	cmd := &cobra.Command{Use: "mark [TEXT]", Args: needArgs(0, 1, "")}
	f := cmd.Flags()
	f.StringVar(&o.to, "in", addressUnasked, "a watch's address, or the folder of a recording or a ring")
	f.StringVar(&o.at, "at", "", "when it was changed: RFC 3339, \"2026-07-20 15:55\", or -5m (default: now)")
	f.StringVar(
		&o.tz, "tz", "", "time zone of --at and of output, such as Europe/Berlin (default: this machine's)")
	f.BoolVar(&o.insecure, "insecure", false, "accept any TLS certificate of the watch")
	addFormat(cmd, &o.output)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		zone, err := o.validate(a, args)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), a, zone)
	}

	return cmd
}

func (o *markOptions) validate(a *app, args []string) (zone *time.Location, err error) {
	zone = time.Local
	if o.tz != "" {
		if zone, err = time.LoadLocation(o.tz); err != nil {
			return nil, usagef("for example UTC, Europe/Berlin, America/New_York", "--tz %q: no such zone", o.tz)
		}
	}

	at, err := parseMoment("--at", cmp.Or(o.at, "now"), a.now(), zone)
	if err != nil {
		return nil, err
	}

	// Allow for clocks that differ slightly between machines.
	if at.After(a.now().Add(time.Minute)) {
		return nil, usagef("leave out --at for now", "--at %s is in the future", o.at)
	}

	if o.mark, err = recording.NewMark(at, strings.Join(args, " ")); err != nil {
		return nil, usagef("", "mark: %w", err)
	}

	text := o.to
	if _, err := os.Stat(text); err == nil || !strings.Contains(text, "://") &&
		(strings.ContainsAny(text, `/\`) || !strings.Contains(text, ":")) {
		return zone, nil // a folder, or a path that could become one
	}

	if !strings.Contains(text, "://") {
		text = "http://" + text
	}

	o.url, err = address.ParseURL(text)
	if err != nil || o.url.Scheme != "http" && o.url.Scheme != "https" {
		return nil, usagef("for example --in "+addressUnasked+
			" or --in /var/lib/plimsoll", "--in: want the address of a watch, or a recording's folder")
	}

	return zone, nil
}

// run sets the mark, and says when and where.
func (o *markOptions) run(ctx context.Context, a *app, zone *time.Location) error {
	r := results.Marked{At: o.mark.At, Text: o.mark.Text, Where: o.to}
	if o.url == nil {
		if err := recording.AddMark(o.to, o.mark); err != nil {
			return err
		}
		return a.showList(o.output, &r, results.Mark(&r, zone))
	}

	r.Where = address.PublicURL(o.url)
	c := watch.Client{URL: o.url, User: a.getenv(source.EnvUser), Password: a.getenv(source.EnvPassword),
		Insecure: o.insecure}

	// Credentials in the address take precedence over the environment's.
	if u := o.url.User; u != nil {
		c.User = u.Username()
		c.Password, _ = u.Password()
	}

	if _, err := c.Mark(ctx, o.mark); err != nil {
		f := &failure{code: exitFailure, err: err,
			hint: "start plimsoll watch, or give its address or a recording's folder with --in"}
		if refused := (*watch.RefusedError)(nil); errors.As(err, &refused) {
			f.hint = ""
			if refused.Status == http.StatusUnauthorized {
				f.hint = "give a user and password by " + source.EnvUser + " and " + source.EnvPassword
			}
		}
		return f
	}

	return a.showList(o.output, &r, results.Mark(&r, zone))
}
