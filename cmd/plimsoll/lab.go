//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/lab/blockdev"
	"plimsoll/internal/lab/mount"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/present/results"
)

// newLabCommand groups the verbs that run real engines on emulated volumes.
func newLabCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "lab",
	}
	cmd.AddCommand(newLabMountCommand(a), newLabUmountCommand(a), newLabStatusCommand(a), newLabSetCommand(a),
		newLabExecCommand(a), newLabRunCommand(a), newLabCheckPerfCommand(a), newLabTableCommand(a),
		newLabBucketsCommand(a), newLabServeCommand(a))
	return cmd
}

// ready checks the requirements for mounting volumes, and sweeps. A failed sweep is only a warning,
// because it concerns other volumes.
func ready(a *app) error {
	if err := blockdev.Available(); err != nil {
		return err
	}
	if err := sweep(a); err != nil {
		fmt.Fprintf(a.stderr, "plimsoll: warning: %s\n", printable(err.Error()))
	}
	return nil
}

// sweep removes the leftovers of killed commands, and reports them.
func sweep(a *app) error {
	did, err := mount.Sweep()
	for _, line := range did {
		fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(line))
	}
	return err
}

// labOptions are the flags that mount and exec share.
type labOptions struct {
	sets       []string
	filesystem choice
	images     string
}

func (o *labOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.sets, "set", nil, "change a value: volumes.data.iops=16000 (repeatable)")
	f.StringVar(&o.images, "images", "", "store the images as files in this folder instead of in memory")
	addChoice(cmd, &o.filesystem, "filesystem", "", "override the scenario's file system", "ext4", "xfs")

	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string,
		cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// read reads and validates the volumes to mount.
func (o *labOptions) read(a *app, file string) (*scenario.File, error) {
	if err := a.loadCatalog(); err != nil {
		return nil, err
	}

	f, err := a.language().Open(file)
	if err != nil {
		return nil, err
	}

	sc, err := f.ParseVolumes(o.sets)
	var problems scenario.Problems
	if errors.As(err, &problems) {
		return nil, failf(exitUsage, problems.Hint(), "these volumes cannot be mounted:\n%w", err)
	}

	if err != nil {
		return nil, err
	}
	if sc.MemberCount() > 1 {
		return nil, usagef("use lab run, which gives each member its own machine",
			"%s describes %d machines, but only one can be mounted", file, sc.MemberCount())
	}

	for _, w := range sc.Warnings {
		fmt.Fprintf(a.stderr, "plimsoll: warning: %s\n", printable(w.String()))
	}

	return f, nil
}

// start mounts what a file describes; dir "" means a new folder.
func (o *labOptions) start(ctx context.Context, a *app, file string, f *scenario.File, dir string,
	detached bool) (*mount.Machine, *mount.Status, error) {
	t, stop := a.progress()
	t.setStage("creating volumes and file systems", 0, 0)
	defer stop()

	m, err := mount.Start(ctx, mount.Options{
		File: file, Text: f.Text(), Sets: o.sets, FileSystem: o.filesystem.value, Dir: dir, Images: o.images,
		Detached: detached,
		Log:      a.say,
	})
	if err != nil {
		return nil, nil, err
	}

	s, err := m.Status(ctx)
	if err != nil {
		// An interrupt must not keep the volumes from being removed.
		return nil, nil, errors.Join(err, m.Close(context.WithoutCancel(ctx), true))
	}

	for _, v := range s.Volumes {
		if w := tooFast(&v); w != "" {
			fmt.Fprintf(a.stderr, "plimsoll: warning: volume %s: %s\n", v.Name, w)
		}
	}

	return m, s, nil
}

func newLabMountCommand(env *app) *cobra.Command {
	opt := &labOptions{}
	var output choice
	cmd := &cobra.Command{
		Use:  "mount VOLUME.yaml DIR",
		Args: needArgs(2, 2, "a volume's file and a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := opt.read(env, args[0])
			if err != nil {
				return err
			}

			if err := ready(env); err != nil {
				return err
			}

			dir, err := realPath(args[1])
			if err != nil {
				return usagef("mkdir -p "+args[1], "the mount point: %w", err)
			}

			if err := mount.Free(dir); err != nil {
				return usagef("name an empty folder", "%w", err)
			}

			_, s, err := opt.start(cmd.Context(), env, args[0], f, dir, true)
			if taken := mount.Free(dir); err != nil && taken != nil { // meanwhile, by another
				return usagef("name an empty folder", "%w", taken)
			}

			if err != nil {
				return err
			}

			return env.showList(output, s, results.LabStatus(s))
		},
	}

	opt.AddFlags(cmd)
	addFormat(cmd, &output)
	return cmd
}

