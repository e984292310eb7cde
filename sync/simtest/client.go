package simtest

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// secretMark in a text makes the simulated guard find a secret.
const secretMark = "hush"

// client is one machine: its durable parts outlive a crash, its core does not.
type client struct {
	name string

	// Durable.
	tree   map[api.Key]string
	memory api.Memory
	saved  map[api.Key][]string

	// Lost in a crash.
	core   *teamsync.Core
	effect teamsync.Effect
	answer teamsync.Event // ready to be delivered
}

func (c *client) start(seed uint64) {
	memory := c.memory
	memory.Bases = maps.Clone(c.memory.Bases)
	c.core = teamsync.NewCore(memory, teamsync.Timing{}, rand.New(rand.NewPCG(seed, 2)))
	c.effect, c.answer = nil, nil
}

func (c *client) save(key api.Key, content string) string {
	if !slices.Contains(c.saved[key], content) {
		c.saved[key] = append(c.saved[key], content)
	}
	return api.SumString(key.String() + "\x00" + content).Hex()[:8]
}

func (c *client) scan() teamsync.Event {
	var snapshot api.Snapshot
	for _, key := range slices.SortedFunc(maps.Keys(c.tree), api.Key.Compare) {
		content := c.tree[key]
		snapshot.Files = append(snapshot.Files, api.Local{Key: key, Sum: api.SumString(content), Bytes: len(content)})
	}
	return teamsync.Scanned{Snapshot: snapshot}
}

func (c *client) inspect(f teamsync.Inspect) teamsync.Event {
	var answer teamsync.Inspected
	for _, key := range f.Keys {
		content, ok := c.tree[key]
		file := teamsync.Inspection{Key: key, Loaded: api.Loaded{Content: content, Sum: api.SumString(content)}}
		if !ok {
			file.Err = fs.ErrNotExist
		} else if strings.Contains(content, secretMark) {
			file.Findings = []api.Finding{{Key: key.String(), Line: 1, Rule: "simulated"}}
		}
		answer.Files = append(answer.Files, file)
	}
	return answer
}

// install is the referee of the tree: it exchanges, and saves what nobody knew.
func (c *client) install(f teamsync.Install) (teamsync.Event, error) {
	answer := teamsync.Installed{Saved: map[api.Key]string{}}
	for _, text := range f.Copies {
		answer.Saved[text.Key] = c.save(text.Key, text.Content)
	}
	for _, p := range f.Placements {
		if api.SumString(p.Content) != p.Sum {
			return nil, fmt.Errorf("client %s: placement of %q does not match its checksum", c.name, p.Key)
		}
		if strings.Contains(p.Content, secretMark) {
			return nil, fmt.Errorf("client %s: a secret was placed at %q", c.name, p.Key)
		}
		mine, here := c.tree[p.Key]
		placed := api.Placed{}
		switch {
		case here && p.Expect.IsZero():
			placed.Err = api.ErrUnsettled
		default:
			if here && !slices.Contains(p.Known, api.SumString(mine)) {
				placed.Saved = c.save(p.Key, mine)
			}
			c.tree[p.Key] = p.Content
		}
		answer.Placed = append(answer.Placed, placed)
	}
	for _, r := range f.Retirements {
		mine, here := c.tree[r.Key]
		var err error
		switch {
		case !here:
		case !slices.Contains(r.Known, api.SumString(mine)):
			err = api.ErrUnsettled
		default:
			c.save(r.Key, mine)
			delete(c.tree, r.Key)
		}
		answer.Retired = append(answer.Retired, err)
	}
	return answer, nil
}

func (c *client) commit(record api.Record) {
	bases := maps.Clone(c.memory.Bases)
	if bases == nil {
		bases = map[api.Key]api.Base{}
	}
	for key, base := range record.Bases {
		if base.Sum.IsZero() && base.Tomb == 0 && base.Bad.IsZero() && len(base.Ring) == 0 {
			delete(bases, key)
			continue
		}
		bases[key] = base
	}
	c.memory.Bases = bases
	if record.View != nil {
		c.memory.Epoch, c.memory.Version = record.View.Epoch, record.View.Version
	}
}

// step feeds an event and keeps the effect that it led to.
func (c *client) step(now time.Time, event teamsync.Event) {
	if effect := c.core.Step(now, event); effect != nil {
		c.effect = effect
	}
}
