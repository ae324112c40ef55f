//go:build deps

package plimsoll

import (
	_ "github.com/cockroachdb/datadriven"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/klauspost/compress/zlib"
	_ "github.com/prometheus/client_golang/api/prometheus/v1"
	_ "github.com/prometheus/prometheus/model/textparse"
	_ "github.com/prometheus/prometheus/promql/promqltest"
	_ "github.com/prometheus/prometheus/tsdb"
	_ "github.com/prometheus/prometheus/tsdb/agent"
	_ "github.com/prometheus/prometheus/storage/remote"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/spf13/cobra/doc"
	_ "github.com/vbauerster/mpb/v8"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "pgregory.net/rapid"
)
