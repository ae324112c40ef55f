package live

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	location "plimsoll/internal/record/address"
)

// sightQuery identifies the server: version, standby or not, whether all sessions are visible,
// number of databases, and whether sessions report their activity.
const sightQuery = `SELECT current_setting('server_version_num'), current_setting('server_version'), version(), pg_is_in_recovery(),
 pg_has_role('pg_read_all_stats', 'usage'), (SELECT count(*) FROM pg_database), current_setting('track_activities')`

// connect connects and finds out what this user can read on this server.
func (s *sampler) connect(ctx context.Context) error {
	c, err := pgconn.ConnectConfig(ctx, s.target.config)
	if err != nil {
		return err
	}

	s.conn = c
	if s.target.bare.Load() && s.target.remote() {
		s.limit("the password was sent in clear text, because the server requested it over a connection without TLS: add ?sslmode=require, or set password_encryption = scram-sha-256 and use scram-sha-256 in pg_hba.conf")
	}

	if err := s.oldEnough(); err != nil {
		return err
	}

	got := c.ExecParams(ctx, sightQuery, nil, nil, nil, nil).Read()
	if got.Err != nil {
		if missing(got.Err) {
			return location.Shown(s.target.name+
				": this is not PostgreSQL 10 or later, although it speaks its protocol ("+
				s.target.hide(root(got.Err).Error())+")", got.Err)
		}
		return got.Err
	}

	if len(got.Rows) != 1 || len(got.Rows[0]) != 7 {
		return fmt.Errorf("it does not report its version")
	}

	row := got.Rows[0]
	if full := string(row[2]); !strings.HasPrefix(full, "PostgreSQL ") &&
		!strings.HasPrefix(full, "EnterpriseDB ") {
		product, _, _ := strings.Cut(clipped(full), " ")
		return location.Shown(fmt.Sprintf("%s: this is %s, which speaks PostgreSQL's protocol but does not have its statistics: give its /metrics address",
			s.target.name, product), nil)
	}

	if s.version, err = strconv.Atoi(string(row[0])); err != nil {
		return fmt.Errorf("server version: %w", err)
	}

	s.text, _, _ = strings.Cut(clipped(string(row[1])), " ")
	databases, err := strconv.Atoi(string(row[5]))
	if err != nil {
		return fmt.Errorf("number of databases: %w", err)
	}

	total := databases > databasesMax
	if total {
		s.limit(fmt.Sprintf("its %d databases are summed: more than %d are not read separately", databases,
			databasesMax))
	}

	if string(row[3]) == "t" {
		s.limit("it is a standby: commits, and the checkpoints that stall them, happen on its primary; add the primary's address")
	}

	if string(row[4]) != "t" {
		s.limit("the activity of other users' sessions is hidden: " + s.grant())
	}

	if string(row[6]) != "on" {
		s.limit("track_activities is off: the server does not report how many sessions execute and what they wait for")
	}

	// Record the address, without secrets, so that printed commands reach this server.
	s.facts = map[string]string{"postgresql.standby": strconv.FormatBool(string(row[3]) == "t"),
		"server.user": s.target.config.User, "server.database": s.target.config.Database}
	if !s.target.socket() {
		s.facts["server.host"], s.facts["server.host_port"] = s.target.config.Host,
			strconv.Itoa(int(s.target.config.Port))
	}

	return s.prepare(ctx, total)
}

// oldEnough checks the version reported at connection, before sending queries that an older server
// would not understand.
func (s *sampler) oldEnough() error {
	text := s.conn.ParameterStatus("server_version")
	if strings.Contains(text, "bouncer") {
		return location.Shown(s.target.name+
			": this is PgBouncer's admin database: give the address of the server behind it", nil)
	}
	digits := text // "15.18 (Debian ...)", "18beta1"
	if i := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = digits[:i]
	}
	if major, err := strconv.Atoi(digits); err == nil && major < v10/10000 {
		return location.Shown(fmt.Sprintf("%s: version %s is too old: want 10 or later, or postgres_exporter's /metrics address",
			s.target.name, clipped(text)), nil)
	}
	return nil
}

func (s *sampler) grant() string {
	return "GRANT pg_monitor TO " + quoted(s.target.config.User)
}

// prepare builds the queries. It tries each one separately, so that only those that fail for this
// user are left out.
func (s *sampler) prepare(ctx context.Context, total bool) error {
	s.questions = nil
	// Kept across reconnections, because they have the groups that were seen.
	if s.activity == nil {
		s.activity, s.checkpointer = sessionGroups(s), checkpointerGroups(s)
	}

	var all []*question
	for _, v := range viewsOf(total) {
		if v.in(s.version) {
			all = append(all, s.questionOf(&v))
		}
	}

	all = append(all, s.activity.question("pg_stat_activity", activityOf(total)),
		s.checkpointer.question("the checkpointer's row of pg_stat_activity", checkpointerQuery))
	all = slices.DeleteFunc(append(all, s.aboutItself()...), func(q *question) bool { return q == nil })
	s.aside = newAside(s.target, s.note)

	for _, q := range all {
		if q.aside {
			s.aside.questions = append(s.aside.questions, q)
			continue
		}

		answers, err := s.ask(ctx, q.query)
		if err == nil && len(answers) == 1 {
			_, err = q.read(answers[0])
		}

		switch {
		// A missing privilege or view costs one query; any other error is one of the connection.
		case err == nil:
			s.questions = append(s.questions, q)
		case denied(err), missing(err):
			s.skip(q, err)
		default:
			return err
		}
	}

	return nil
}
