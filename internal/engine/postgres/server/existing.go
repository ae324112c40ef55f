//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	postgres "plimsoll/internal/engine/postgres/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/source"
)

const (
	// inspectWithin is how long connecting to an existing server may take.
	inspectWithin = 10 * time.Second
	// ownConnections is the number of connections in addition to the workload's: one that loads and
	// reads, one that watches, and one that detects checkpoints.
	ownConnections = 3
)

// An Existing is an existing server. It implements existing.Server and touches only the database it
// creates.
type Existing struct {
	clients
	opt    existing.Options
	cfg    postgres.Config
	home   *pgconn.Config // the database in the address
	schema schema

	version string
	free    int // free connections of the server

	made  bool
	clock *checkpointClock
}

// Addresses describes the addresses of servers, in libpq's format.
var Addresses = existing.Addresses{
	Engine: "postgres", Product: "PostgreSQL", Schemes: []string{"postgres", "postgresql"},
	Begin: "postgres://", Example: "postgres://user@host/", Usage: "postgres://user@host/",
	Socket: true, HostParameter: "host", Parameters: "sslrootcert=, sslcert= and sslkey=",
}

// NewExisting prepares a run on an existing server, without connecting. Only the rows and their
// sizes matter in the configuration: the server keeps its own settings.
func NewExisting(cfg postgres.Config, opt existing.Options) (*Existing, error) {
	if problems := cfg.Check(); len(problems) > 0 {
		return nil, fmt.Errorf("postgres: %w", problems)
	}
	if err := existing.CheckName(opt.Name); err != nil {
		return nil, err
	}
	home, err := pgconn.ParseConfig(opt.Address.Secret())
	if err != nil {
		return nil, opt.Address.Redact(err)
	}
	home.ConnectTimeout = connectWithin
	home.MaxProtocolMessageBodyLen = messageBytesMax
	return &Existing{opt: opt, cfg: cfg, home: home, schema: newSchema(&cfg)}, nil
}

// dialer connects to a database; "" is the one in the address.
func (v *Existing) dialer(database string) dialer {
	return func(ctx context.Context, name string) (*pgconn.PgConn, error) {
		cfg := v.home.Copy()
		if database != "" {
			cfg.Database = database
		}
		cfg.RuntimeParams["application_name"] = name
		c, err := pgconn.ConnectConfig(ctx, cfg)
		return c, v.explain(err)
	}
}

// explain adds advice to a refusal and removes the password.
func (v *Existing) explain(err error) error {
	if err == nil {
		return nil
	}

	pg := (*pgconn.PgError)(nil)
	if !errors.As(err, &pg) {
		return v.opt.Address.Redact(err)
	}

	err = v.opt.Address.Redact(err)
	switch pg.Code { // PostgreSQL 15 documentation, appendix A
	case "53300":
		return fmt.Errorf("%w: raise max_connections, or lower workload.connections", err)
	case "28P01", "28000":
		return fmt.Errorf("%w: put the password in $%s, $PGPASSWORD or ~/.pgpass", err, existing.EnvPassword)
	}

	return err
}

// Describe implements lab.Server.
func (v *Existing) Describe() string { return "PostgreSQL " + v.version }

// The inspection before a run: the version, whether the user may create databases, the maximum and
// current connections, whether the server is a standby.
const inspectionQuery = `SELECT current_setting('server_version'), (SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user), current_user,
	current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
	pg_is_in_recovery(), (SELECT count(*) FROM pg_database WHERE datname = $1), pg_has_role('pg_monitor', 'member')`

// Inspect implements existing.Server.
func (v *Existing) Inspect(ctx context.Context, sc *scenario.Scenario) (*existing.Inspection, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectWithin)
	defer cancel()
	c, err := v.dialer("")(ctx, "plimsoll-look")
	if err != nil {
		return nil, err
	}

	defer func() { _ = c.Close(ctx) }()
	got := c.ExecParams(ctx, inspectionQuery, [][]byte{[]byte(v.opt.Name)}, nil, nil, nil).Read()
	if got.Err != nil {
		return nil, v.explain(got.Err)
	}

	row := got.Rows[0]
	v.version, _, _ = strings.Cut(string(row[0]), " ")
	user := quotedName(string(row[2]))

	if v.free, err = strconv.Atoi(string(row[3])); err != nil {
		return nil, err
	}

	inspection := &existing.Inspection{
		Server: v.Describe(), Remove: "DROP DATABASE " + v.opt.Name,
		Least: "the user needs CREATEDB (ALTER ROLE " + user + " CREATEDB), and pg_monitor for all statistics",
		Notes: []string{"the server keeps its own settings; those in engine.postgres are ignored"},
	}

	// Most fundamental first: a standby rejects writes whatever the privileges are.
	switch {
	case string(row[4]) == "t":
		return nil, errors.New("it is a standby, which does not accept writes")
	case string(row[1]) != "t":
		return nil, fmt.Errorf("the user may not create a database: ALTER ROLE %s CREATEDB", user)
	case string(row[5]) != "0":
		return nil, fmt.Errorf("the database %s already exists: use another name, or remove it (%s)", v.opt.Name,
			inspection.Remove)
	case v.free < 2*ownConnections:
		return nil, fmt.Errorf("it has %d free connections, but a run needs %d: raise its max_connections",
			max(v.free, 0), 2*ownConnections)
	}

	if n := sc.Workloads().Connections(); n > v.most() {
		inspection.Notes = append(inspection.Notes,
			fmt.Sprintf("the workload's %d connections share %d, half of the server's free ones", n, v.most()))
	}

	if string(row[6]) != "t" {
		inspection.Notes = append(
			inspection.Notes, "the size of its WAL is not recorded: the user is not a member of pg_monitor")
	}

	return inspection, nil
}

