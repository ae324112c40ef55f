package mongotest

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// firstBatch is how many documents a find returns in its first batch, as in mongod.
const firstBatch = 101

// Count returns the number of documents in a collection: "database.collection".
func (s *Server) Count(space string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.data[space])
}

// Document returns a document of a collection, or nil.
func (s *Server) Document(space string, id int64) bson.D {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data[space][id]
}

// Spaces returns the existing collections.
func (s *Server) Spaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for k := range s.data {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (s *Server) list(name, db string, c *command) bson.D {
	if name == "listCollections" {
		return fine(bson.E{Key: "cursor",
			Value: bson.D{{Key: "firstBatch", Value: bson.A{}}, {Key: "id", Value: int64(0)},
				{Key: "ns", Value: db + ".$cmd.listCollections"}}})
	}

	wanted, _ := c.Lookup("filter", "name").StringValueOK()
	out := bson.A{}

	seen := map[string]bool{}
	for space := range s.data {
		if d, _, _ := strings.Cut(space, "."); !seen[d] && (wanted == "" || wanted == d) {
			seen[d] = true
			out = append(out, bson.D{{Key: "name", Value: d}})
		}
	}

	return fine(bson.E{Key: "databases", Value: out})
}

func (s *Server) of(space string) map[int64]bson.D {
	if s.data[space] == nil {
		s.data[space] = map[int64]bson.D{}
	}
	return s.data[space]
}

func (s *Server) insert(space string, c *command) bson.D {
	all, n, failed := s.of(space), int32(0), bson.A{}
	for i, raw := range c.list("documents") {
		var d bson.D
		id, ok := raw.Lookup("_id").Int64OK()
		if err := bson.Unmarshal(raw, &d); err != nil || !ok {
			return refused(2, "cannot store document %d", i)
		}

		if _, there := all[id]; there {
			failed = append(failed, bson.D{{Key: "index", Value: int32(i)}, {Key: "code", Value: int32(11000)},
				{Key: "errmsg", Value: fmt.Sprintf("E11000 duplicate key error collection: %s", space)}})
			continue
		}

		all[id] = d
		n++
	}

	if len(failed) > 0 {
		return fine(bson.E{Key: "n", Value: n}, bson.E{Key: "writeErrors", Value: failed})
	}

	return fine(bson.E{Key: "n", Value: n})
}

func (s *Server) update(space string, c *command) bson.D {
	all, modified := s.of(space), int32(0)
	for i, u := range c.list("updates") {
		id, ok := u.Lookup("q", "_id").Int64OK()
		if !ok {
			return refused(2, "update %d: only by _id", i)
		}

		doc, there := all[id]
		if upsert, _ := u.Lookup("upsert").BooleanOK(); !there && !upsert {
			continue
		} else if !there {
			doc = bson.D{{Key: "_id", Value: id}}
		}

		changes, _ := u.Lookup("u").DocumentOK()
		operators, err := changes.Elements()
		if err != nil {
			return refused(2, "update %d: %v", i, err)
		}

		for _, o := range operators {
			var fields bson.D
			if err := o.Value().Unmarshal(&fields); err != nil {
				return refused(2, "update %d: %v", i, err)
			}

			for _, f := range fields {
				switch o.Key() {
				case "$set":
					doc = set(doc, f.Key, f.Value)
				case "$push":
					array, _ := get(doc, f.Key).(bson.A)
					doc = set(doc, f.Key, append(slices.Clone(array), f.Value))
				default:
					return refused(9, "Unknown modifier: %s", o.Key())
				}
			}
		}

		all[id] = doc
		modified++
	}

	return fine(bson.E{Key: "n", Value: modified}, bson.E{Key: "nModified", Value: modified})
}

func get(d bson.D, key string) any {
	for _, e := range d {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// set returns a copy of a document with a field changed.
func set(d bson.D, key string, value any) bson.D {
	out := slices.Clone(d)
	for i := range out {
		if out[i].Key == key {
			out[i].Value = value
			return out
		}
	}
	return append(out, bson.E{Key: key, Value: value})
}

func (s *Server) find(space string, c *command) bson.D {
	all := s.data[space]
	found := []bson.D{}
	if id, ok := c.Lookup("filter", "_id").Int64OK(); ok {
		if d, there := all[id]; there {
			found = append(found, d)
		}
	} else if least, ok := c.Lookup("filter", "_id", "$gte").Int64OK(); ok {
		var ids []int64
		for id := range all {
			if id >= least {
				ids = append(ids, id)
			}
		}

		slices.Sort(ids)
		if limit := c.Lookup("limit").AsInt64(); limit > 0 && int(limit) < len(ids) {
			ids = ids[:limit]
		}

		for _, id := range ids {
			found = append(found, all[id])
		}
	} else {
		return refused(2, "unknown filter")
	}

	id := int64(0)
	if len(found) > firstBatch {
		s.next++
		id = s.next
		s.cursors[id], found = found[firstBatch:], found[:firstBatch]
	}

	return fine(bson.E{Key: "cursor",
		Value: bson.D{{Key: "firstBatch", Value: found}, {Key: "id", Value: id}, {Key: "ns", Value: space}}})
}
