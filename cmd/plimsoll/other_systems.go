//go:build !linux

package main

import (
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/record/recording"
	"plimsoll/internal/watch"
)

// newLabCommand replaces the lab on other systems: its volumes need loop devices and FUSE.
func newLabCommand(*app) *cobra.Command {
	return onLinuxOnly("lab", "Try it on an emulated volume (Linux only)",
		"loop devices, FUSE and mounts", "plimsoll simulate SCENARIO predicts the same here")
}

// newProbeCommand replaces the probe of a device on other systems: it needs Linux's direct I/O
// calls.
func newProbeCommand(*app) *cobra.Command {
	return onLinuxOnly("probe", "Measure a device under the I/O that databases make (Linux only)",
		"Linux's asynchronous direct I/O", "run it on the server whose device it is")
}

// newTraceCommand replaces the trace of system calls on other systems: it is made of eBPF programs.
func newTraceCommand(*app) *cobra.Command {
	return onLinuxOnly("trace", "What each slow sync waited for, request by request (Linux only)",
		"Linux's eBPF", "run it on the server whose syncs are slow")
}

// newRolloutCommand only supports a rollout on a cluster: on a machine it exchanges names in one
// step and searches /proc for processes, which requires Linux.
func newRolloutCommand(a *app) *cobra.Command {
	modes, o := &rolloutModes{}, &clusterRollout{}
	cmd := &cobra.Command{
		Use:  "rollout PLAN.json --on k8s://NAMESPACE/NAME | --resume | --undo | --finish",
		Args: needArgs(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.on == "" {
				return unsupported{"rollout on this machine", "Linux's renameat2 and /proc; --on k8s://NAMESPACE/NAME works here"}
			}
			if err := o.Validate(args, modes); err != nil {
				return err
			}
			return asEmitFailure(o.Run(cmd.Context(), a, args, modes))
		},
	}

	modes.AddFlags(cmd)
	o.AddFlags(cmd)
	cmd.ValidArgsFunction = oneFile("json", "yaml", "yml")

	return cmd
}

// newTracer replaces the tracer on other systems.
func newTracer(time.Duration) watch.Tracer { return noTracer{} }

type noTracer struct{}

// Available implements [watch.Tracer].
func (noTracer) Available() error { return unsupported{"--trace auto", "Linux's eBPF"} }

// Trace implements [watch.Tracer].
func (noTracer) Trace(context.Context, []string, time.Duration) (*recording.Batch, error) {
	return nil, noTracer{}.Available()
}

// onLinuxOnly is a command that fails with the reason why it is missing, whatever its arguments.
func onLinuxOnly(name, short, what, instead string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, DisableFlagParsing: true,
		Example: "  plimsoll " + name + " --help",
		RunE: func(cmd *cobra.Command, args []string) error {
			// Flag parsing is off, because the flags do not exist here; --help must still work.
			for _, arg := range args {
				if arg == "-h" || arg == "--help" {
					return cmd.Help()
				}
			}
			return &failure{code: exitFailure, hint: instead,
				err: unsupported{name, what}}
		},
	}
}

// unsupported is the error of a command that this system cannot support.
type unsupported struct{ verb, what string }

func (u unsupported) Error() string {
	return u.verb + " needs " + u.what + ", which " + runtime.GOOS + " does not have: use the Linux build"
}
