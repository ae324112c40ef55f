//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	wiredtiger "plimsoll/internal/engine/mongodb/model"
	"plimsoll/internal/lab"
	"plimsoll/internal/lab/existing"
	"plimsoll/internal/model/scenario"
	"plimsoll/internal/record/source"
)

// An Existing is an existing mongod, replica set or mongos. It implements existing.Server and
// touches only its own database.
type Existing struct {
	opt existing.Options
	cfg wiredtiger.Config

	version string
	blind   bool // serverStatus is denied
	store   atomic.Pointer[store]
}

// Addresses describes server addresses, in the drivers' format.
var Addresses = existing.Addresses{
	Engine: "mongodb", Product: "MongoDB", Schemes: []string{"mongodb", "mongodb+srv"},
	Begin: "mongodb://", Example: "mongodb://user@host/", Usage: "mongodb://user@host/",
	Parameters: "tlsCAFile= and tlsCertificateKeyFile=",
}

// NewExisting prepares a run on a server, without connecting. Of the configuration, only the write
// concern matters, because the server keeps its own settings.
func NewExisting(cfg wiredtiger.Config, opt existing.Options) (*Existing, error) {
	if err := cfg.Check().Err(); err != nil {
		return nil, err
	}
	if err := existing.CheckName(opt.Name); err != nil {
		return nil, err
	}
	if err := options.Client().ApplyURI(opt.Address.Secret()).Validate(); err != nil {
		return nil, opt.Address.Redact(err)
	}
	return &Existing{opt: opt, cfg: cfg}, nil
}

// Describe implements lab.Server.
func (v *Existing) Describe() string { return "MongoDB " + v.version }

// explain adds a hint to a refusal and removes passwords.
func (v *Existing) explain(err error) error {
	if err == nil {
		return nil
	}
	out := v.opt.Address.Redact(err)
	switch codes := mongo.ErrorCodes(err); {
	case slices.Contains(codes, unauthorized):
		return fmt.Errorf("%w: %s", out, v.least())
	case slices.Contains(codes, authenticationFailed), strings.Contains(err.Error(), "auth error"):
		return fmt.Errorf("%w: a password may be in $%s; give the user's database with ?authSource=", out,
			existing.EnvPassword)
	}
	return out
}

// Error codes (MongoDB, src/mongo/base/error_codes.yml).
const (
	unauthorized         = 13
	authenticationFailed = 18
)

func (v *Existing) least() string {
	return fmt.Sprintf(
		"the user needs readWrite and dbAdmin on %s (name one with --database, and grant them there: db.grantRolesToUser(USER, "+
			"[{role: \"readWrite\", db: NAME}, {role: \"dbAdmin\", db: NAME}])), or readWriteAnyDatabase and dbAdminAnyDatabase; and clusterMonitor for statistics",
		v.opt.Name)
}

// Inspect implements existing.Server.
func (v *Existing) Inspect(ctx context.Context, sc *scenario.Scenario) (*existing.Inspection, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*selectWithin)
	defer cancel()
	client, err := connect(v.opt.Address.Secret(), 1, nil)
	if err != nil {
		return nil, v.explain(err)
	}

	defer func() { _ = client.Disconnect(ctx) }()
	who, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Raw()
	if err != nil {
		return nil, v.unreachable(ctx, err)
	}

	build, err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Raw()
	if err != nil {
		return nil, v.explain(err)
	}

	v.version, _ = build.Lookup("version").StringValueOK()
	_, waits := concern(&v.cfg)
	inspection := &existing.Inspection{
		Server: v.Describe(), Least: v.least(),
		Remove: fmt.Sprintf("db.getSiblingDB(%q).dropDatabase()", v.opt.Name),
		Notes: []string{"the server keeps its own settings, whatever engine.mongodb says; writes wait for " +
			waits},
	}

	if err := v.allowed(ctx, client); err != nil {
		return nil, err
	}

	// An error is no reason to stop: the user may have rights on this database only.
	if names, err := client.ListDatabaseNames(ctx, bson.D{{Key: "name", Value: v.opt.Name}},
		options.ListDatabases().SetAuthorizedDatabases(true)); err == nil && len(names) > 0 {
		return nil, fmt.Errorf("the database %s already exists: use another name, or remove it (%s)", v.opt.Name,
			inspection.Remove)
	}

	d, err := serverStatus(ctx, client)
	_, reports := first(d, countOf)
	switch {
	case err != nil:
		v.blind = true
		inspection.Notes = append(
			inspection.Notes, "MongoDB's own statistics and checkpoints are not recorded: the user has no clusterMonitor")
	case !reports:
		inspection.Notes = append(
			inspection.Notes, "checkpoints are not recorded: it is a mongos, or its engine is not WiredTiger")
	}

	if v.cfg.Indexes > 0 {
		inspection.Notes = append(inspection.Notes, noIndexes)
	}

	if set, ok := who.Lookup("setName").StringValueOK(); ok {
		inspection.Notes = append(inspection.Notes,
			fmt.Sprintf("it belongs to replica set %s: all members copy the data, and their oplogs lose as many older entries",
				set))
	}

	return inspection, nil
}

