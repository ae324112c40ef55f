// Package postgrestest starts a real PostgreSQL for tests: created in a folder, listening on a
// socket there and on a local port, and removed at the end.
//
// Some behaviour of a live source can only be tested against a real server: how it refuses, the
// names of its columns, what happens to a connection when it restarts. Such tests skip if
// [ErrMissing] reports that PostgreSQL is not installed.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plimsoll/internal/lab/process"
)

// ErrMissing reports that no server can be started here, and why.
var ErrMissing = errors.New("no PostgreSQL can be started here")

// Password is the password of the superuser postgres.
const Password = "the-superusers-s3cret"

// patience is how long a server may take to start or to stop.
const patience = time.Minute

// A Server is a running PostgreSQL server.
type Server struct {
	Dir  string // the folder it was started in, with the socket
	Port int
	// Args are more arguments of the server, from its next start on.
	Args []string
	bin  string
	user *process.User
	proc *process.Process
}

// Options configure a server.
type Options struct {
	// Conf are lines of postgresql.conf.
	Conf string
	// HBA are lines of pg_hba.conf that go before the default ones, which trust every user on the socket and
	// require a password on the port.
	HBA string
	// Files are written to its data directory, by name.
	Files map[string][]byte
}

// Start starts a server in a folder. Other users must be able to enter the folder's parents.
func Start(dir string, opt Options) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}

	user, err := process.Unprivileged("postgres", "nobody")
	if err != nil {
		return nil, fmt.Errorf("%w: PostgreSQL refuses to be root: %w", ErrMissing, err)
	}

	s := &Server{Dir: dir, bin: bin, user: user}
	if err := errors.Join(user.Own(dir), user.Admit(dir)); err != nil {
		return nil, err
	}

	if s.Port, err = freePort(); err != nil {
		return nil, err
	}

	if err := s.make(opt); err != nil {
		return nil, err
	}

	return s, s.Start()
}

// Available returns the reason why no server can be started here; nil if one can.
func Available() error {
	if _, err := programs(); err != nil {
		return err
	}
	if _, err := process.Unprivileged("postgres", "nobody"); err != nil {
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return nil
}

// envPrograms is the environment variable for the folder with the programs of a version other than the
// installed one.
const envPrograms = "PLIMSOLL_POSTGRES"

// programs returns the folder with initdb and postgres.
func programs() (string, error) {
	if dir := os.Getenv(envPrograms); dir != "" {
		return filepath.Abs(dir)
	}

	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(dirs) == 0 {
		return "", fmt.Errorf("%w: apt-get install postgresql", ErrMissing)
	}
	return slices.MaxFunc(dirs, func(a, b string) int { return major(a) - major(b) }), nil
}

func major(dir string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // 0 is the oldest of all
	return n
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
	return port, l.Close()
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

func (s *Server) make(opt Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	word := filepath.Join(s.Dir, "password")

	if err := os.WriteFile(word, []byte(Password), 0o644); err != nil {
		return err
	}

	p, err := process.Start(process.Options{Path: filepath.Join(s.bin, "initdb"), User: s.user, Args: []string{
		"--pgdata=" + s.data(), "--username=postgres", "--pwfile=" +
			word, "--auth-local=trust", "--auth-host=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--no-instructions", "--no-sync"}})
	if err != nil {
		return err
	}

	if err := p.Finish(ctx); err != nil {
		return err
	}

	conf := fmt.Sprintf("listen_addresses = '127.0.0.1'\nport = %d\nunix_socket_directories = '%s'\n%s\n",
		s.Port, s.Dir, opt.Conf)
	if err := s.add("postgresql.conf", conf); err != nil {
		return err
	}

	hba, err := os.ReadFile(filepath.Join(s.data(), "pg_hba.conf"))
	if err != nil {
		return err
	}

	// The first matching line of pg_hba.conf decides, so the test's lines come first.
	if err := s.write("pg_hba.conf", append([]byte(opt.HBA+"\n"), hba...)); err != nil {
		return err
	}

	for name, content := range opt.Files {
		if err := s.write(name, content); err != nil {
			return err
		}
	}

	return nil
}

func (s *Server) add(name, text string) error {
	path := filepath.Join(s.data(), name)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return s.write(name, append(old, text...))
}

func (s *Server) write(name string, content []byte) error {
	path := filepath.Join(s.data(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return err
	}
	if s.user == nil {
		return nil
	}
	return os.Chown(path, int(s.user.UID), int(s.user.GID))
}

// Standby starts a physical standby of the server in a folder, which replicates over its socket. more are
// further lines of its configuration.
func (s *Server) Standby(dir, more string) (*Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b := &Server{Dir: dir, bin: s.bin, user: s.user}
	if err := errors.Join(os.MkdirAll(dir, 0o755), s.user.Own(dir), s.user.Admit(dir)); err != nil {
		return nil, err
	}

	var err error
	if b.Port, err = freePort(); err != nil {
		return nil, err
	}

	from := fmt.Sprintf("host=%s port=%d user=postgres application_name=standby", s.Dir, s.Port)
	p, err := process.Start(process.Options{Path: s.Program("pg_basebackup"), User: s.user, Args: []string{
		"--pgdata=" + b.data(), "--dbname=" + from, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"}})
	if err != nil {
		return nil, err
	}

	if err := p.Finish(ctx); err != nil {
		return nil, err
	}

	// The backup has the primary's configuration: the last line with a setting counts.
	conf := fmt.Sprintf("\nport = %d\nunix_socket_directories = '%s'\n%s\n", b.Port, b.Dir, more)
	if err := b.add("postgresql.conf", conf); err != nil {
		return nil, err
	}

	return b, b.Start()
}

// Program returns the path of one of PostgreSQL's programs, of the server's version.
func (s *Server) Program(name string) string { return filepath.Join(s.bin, name) }

// Start starts the server again after [Server.Stop] and waits until it accepts connections.
func (s *Server) Start() error {
	p, err := process.Start(process.Options{
		Path: filepath.Join(s.bin, "postgres"), Args: append([]string{"-D", s.data()}, s.Args...), User: s.user,
		DeathSignal: syscall.SIGQUIT, // the postmaster ends its children with it
	})
	if err != nil {
		return err
	}

	s.proc = p
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = p.Await(ctx, 20*time.Millisecond, "it does not accept connections", func(context.Context) error {
		_, err := s.Exec("SELECT 1")
		return err
	})
	if err != nil {
		return errors.Join(err, s.Stop())
	}
	return nil
}

// Stop stops the server immediately, without a checkpoint. It can be started again.
func (s *Server) Stop() error {
	if s.proc == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := s.proc
	s.proc = nil
	return p.Stop(ctx, syscall.SIGINT)
}

// Socket returns the address of the server's socket for a user and a database; it needs no
// password.
func (s *Server) Socket(user, database string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=%d", user, database, s.Dir, s.Port)
}

// Address returns the server's address with its port. credentials are user or user:password.
func (s *Server) Address(credentials, database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s", credentials, s.Port, database)
}

// Exec executes statements as the superuser and returns the first column of the last result.
func (s *Server) Exec(sql string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := pgconn.Connect(ctx, s.Socket("postgres", "postgres"))
	if err != nil {
		return nil, err
	}

	defer func() { _ = c.Close(ctx) }()
	answers, err := c.Exec(ctx, strings.TrimSpace(sql)).ReadAll()
	if err != nil || len(answers) == 0 {
		return nil, err
	}

	var out []string
	for _, r := range answers[len(answers)-1].Rows {
		out = append(out, string(r[0]))
	}

	return out, nil
}
