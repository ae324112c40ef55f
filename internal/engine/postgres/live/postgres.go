package live

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	location "plimsoll/internal/record/address"
	"plimsoll/internal/record/recognise"
	"plimsoll/internal/record/recording"
	"plimsoll/internal/record/source"
)

const (
	// addressBytesMax bounds an address; one with a dozen hosts and options takes a few hundred
	// bytes.
	addressBytesMax = 4096
	// messageBytesMax bounds a message from the server: a row of statistics takes less than a
	// kilobyte.
	messageBytesMax = 64 << 10
	// connectWithin is how long connecting may take. The server has to fork for it, which may
	// stall.
	connectWithin = 8 * time.Second
	// answerWithin is how long a sample may take, including connecting.
	answerWithin = 10 * time.Second
	// statementTimeout is shorter than answerWithin, so that the server aborts a query before we
	// give up.
	statementTimeout = 8 * time.Second
)

// A target is the server that an address refers to. It holds secrets; name has none.
type target struct {
	config  *pgconn.Config
	name    string // postgres://host:5432/db
	server  string // host:5432, the label
	secrets location.Secrets
	within  time.Duration
	budget  *source.Budget
	bare    *atomic.Bool    // the server requested the password in clear text
	dialer  pgconn.DialFunc // without a budget
}

// live samples a server repeatedly; it implements source.Source.
type live struct {
	*source.Polled
	target *target
}

// Open prepares to sample the server at a postgres:// address, in libpq's syntax. It does not
// connect. With several hosts, it uses the first that answers, or the one that matches
// target_session_attrs. The time for an answer includes connecting. Getenv is for Plimsoll's own variables:
// the driver reads PostgreSQL's (PGPASSWORD, PGSSLMODE, ...) from the environment.
func Open(_ context.Context, address string, opt recognise.LiveOptions) (source.Source, error) {
	t, err := newTarget(address, opt)
	if err != nil {
		return nil, err
	}
	d := recording.Source{Kind: "postgres", Name: t.name, Engine: "postgres"}
	return &live{source.NewPolled(d).AnswerWithin(t.within), t}, nil
}

// Read implements [source.Source].
func (l *live) Read(ctx context.Context, w recording.Writer, opt source.Options) error {
	s := newSampler(l.target, opt.Want, w.Note)
	defer s.close()
	return l.Poll(ctx, w, opt, s)
}

var errAddress = errors.New("invalid postgres:// address (special characters in a password must be percent-encoded); example: postgres://user@host:5432/postgres")

func newTarget(address string, opt recognise.LiveOptions) (*target, error) {
	if len(address) > addressBytesMax {
		return nil, fmt.Errorf("postgres:// address too long: want at most %d bytes", addressBytesMax)
	}

	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}

	parsed, err := location.Parse(address)
	if err != nil {
		return nil, errAddress
	}

	cfg, err := pgconn.ParseConfig(parsed.Canonical())
	if err != nil {
		return nil, misread(err)
	}

	server := &target{config: cfg, secrets: parsed.Secrets, within: cmp.Or(opt.Within, answerWithin),
		budget: newBudget(), dialer: cfg.DialFunc, bare: new(atomic.Bool)}
	if cfg.Password == "" {
		if p := opt.Getenv(source.EnvPassword); p != "" {
			cfg.Password = p
		}
	}

	if u := opt.Getenv(source.EnvUser); u != "" && parsed.User == "" &&
		!strings.Contains("&"+parsed.Query, "&user=") && os.Getenv("PGUSER") == "" {
		cfg.User = u
	}

	// Both spellings of the password may appear in messages.
	server.secrets.Add(cfg.Password)
	if _, escaped, ok := strings.Cut(parsed.Userinfo(), ":"); ok {
		server.secrets.Add(escaped)
	}

	cfg.ConnectTimeout = min(connectWithin, server.within*4/5)
	cfg.DialFunc = dial(cfg.DialFunc, server.budget, server.bare)
	cfg.MaxProtocolMessageBodyLen = messageBytesMax
	cfg.RuntimeParams["application_name"] = "plimsoll"
	cfg.RuntimeParams["default_transaction_read_only"] = "on"
	cfg.RuntimeParams["statement_timeout"] = strconv.FormatInt(statementTimeout.Milliseconds(), 10)

	if opt.Insecure {
		accept := func(c *tls.Config) {
			if c != nil {
				c.InsecureSkipVerify, c.VerifyPeerCertificate = true, nil
			}
		}
		accept(cfg.TLSConfig)
		for _, f := range cfg.Fallbacks {
			accept(f.TLSConfig)
		}
	}

	server.server = net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	if server.socket() {
		server.server = cfg.Host + ":" + strconv.Itoa(int(cfg.Port))
		server.name = fmt.Sprintf("postgres:///%s?host=%s&port=%d", url.PathEscape(cfg.Database), cfg.Host, cfg.Port)
	} else {
		server.name = "postgres://" + server.server + "/" + url.PathEscape(cfg.Database)
	}

	return server, nil
}

// socket reports whether the server is reached through a socket on this machine.
func (t *target) socket() bool { return strings.HasPrefix(t.config.Host, "/") }

// misread explains what is wrong with an address. The driver's own error would repeat the address,
// with its password.
func misread(err error) error {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) {
		return errAddress
	}
	inner := errors.Unwrap(parse)
	var path *os.PathError
	switch {
	case errors.As(inner, &path): // sslrootcert, sslcert, a service file
		return fmt.Errorf("cannot read a file named in the postgres:// address: %w", path)
	case strings.Contains(parse.Error(), "sslmode is invalid"):
		return errors.New("unknown sslmode in the postgres:// address: want disable, allow, prefer, require, verify-ca or verify-full")
	}
	return errAddress
}
