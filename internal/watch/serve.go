package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/exporter-toolkit/web"
)

// Limits on a server's connections. A page takes milliseconds; these allow for slow networks.
const (
	headerWithin   = 5 * time.Second
	requestWithin  = 10 * time.Second
	idleWithin     = 2 * time.Minute
	headerBytesMax = 64 << 10
	// streamsMax bounds the concurrent requests of one HTTP/2 connection.
	streamsMax = 16
	// endWithin is how long a shutdown waits for responses in progress.
	endWithin = 500 * time.Millisecond
	// webConfigBytesMax bounds the size of a web configuration.
	webConfigBytesMax = 1 << 20
)

// answerWithin is how long a client may take to read an answer.
var answerWithin = 30 * time.Second

// A Server listens for requests. Create one with [Listen].
type Server struct {
	listeners []net.Listener
	config    string
	names     []string // host names for which requests are answered
	reachable bool     // from other machines
	exposed   string   // an address reachable from other machines without TLS or password; "" if there is none
	clear     bool     // with a password, but without TLS
	proxied   bool     // a proxy may forward requests from others, because it has additional names
	tls       bool     // connections are encrypted, from the start on
}

// ServerOptions configure a server.
type ServerOptions struct {
	// Addresses are the listening addresses: "127.0.0.1:9814".
	Addresses []string
	// Config is a file in the format of Prometheus exporters (TLS, basic authentication), which is
	// read for each connection; "": none.
	Config string
	// Hosts are names for which requests are answered, in addition to loopback names, IP addresses
	// and those of Addresses, in the form returned by [ParseHost].
	Hosts []string
}

// Listen listens on the addresses and checks the web configuration.
func Listen(ctx context.Context, opt ServerOptions) (*Server, error) {
	s := &Server{config: opt.Config, names: slices.Clone(opt.Hosts)}
	p, err := protectionOf(opt.Config)
	if err != nil {
		return nil, err
	}

	s.tls = p.tls
	s.proxied = len(opt.Hosts) > 0

	for _, address := range opt.Addresses {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			s.Close()
			if op := (*net.OpError)(nil); errors.As(err, &op) {
				err = op.Err // avoids repeating the address
			}
			return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
		}

		s.listeners, s.names = append(s.listeners, l), append(s.names, hostName(address))

		// Includes the unspecified address, which listens on all interfaces.
		if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
			s.reachable = true
			if !p.tls {
				s.exposed, s.clear = l.Addr().String(), p.users
			}
		}
	}

	return s, nil
}

// A protection holds a web configuration's requirements for each request.
type protection struct {
	tls          bool // TLS was configured at startup
	users        bool // a password
	certificates bool // a client certificate
}

// protectionOf reads a web configuration.
func protectionOf(config string) (protection, error) {
	if config == "" {
		return protection{}, nil
	}

	f, err := os.Open(config)
	if err != nil {
		return protection{}, fmt.Errorf("cannot read the web configuration: %w", err)
	}

	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, webConfigBytesMax))
	if err != nil {
		return protection{}, fmt.Errorf("cannot read the web configuration: %w", err)
	}

	// Invalid settings must fail at startup, not with the first connection.
	if err := web.Validate(config); err != nil {
		return protection{}, fmt.Errorf("web configuration %s: %w", config, err)
	}

	var c struct {
		TLS   map[string]any `yaml:"tls_server_config"`
		Users map[string]any `yaml:"basic_auth_users"`
	}

	if err := yaml.Unmarshal(text, &c); err != nil {
		// The error may quote secrets, so it is not passed on.
		return protection{}, fmt.Errorf("web configuration %s: not valid YAML", config)
	}

	return protection{tls: len(c.TLS) > 0, users: len(c.Users) > 0,
		certificates: c.TLS["client_auth_type"] == "RequireAndVerifyClientCert"}, nil
}

// Trusted reports whether everyone who can currently send requests may change something: requests
// can only come from this machine, or a password or certificate is required. It reads the
// configuration each time, so that removing the passwords from it never leaves this open.
func (s *Server) Trusted() bool {
	if !s.reachable && !s.proxied {
		return true
	}
	p, err := protectionOf(s.config)
	// A server started without TLS never asks for certificates.
	return err == nil && (p.users || p.certificates && s.tls)
}

// Check reads the web configuration as the next connection will, and returns its errors.
func (s *Server) Check() error {
	_, err := protectionOf(s.config)
	return err
}

// Addresses returns the listening addresses with their actual ports, which matters for port 0.
func (s *Server) Addresses() (out []string) {
	for _, l := range s.listeners {
		out = append(out, l.Addr().String())
	}
	return out
}

// Close closes the listeners of a server that was not started.
func (s *Server) Close() {
	for _, l := range s.listeners {
		_ = l.Close() // nothing was served
	}
}

// Serve serves h until the context ends, which is not an error. It refuses requests for names other
// than this server's, and bounds the resources that clients can hold.
func (s *Server) Serve(ctx context.Context, h http.Handler, log *slog.Logger) error {
	switch {
	case s.exposed != "" && s.clear:
		log.Warn("passwords are sent in clear text, because others can reach this address and it has no TLS; use --web.config.file with tls_server_config",
			"address", s.exposed)
	case s.exposed != "":
		log.Warn("anyone who can reach this address can read the findings; use --web.config.file with TLS or passwords, or listen on 127.0.0.1",
			"address", s.exposed)
	}

	addresses := s.Addresses()
	flags := &web.FlagConfig{WebListenAddresses: &addresses, WebConfigFile: &s.config}
	var serving sync.WaitGroup
	errs := make([]error, len(s.listeners))
	servers := make([]*http.Server, len(s.listeners))

	// One limit for all addresses, because file descriptors are per process.
	open := newConnections(connectionsMax)

	guarded := newGuard(h, s, log)
	for i, l := range s.listeners {
		servers[i] = &http.Server{
			Handler: guarded, ConnState: open.changed, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streamsMax},
			ReadHeaderTimeout: headerWithin, ReadTimeout: requestWithin, WriteTimeout: answerWithin,
			IdleTimeout: idleWithin, MaxHeaderBytes: headerBytesMax,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		}
		serving.Go(func() {
			if errs[i] = web.Serve(l, servers[i], flags, log); errors.Is(errs[i], http.ErrServerClosed) {
				errs[i] = nil
			}
		})
	}

	// A fresh deadline: the context has already ended.
	stop := context.AfterFunc(ctx, func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
		for _, sv := range servers {
			if sv.Shutdown(end) != nil {
				_ = sv.Close() // requests still in progress are dropped
			}
		}
	})

	defer stop()
	serving.Wait()
	return errors.Join(errs...)
}
