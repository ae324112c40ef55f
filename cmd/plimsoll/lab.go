package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/lab/mount"
	"plimsoll/scenario"
)

// newLabCommand holds the verbs that try things for real.
func newLabCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Try it: real file systems and engines on an emulated volume",
		Long: `The lab makes a volume that one thinks of renting on this machine: a real ext4 or xfs
on a block device that is as slow as the volume would be, its limits, credits and
latency by the same model that simulate computes with. Whatever runs on it runs for real.

It needs Linux and root: a loop device, FUSE and mounts. It leaves nothing behind: each
command first takes away what a killed one may have left.`,
		Example: `  sudo plimsoll lab mount gp3.yaml /mnt/gp3
  sudo plimsoll lab exec gp3.yaml -- fio --name=wal --directory={} --rw=write --bs=2300 --size=22m --fdatasync=1`,
	}
	cmd.AddCommand(newLabMountCommand(a), newLabUmountCommand(a), newLabStatusCommand(a), newLabSetCommand(a), newLabExecCommand(a), newLabRunCommand(a), newLabTableCommand(a), newLabServeCommand(a))
	return cmd
}

// sweep takes away what killed commands have left, and says what it was.
func sweep(a *app) error {
	did, err := mount.Sweep()
	for _, line := range did {
		fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(line))
	}
	return err
}

// labOptions are what mount and exec have in common.
type labOptions struct {
	sets       []string
	filesystem choice
	images     string
}

func (o *labOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.sets, "set", nil, "change a value: volumes.data.iops=16000 (again for more)")
	f.StringVar(&o.images, "images", "", "keep the images in files in this folder, not in memory")
	addChoice(cmd, &o.filesystem, "filesystem", "", "instead of the scenario's", "ext4", "xfs")
	complete(cmd, "set")
	if err := cmd.MarkFlagDirname("images"); err != nil {
		panic(err) // the flag was just added
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// start mounts what a file describes; dir "" is a folder of the machine's own.
func (o *labOptions) start(ctx context.Context, a *app, file, dir string, detached bool) (*mount.Machine, *mount.Status, error) {
	sc, err := scenario.LoadVolumes(file, o.sets)
	var problems scenario.Problems
	if errors.As(err, &problems) {
		return nil, nil, &failure{code: exitUsage, err: fmt.Errorf("these volumes cannot be:\n%w", err), hint: problems.Hint()}
	}
	if err != nil {
		return nil, nil, err
	}
	if sc.MemberCount() > 1 {
		return nil, nil, usagef("use lab run, which gives each member a machine of its own", "%s describes %d machines: one can be mounted", file, sc.MemberCount())
	}
	for _, w := range sc.Warnings {
		fmt.Fprintf(a.stderr, "plimsoll: warning: %s\n", printable(w.String()))
	}
	if err := sweep(a); err != nil {
		return nil, nil, err
	}
	m, err := mount.Start(ctx, mount.Options{
		File: file, Sets: o.sets, FileSystem: o.filesystem.value, Dir: dir, Images: o.images, Detached: detached,
		Log: func(line string) { fmt.Fprintf(a.stderr, "plimsoll: %s\n", printable(line)) },
	})
	if err != nil {
		return nil, nil, err
	}
	s, err := m.Status(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, m.Close(context.WithoutCancel(ctx), true))
	}
	for _, v := range s.Volumes {
		if w := tooFast(&v); w != "" {
			fmt.Fprintf(a.stderr, "plimsoll: warning: volume %s: %s\n", v.Name, w)
		}
	}
	return m, s, nil
}

