package advise

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"plimsoll/internal/advise/rollout"
)

// answerWithin is how long a mongod may take to answer one question.
const answerWithin = 10 * time.Second

// Procedure is how a mongod's journal moves.
func Procedure() rollout.Procedure {
	return rollout.Procedure{
		Log: "journal", Into: "journal",
		IsLog:   func(name string) bool { return strings.HasPrefix(name, "WiredTigerLog.") },
		Answers: answers, Ready: ready, Healthy: healthy,
	}
}

// A hello is what a mongod says of itself.
type hello struct {
	SetName   string `bson:"setName"`
	Primary   bool   `bson:"isWritablePrimary"`
	Secondary bool   `bson:"secondary"`
}

func answers(ctx context.Context, m *rollout.Member) error {
	_, err := ask(ctx, m, func(context.Context, *mongo.Client) error { return nil })
	return err
}

// healthy asks whether the mongod serves as what it is: a primary, a secondary, or alone.
func healthy(ctx context.Context, m *rollout.Member) error {
	if m.Address == "" {
		return nil // that it runs is known
	}
	h, err := ask(ctx, m, func(context.Context, *mongo.Client) error { return nil })
	if err == nil && !h.Primary && !h.Secondary {
		err = errors.New("the mongod is neither primary nor secondary: it starts, recovers or syncs")
	}
	return err
}

// ready fails if the replica set has no majority without this mongod, where it could have one.
func ready(ctx context.Context, m *rollout.Member) error {
	if m.Address == "" {
		return nil
	}

	_, err := ask(ctx, m, func(ctx context.Context, c *mongo.Client) error {
		var status struct {
			Members []struct {
				Name  string `bson:"name"`
				Self  bool   `bson:"self"`
				State string `bson:"stateStr"`
			} `bson:"members"`
		}

		err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "replSetGetStatus", Value: 1}}).Decode(&status)
		const noReplication = 76
		var refused mongo.CommandError
		if errors.As(err, &refused) && refused.HasErrorCode(noReplication) {
			return nil
		}

		if err != nil {
			return fmt.Errorf("replSetGetStatus (the role clusterMonitor allows it): %w", err)
		}

		well := 0
		var ill []string
		for _, o := range status.Members {
			switch {
			case o.Self:
			case o.State == "PRIMARY" || o.State == "SECONDARY" || o.State == "ARBITER":
				well++
			default:
				ill = append(ill, o.Name+" is "+o.State)
			}
		}

		if well < len(status.Members)/2+1 && len(ill) > 0 {
			return fmt.Errorf("the replica set has %d members and only %d are well without this one: %s",
				len(status.Members), well, strings.Join(ill, ", "))
		}

		return nil
	})

	return err
}

// ask connects to this mongod alone, asks what it is, and then more.
func ask(ctx context.Context, m *rollout.Member,
	more func(context.Context, *mongo.Client) error) (h hello, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c,
		err := mongo.Connect(options.Client().ApplyURI(m.Address).SetAppName("plimsoll").SetDirect(
		true).SetServerSelectionTimeout(answerWithin / 2))
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, c.Disconnect(context.WithoutCancel(ctx))) }()
	if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&h); err != nil {
		return h, err
	}
	return h, more(ctx, c)
}