// most returns how many connections the workload may use: half of the free ones, because other
// users need some.
func (v *Existing) most() int { return max(v.free/2, 1) }

// quotedName quotes a name for SQL.
func quotedName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Start implements lab.Server: it creates the database and fills it.
func (v *Existing) Start(ctx context.Context, machine *lab.Machine, progress lab.Progress) error {
	work := machine.Scenario.Workloads()
	v.mean = work.DocumentSize()
	if v.version == "" {
		if _, err := v.Inspect(ctx, machine.Scenario); err != nil {
			return err
		}
	}

	if progress == nil {
		progress = func(string, int64, int64) {}
	}

	home, err := v.dialer("")(ctx, "plimsoll-load")
	if err != nil {
		return err
	}

	v.made = true // even if the command fails: its answer may have been lost

	// template1 may contain users' objects, and may be in use.
	err = execute(ctx, home, "CREATE DATABASE "+v.opt.Name+" TEMPLATE template0")
	_ = home.Close(ctx)
	if err != nil {
		return v.explain(err)
	}

	own := v.dialer(v.opt.Name)
	c, err := own(ctx, "plimsoll-load")
	if err != nil {
		return err
	}

	err = v.schema.fill(ctx, c, max(v.cfg.Rows, int64(work.Documents())), progress)
	if err == nil {
		progress("checkpoint", 0, 0)
		if e := execute(ctx, c, "CHECKPOINT"); e != nil {
			machine.Print("cannot request a checkpoint, so the server's next one writes the loaded rows: " + e.Error())
		}
	}

	_ = c.Close(ctx)
	if err != nil {
		return v.explain(err)
	}

	v.reader = &link{dial: own, schema: &v.schema}
	p := newPool(own, &v.schema, work.Connections(), v.most())
	v.pool.Store(p)
	v.clock = watchCheckpoints(own)

	return v.explain(p.connect(ctx))
}

// Do implements lab.Server.
func (v *Existing) Do(ctx context.Context, conn int, op *lab.Op) error {
	return v.explain(v.clients.Do(ctx, conn, op))
}

// Sources implements lab.Server.
func (v *Existing) Sources() []source.Source {
	return []source.Source{newStatistics(v.dialer(v.opt.Name), v.opt.Name, v.version)}
}

// Cycles implements lab.Server: the checkpoints that ended during the run.
func (v *Existing) Cycles(context.Context) ([]lab.Cycle, error) {
	if v.clock == nil {
		return nil, nil
	}
	return v.clock.list(), nil
}

// Crash implements lab.Server. It refuses, because the server has other users.
func (v *Existing) Crash() error { return existing.ErrNotOurs }

// Restart implements lab.Server.
func (v *Existing) Restart(context.Context) error { return existing.ErrNotOurs }

// Stop implements lab.Server: it drops the database.
func (v *Existing) Stop(ctx context.Context) error {
	v.end(ctx)
	if v.clock != nil {
		v.clock.stop()
	}

	if !v.made || v.opt.Keep {
		return nil
	}

	c, err := v.dialer("")(ctx, "plimsoll-drop")
	if err == nil {
		// Connections of an interrupted run may still exist. They are ours, so terminate them.
		err = errors.Join(
			execute(ctx, c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+v.opt.Name+
				"' AND usename = current_user",
				"DROP DATABASE IF EXISTS "+v.opt.Name),
			c.Close(ctx))
	}

	if err != nil {
		return fmt.Errorf("cannot drop database %s on %s (remove it with DROP DATABASE %s): %w", v.opt.Name,
			v.opt.Address, v.opt.Name, v.explain(err))
	}

	v.made = false
	return nil
}

var _ existing.Server = (*Existing)(nil)