func newLabMountCommand(a *app) *cobra.Command {
	o := &labOptions{}
	cmd := &cobra.Command{
		Use:   "mount VOLUME.yaml DIR",
		Short: "Mount emulated volumes on a folder",
		Long: `Mounts what VOLUME.yaml describes, a scenario or a lone volume, on the empty folder DIR:
one volume there, several in folders of their names below it. They stay until lab umount;
a process in the background serves them.

The image is in memory unless --images names a folder. A volume may be larger than either
as long as little of it is written.`,
		Example: `  printf 'type: gp3\nsize: 100GiB\niops: 3000\n' > gp3.yaml
  sudo plimsoll lab mount gp3.yaml /mnt/gp3
  sudo plimsoll lab set /mnt/gp3 iops=16000
  sudo plimsoll lab umount /mnt/gp3`,
		Args: needArgs(2, 2, "a volume's file and a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[1])
			if err != nil {
				return err
			}
			if err := sweep(a); err != nil {
				return err
			}
			if err := mount.Free(dir); err != nil {
				return usagef("mkdir -p "+args[1], "%w", err)
			}
			_, s, err := o.start(cmd.Context(), a, args[0], dir, true)
			if err != nil {
				return err
			}
			return writeLab(a.stdout, s)
		},
	}
	o.AddFlags(cmd)
	return cmd
}

// mounted finds the machine that serves a folder, which is one of its volumes or holds them all.
func mounted(dir string) (*mount.Machine, string, error) {
	states, err := mount.States()
	if err != nil {
		return nil, "", err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", err
	}
	var known []string
	for _, s := range states {
		for _, v := range s.Volumes {
			known = append(known, v.Dir)
			if v.Dir == abs || filepath.Dir(v.Dir) == abs || dir == "" {
				m, err := mount.Attach(s)
				name := ""
				if len(s.Volumes) == 1 || v.Dir == abs {
					name = v.Name
				}
				return m, name, err
			}
		}
	}
	if len(known) == 0 {
		return nil, "", errors.New("no volume is mounted by plimsoll")
	}
	return nil, "", fmt.Errorf("%s is no volume of plimsoll's; these are: %s", dir, strings.Join(known, ", "))
}

func newLabUmountCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "umount DIR",
		Aliases: []string{"unmount"},
		Short:   "Unmount emulated volumes, and forget what is on them",
		Example: `  sudo plimsoll lab umount /mnt/gp3`,
		Args:    needArgs(1, 1, "the folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := sweep(a); err != nil {
				return err
			}
			m, _, err := mounted(args[0])
			if err != nil {
				return err
			}
			if err := m.Close(cmd.Context(), force); err != nil {
				return &failure{code: exitFailure, err: err, hint: "--force unmounts all the same: what is open there fails from then on"}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also where somebody still uses it")
	return cmd
}

func newLabSetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "set DIR KEY=VALUE...",
		Short: "Change a mounted volume's limits while it is used",
		Long: `Changes limits of mounted volumes: iops=16000 where DIR is one volume, or by the
scenario's path, volumes.journal.iops=5000. Each volume of the machine begins anew with a
full bucket of credits. Sizes cannot change.`,
		Example: `  sudo plimsoll lab set /mnt/gp3 iops=16000 throughput=500MiB/s`,
		Args:    needArgs(2, 100, "a folder, and what is to change"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := sweep(a); err != nil {
				return err
			}
			m, name, err := mounted(args[0])
			if err != nil {
				return err
			}
			var sets []string
			for _, s := range args[1:] {
				if key, _, _ := strings.Cut(s, "="); name != "" && !strings.HasPrefix(key, "volumes.") && !strings.HasPrefix(key, "host.") {
					s = "volumes." + name + "." + s
				}
				sets = append(sets, s)
			}
			status, err := m.Set(cmd.Context(), sets)
			if err != nil {
				return err
			}
			return writeLab(a.stdout, status)
		},
	}
}

// newLabServeCommand is the daemon's verb, which nobody types.
func newLabServeCommand(*app) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Hidden: true, Args: needArgs(0, 0, ""),
		Short:   "Serve volumes: what lab mount starts in the background",
		Example: `  plimsoll lab mount gp3.yaml /mnt/gp3`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return mount.Serve(cmd.Context(), os.Stdin, os.Stdout)
		},
	}
}