func (v *Existing) unreachable(ctx context.Context, err error) error {
	// Ctrl-C is not the server's fault.
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return ctx.Err()
	}
	return fmt.Errorf("it does not respond like MongoDB: %w", v.explain(err))
}

// needed are the actions of a run on its database (MongoDB manual, privilege actions).
var needed = []string{"find", "insert", "update", "dropDatabase"}

// allowed returns an error for a missing privilege. Without an authenticated user it cannot check privileges;
// the server's own refusal is the error in that case.
func (v *Existing) allowed(ctx context.Context, c *mongo.Client) error {
	var status struct {
		AuthInfo struct {
			Users      []bson.Raw `bson:"authenticatedUsers"`
			Privileges []bson.Raw `bson:"authenticatedUserPrivileges"`
		} `bson:"authInfo"`
	}
	err := c.Database("admin").RunCommand(ctx,
		bson.D{{Key: "connectionStatus", Value: 1}, {Key: "showPrivileges", Value: true}}).Decode(&status)
	if err != nil {
		return nil //nolint:nilerr // an old server or a proxy, which refuses by itself
	}

	// Without authentication, listing collections shows whether the server demands it.
	if len(status.AuthInfo.Users) == 0 {
		_, err := c.Database(v.opt.Name).ListCollectionNames(ctx, bson.D{})
		return v.explain(err)
	}

	if status.AuthInfo.Privileges == nil {
		return nil // unknown
	}

	have := map[string]bool{}
	for _, raw := range status.AuthInfo.Privileges {
		var p privilege
		if bson.Unmarshal(raw, &p) == nil && p.covers(v.opt.Name) { // another product may have other privileges
			for _, action := range p.Actions {
				have[action] = true
			}
		}
	}

	for _, action := range needed {
		if !have[action] && !have["anyAction"] {
			return fmt.Errorf("the user may not %s in database %s: %s", action, v.opt.Name, v.least())
		}
	}

	return nil
}

// A privilege is what a user may do with a resource, as connectionStatus lists it.
type privilege struct {
	Resource struct {
		Any        bool    `bson:"anyResource"`
		DB         *string `bson:"db"`
		Collection *string `bson:"collection"`
	} `bson:"resource"`
	Actions []string `bson:"actions"`
}

// covers reports whether the resource is the whole database. An empty database or collection means all of
// them (MongoDB manual, resource document).
func (p *privilege) covers(database string) bool {
	r := p.Resource
	return r.Any || r.DB != nil && (*r.DB == "" || *r.DB == database) &&
		r.Collection != nil && *r.Collection == ""
}

// Start implements lab.Server: it inserts the documents, which creates the database.
func (v *Existing) Start(ctx context.Context, m *lab.Machine, progress lab.Progress) error {
	if v.version == "" {
		if _, err := v.Inspect(ctx, m.Scenario); err != nil {
			return err
		}
	}

	c, err := connect(v.opt.Address.Secret(), m.Scenario.Workloads().Connections(), nil)
	if err != nil {
		return v.explain(err)
	}

	s := newStore(c, v.opt.Name, &v.cfg, m.Scenario)
	// Even if loading fails, some documents may exist.
	v.store.Store(s)

	if err := s.load(ctx, m.Scenario, progress); err != nil {
		return v.explain(err)
	}

	if !v.blind {
		s.watch()
	}

	return nil
}

// Do implements lab.Server.
func (v *Existing) Do(ctx context.Context, _ int, op *lab.Op) error {
	return v.explain(v.store.Load().do(ctx, op))
}

// Read implements lab.Server.
func (v *Existing) Read(ctx context.Context, key uint64) (seq uint64, found bool, err error) {
	seq, found, err = v.store.Load().read(ctx, key)
	return seq, found, v.explain(err)
}

// Sources implements lab.Server.
func (v *Existing) Sources() []source.Source {
	s := v.store.Load()
	if s == nil || v.blind {
		return nil
	}
	return []source.Source{newStatistics(s.client, v.version)}
}

// Cycles implements lab.Server.
func (v *Existing) Cycles(context.Context) ([]lab.Cycle, error) {
	return v.store.Load().seen(), nil
}

// Crash implements lab.Server: it never kills a server that others use.
func (v *Existing) Crash() error { return existing.ErrNotOurs }

// Restart implements lab.Server.
func (v *Existing) Restart(context.Context) error { return existing.ErrNotOurs }

// Stop implements lab.Server: it drops the database.
func (v *Existing) Stop(ctx context.Context) error {
	s := v.store.Swap(nil)
	if s == nil {
		return nil // only a database that this run created is dropped
	}
	var err error
	if !v.opt.Keep {
		if err = s.of.Database().Drop(ctx); err != nil {
			err = fmt.Errorf("database %s is still in %s (db.getSiblingDB(%q).dropDatabase()): %w", v.opt.Name,
				v.opt.Address, v.opt.Name, v.explain(err))
		}
	}
	return errors.Join(err, s.close(ctx))
}

var _ existing.Server = (*Existing)(nil)
