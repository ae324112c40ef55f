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

// answerWithin is how long a mongod may take to answer one command.
const answerWithin = 10 * time.Second

// Procedure describes how a mongod's journal is moved.
func Procedure() rollout.Procedure {
	return rollout.Procedure{
		Log: "journal", Into: "journal",
		IsLog:   func(name string) bool { return strings.HasPrefix(name, "WiredTigerLog.") },
		Answers: answers, Ready: ready, Healthy: healthy,
	}
}

// A hello is the answer to the command hello.
type hello struct {
	SetName   string `bson:"setName"`
	Primary   bool   `bson:"isWritablePrimary"`
	Secondary bool   `bson:"secondary"`
}

func answers(ctx context.Context, m *rollout.Member) error {
	_, err := query(ctx, m, nil)
	return err
}

// healthy checks that mongod serves in its role: as a primary, a secondary or standalone.
func healthy(ctx context.Context, m *rollout.Member) error {
	if m.Address == "" {
		return nil // without an address, running is all that is known
	}
	h, err := query(ctx, m, nil)
	if err == nil && !h.Primary && !h.Secondary {
		err = errors.New("the mongod is neither primary nor secondary: it is starting, recovering or syncing")
	}
	return err
}

// ready fails if the replica set would lose its majority without this mongod because of other
// unhealthy members.
func ready(ctx context.Context, m *rollout.Member) error {
	if m.Address == "" {
		return nil
	}

	_, err := query(ctx, m, func(ctx context.Context, c *mongo.Client) error {
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
			return fmt.Errorf("cannot run replSetGetStatus (the role clusterMonitor grants it): %w", err)
		}

		healthy := 0
		var unhealthy []string
		for _, o := range status.Members {
			switch {
			case o.Self:
			case o.State == "PRIMARY" || o.State == "SECONDARY" || o.State == "ARBITER":
				healthy++
			default:
				unhealthy = append(unhealthy, o.Name+" is "+o.State)
			}
		}

		// If the set is too small for a majority without this member, no unhealthy member is the cause.
		if healthy < len(status.Members)/2+1 && len(unhealthy) > 0 {
			return fmt.Errorf("the replica set has %d members, and without this one only %d are healthy: %s",
				len(status.Members), healthy, strings.Join(unhealthy, ", "))
		}

		return nil
	})

	return err
}

// query connects to this mongod alone, runs hello, and then calls more, if that is not nil.
func query(ctx context.Context, m *rollout.Member,
	more func(context.Context, *mongo.Client) error) (h hello, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c, err := mongo.Connect(options.Client().ApplyURI(m.Address).SetAppName("plimsoll").
		SetDirect(true).SetServerSelectionTimeout(answerWithin / 2))
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, c.Disconnect(context.WithoutCancel(ctx))) }()
	if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&h); err != nil || more == nil {
		return h, err
	}
	return h, more(ctx, c)
}
