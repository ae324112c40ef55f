package main

import (
	"net"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/internal/engine/mongodb/mongotest"
)

// mongodbServer serves a real mongod's recorded answers as if they were current, and puts its
// address into a variable: mongodb-server VARIABLE CAPTURE [USER PASSWORD [REFUSED...]].
func mongodbServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) == 3 {
		ts.Fatalf("usage: mongodb-server VARIABLE CAPTURE [USER PASSWORD [REFUSED...]]")
	}

	replay, err := mongotest.Load(ts.MkAbs(args[1]), 120)
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	begin := time.Now()
	clock := func() time.Time { return replay.Times[0].Add(time.Since(begin)) }
	s := &mongotest.Server{Version: "8.0.0", Reply: replay.Answer(clock), Clock: clock, Refuse: map[string]bool{}}

	if len(args) > 2 {
		s.User, s.Password = args[2], args[3]
		for _, command := range args[4:] {
			s.Refuse[command] = true
		}
	}

	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	ts.Defer(func() { l.Close(); <-done })
	ts.Setenv(args[0], l.Addr().String())
}
