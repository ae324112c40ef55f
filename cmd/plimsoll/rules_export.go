package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	"plimsoll/internal/base/safefile"
	"plimsoll/internal/judge/alerts"
)

func newRulesExportCommand(a *app) *cobra.Command {
	var (
		to               choice
		window, interval string
		by               []string
		dir              string
	)

	to.value = alerts.Prometheus
	cmd := &cobra.Command{
		Use:  "export",
		Args: needArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt := alerts.Options{By: by}
			for _, f := range []struct {
				name, text string
				to         *time.Duration
			}{{"window", window, &opt.Window}, {"interval", interval, &opt.Interval}} {
				// Prometheus' own syntax, because the text goes into its rule file: 1d is valid
				// there and not in Go.
				d, err := model.ParseDuration(f.text)
				if err != nil || d <= 0 {
					return usagef("for example --"+f.name+" 5m", "--%s %q is not a duration", f.name, f.text)
				}
				*f.to = time.Duration(d)
			}

			for _, name := range by {
				if !model.LegacyValidation.IsValidLabelName(name) {
					return usagef("for example --by cluster", "--by %q is not a label name", name)
				}
			}

			text, err := alerts.YAML(pack(), to.value, opt)
			if err != nil {
				return usagef(seeHelp(cmd), "%s: %w", verb(cmd), err)
			}

			if dir == "" {
				_, err := a.stdout.Write(text)
				return err
			}

			return writeRules(a, filepath.Join(dir, alerts.FileName(to.value)), text)
		},
	}

	addChoice(cmd,
		&to, "to", "", "prometheus: a rule file; prometheusrule: a Kubernetes object of the Prometheus Operator",
		alerts.Forms...)
	f := cmd.Flags()
	f.StringVar(&window, "window", "5m", "how far back an alert looks")
	f.StringVar(&interval, "interval", "30s", "how often rules are evaluated: ideally the scrape interval")
	f.StringSliceVar(&by, "by", []string{"cluster"}, "labels that identify a database")
	f.StringVar(&dir, "dir", "", "folder to write the file into (default: stdout)")

	if err := cmd.MarkFlagDirname("dir"); err != nil {
		panic(err) // the flag was added above
	}

	complete(cmd, "window", "5m", "10m", "30m")
	complete(cmd, "interval", "15s", "30s", "1m")
	complete(cmd, "by", "cluster", "namespace,pod", "instance")

	return cmd
}

// writeRules writes the file, but never overwrites one that Plimsoll did not write.
func writeRules(a *app, path string, text []byte) error {
	old, err := os.ReadFile(path)
	switch {
	// Alerts that a person wrote may have the same file name.
	case err == nil && !strings.HasPrefix(string(old), "# Written by plimsoll"):
		return &failure{code: exitFailure, err: fmt.Errorf("%s exists and was not written by plimsoll", path),
			hint: "give another --dir, or move it away"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}

	if err := safefile.Write(path, text, safefile.Options{}); err != nil {
		return err
	}

	_, err = fmt.Fprintln(a.stdout, path)
	return err
}