// mounted finds the machine that serves a folder: a volume's, or the one that holds all its
// volumes.
func mounted(dir string) (*mount.Machine, string, error) {
	states, err := mount.States()
	if err != nil {
		return nil, "", err
	}

	at, err := realPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		at, err = filepath.Abs(dir) // it may be hidden by another mount
	}

	if err != nil {
		return nil, "", usagef("plimsoll lab status lists what is mounted", "%w", err)
	}

	var known []string
	for _, s := range states {
		for _, v := range s.Volumes {
			if v.Dir == "" {
				continue // being created
			}

			known = append(known, v.Dir)
			if v.Dir == at || filepath.Dir(v.Dir) == at {
				m, err := mount.Attach(s)
				name := ""
				// A folder that contains several volumes names the machine, not one of them.
				if len(s.Volumes) == 1 || v.Dir == at {
					name = v.Name
				}
				return m, name, err
			}
		}
	}

	if len(known) == 0 {
		return nil, "", usagef("plimsoll lab mount VOLUME.yaml DIR mounts one",
			"%s is not a volume of plimsoll: none is mounted", dir)
	}

	return nil, "", usagef("mounted are: "+strings.Join(known, ", "), "%s is not a volume of plimsoll", dir)
}

// realPath is a folder's path without symbolic links, as it appears in the kernel's list of mounts.
func realPath(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("the folder's name is empty")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		// It names no path if a parent is a file.
		return "", fmt.Errorf("%s: %w", dir, cmp.Or(errors.Unwrap(err), err))
	}
	return real, nil
}

func newLabUmountCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "umount DIR",
		Aliases: []string{"unmount"},
		Args:    needArgs(1, 1, "the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ready(a); err != nil {
				return err
			}
			m, _, err := mounted(args[0])
			if err != nil {
				return err
			}
			if err := m.Close(cmd.Context(), force); err != nil {
				return &failure{code: exitFailure, err: err, hint: closeHint(err, force)}
			}
			return nil
		},
	}

	cmd.Flags().BoolVar(&force, "force", false, "unmount even if it is in use")
	return cmd
}

// closeHint suggests what to do about a volume that is still mounted. --force helps only against
// open files.
func closeHint(err error, force bool) string {
	var busy *mount.BusyError
	if force || !errors.As(err, &busy) {
		return "plimsoll lab status lists what is mounted"
	}
	return "--force unmounts anyway; files that are open there will fail"
}

func newLabSetCommand(a *app) *cobra.Command {
	var output choice
	cmd := &cobra.Command{
		Use:  "set DIR KEY=VALUE...",
		Args: needArgs(2, 100, "a folder, and what to change"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ready(a); err != nil {
				return err
			}

			m, name, err := mounted(args[0])
			if err != nil {
				return err
			}

			sets := make([]string, len(args)-1)
			for i, s := range args[1:] {
				if sets[i], err = labSet(name, s); err != nil {
					return err
				}
			}

			status, err := m.Set(cmd.Context(), sets)
			if err != nil {
				return usagef("nothing was changed; lab status shows the current limits", "%w", err)
			}

			return a.showList(output, status, results.LabStatus(status))
		},
	}

	addFormat(cmd, &output)
	return cmd
}

// labSet turns an assignment into one for the volume called name; a full path stays as it is.
func labSet(name, set string) (string, error) {
	key, _, ok := strings.Cut(set, "=")
	switch {
	case !ok || key == "":
		return "", usagef("for example iops=16000", "%q is not an assignment", set)
	case strings.HasPrefix(key, "volumes.") || strings.HasPrefix(key, "host."):
		return set, nil
	case key == "instance":
		return "host." + set, nil
	case name == "":
		return "", usagef("write volumes.NAME."+set+", or name the folder of one volume",
			"%s: for which volume?", set)
	}
	return "volumes." + name + "." + set, nil
}

// newLabServeCommand is the daemon's verb, which users never type.
func newLabServeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Hidden: true, Args: needArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.loadCatalog(); err != nil {
				return err
			}
			return mount.Serve(cmd.Context(), a.language(), os.Stdin, os.Stdout)
		},
	}
}
