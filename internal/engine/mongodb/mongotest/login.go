package mongotest

import (
	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// A login is the state of a connection's authentication (MongoDB's specification, auth:
// SCRAM-SHA-256).
type login struct {
	open         bool // commands are allowed
	conversation *scram.ServerConversation
}

// before are the commands that need no login.
var before = map[string]bool{"hello": true, "isMaster": true, "ismaster": true, "saslStart": true,
	"saslContinue": true}

const iterations = 4096 // of PBKDF2: the least that clients accept

// authenticate answers login commands, and rejects others before the login. It returns nil for
// commands that others should answer.
func (s *Server) authenticate(name string, c *command, who *login) bson.D {
	switch {
	case who.open, before[name] && name != "saslStart" && name != "saslContinue":
		return nil
	case name == "saslStart":
		return s.begin(c.Raw, who)
	case name == "saslContinue":
		return s.step(c.Raw, who)
	}
	return refused(13, "Command %s requires authentication", name)
}

func (s *Server) begin(c bson.Raw, who *login) bson.D {
	if m, _ := c.Lookup("mechanism").StringValueOK(); m != "SCRAM-SHA-256" {
		return refused(334, "Mechanism %s is not enabled", m)
	}

	client, err := scram.SHA256.NewClient(s.User, s.Password, "")
	if err != nil {
		return refused(18, "Authentication failed.")
	}

	kept, err := client.GetStoredCredentialsWithError(scram.KeyFactors{Salt: "salt of the tests",
		Iters: iterations})
	if err != nil {
		return refused(18, "Authentication failed.")
	}

	server, err := scram.SHA256.NewServer(func(user string) (scram.StoredCredentials, error) {
		if user != s.User {
			return scram.StoredCredentials{}, errShort
		}
		return kept, nil
	})
	if err != nil {
		return refused(18, "Authentication failed.")
	}

	who.conversation = server.NewConversation()
	return s.step(c, who)
}

// step processes one message of the conversation.
func (s *Server) step(c bson.Raw, who *login) bson.D {
	_, payload, ok := c.Lookup("payload").BinaryOK()
	if !ok || who.conversation == nil {
		return refused(18, "Authentication failed.")
	}

	answer := ""
	if !who.conversation.Done() { // otherwise the client only confirms the end
		var err error
		if answer, err = who.conversation.Step(string(payload)); err != nil {
			return refused(18, "Authentication failed.")
		}
	}

	who.open = who.conversation.Valid()
	return fine(bson.E{Key: "conversationId", Value: int32(1)},
		bson.E{Key: "done", Value: who.conversation.Done()},
		bson.E{Key: "payload", Value: bson.Binary{Data: []byte(answer)}})
}

// offer adds the login mechanisms to the answer to hello, and the first step of the login if the
// client already included it.
func (s *Server) offer(d bson.D, c *command, who *login) bson.D {
	if s.User == "" {
		return d
	}
	if _, err := c.LookupErr("saslSupportedMechs"); err == nil {
		d = append(d, bson.E{Key: "saslSupportedMechs", Value: bson.A{"SCRAM-SHA-256"}})
	}
	if first, ok := c.Lookup("speculativeAuthenticate").DocumentOK(); ok {
		if answer := s.begin(first, who); get(answer, "ok") == 1.0 {
			d = append(d, bson.E{Key: "speculativeAuthenticate", Value: answer})
		}
	}
	return d
}
