package simtest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// This test is inside the package: it breaks worlds by hand, to see that each
// promise can fail.

// peace returns a world in which two people wrote, and all is settled.
func peace(t *testing.T) *World {
	t.Helper()
	w, err := New(History{Seed: 7, Clients: 2, Keys: 3, Ops: []Op{
		{Kind: SaveAtomic, Client: 0, Key: 0, Arg: 60, Seed: 1},
		{Kind: SaveAtomic, Client: 1, Key: 1, Arg: 61, Seed: 2},
		{Kind: Wait, Arg: 999, Seed: 3},
		{Kind: SaveAtomic, Client: 0, Key: 1, Arg: 62, Seed: 4},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatalf("a world at peace: %v", err)
	}
	return w
}

func outgoing(key api.Key, content, expect string) api.Outgoing {
	return api.Outgoing{Key: key, Content: content, Sum: api.SumString(content), Expect: expect}
}

func batchOf(entries ...api.Outgoing) api.Batch { return api.Batch{Entries: entries} }

// file returns what a client has at a key.
func (w *World) file(client, key int) *inode {
	return w.machines[client].disk.shown[team][w.keys[key].String()]
}

func TestEachPromiseCanFail(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", api.MaxBatchBytes/2)
	tests := []struct {
		name  string
		check func(*World) error
		spoil func(*World)
	}{
		{
			"1: acknowledged", promiseAcknowledged,
			func(w *World) { delete(w.server.history, w.keys[0]) },
		},
		{
			"1: overwritten", func(w *World) error {
				return promiseNothingOverwritten(w.server, []api.Outgoing{outgoing(w.keys[0], "new\n", w.file(0, 0).text.sum.String())})
			},
			func(w *World) { w.server.put(w.keys[0], textOf("a teammate's\n")) },
		},
		{
			"2: nothing lost", promiseNothingLost,
			func(w *World) { w.owed = append(w.owed, debt{0, w.keys[0], textOf("gone\n")}) },
		},
		{
			"3: converged", func(w *World) error { return promiseConverged(w.machines[0]) },
			func(w *World) { w.file(0, 0).text = textOf("other\n") },
		},
		{
			"4: sent", func(w *World) error {
				return promiseNoSecretSent(batchOf(outgoing(w.keys[0], w.file(0, 0).text.s, "")))
			},
			func(w *World) { w.file(0, 0).text.s += secretMark },
		},
		{
			"4: told", func(w *World) error {
				return promiseNoSecretTold(teamsync.Report{Held: []teamsync.Held{{Detail: w.file(0, 0).text.s}}})
			},
			func(w *World) { w.file(0, 0).text.s += secretMark },
		},
		{
			"5: a stray", func(w *World) error { return promiseNoStrays(w.machines[0]) },
			func(w *World) { w.machines[0].disk.relink(link{team, "notes/k0.conflict.md", newFile()}) },
		},
		{
			"5: left behind", func(w *World) error { return promiseNoStrays(w.machines[0]) },
			func(w *World) { w.machines[0].disk.relink(link{staging, "x-1", newFile()}) },
		},
		{
			"6: the key set", func(w *World) error { return promiseKeySetGrows(w.server) },
			func(w *World) { delete(w.server.live, w.keys[0]) },
		},
		{
			"7: a batch", func(w *World) error {
				return promiseBatchBounded(batchOf(outgoing(w.keys[0], large, ""), outgoing(w.keys[1], w.file(0, 0).text.s, "")))
			},
			func(w *World) { w.file(0, 0).text.s = large },
		},
		{
			"8: quiet", func(w *World) error {
				before := w.machines[0].quiet()
				before.puts = 1
				return promiseQuiet(w.machines[0], before)
			},
			func(w *World) { w.machines[0].puts++ },
		},
		{
			"10: steady", func(w *World) error { return promiseSteady(w.machines[0], time.Duration(w.texts)*time.Second) },
			func(w *World) { w.texts = 12 },
		},
		{
			"11: a file", func(w *World) error { return promiseWholeFiles(w.machines[0]) },
			func(w *World) { w.file(0, 0).text = textOf(w.file(0, 0).text.s[:4]) },
		},
		{
			"11: the server", promiseWholeOnServer,
			func(w *World) { w.server.live[w.keys[0]] = textOf("hal") },
		},
		{
			"12: in sync", func(w *World) error { return promiseInSyncIsTrue(w.machines[0], w.machines[0].core.Report()) },
			func(w *World) { w.file(0, 0).text = textOf("unseen\n") },
		},
		{
			"12: status", func(w *World) error { return promiseStatusIsTrue(w.machines[0], w.machines[0].core.Report()) },
			func(w *World) {
				w.file(0, 0).text = textOf("unseen\n")
				w.machines[0].edits++
			},
		},
		{
			"scan first", func(w *World) error { return promiseScanFirst(&referee{scanned: w.server.version > 0}) },
			func(w *World) { w.server.version = 0 },
		},
		{
			"stopped by a closed door", func(w *World) error { return promiseStopped(&w.machines[0].referee, teamsync.Send{}) },
			func(w *World) { w.machines[0].referee.shut = true },
		},
		{
			"stopped by an older server", func(w *World) error { return promiseStopped(&w.machines[0].referee, teamsync.Send{}) },
			func(w *World) { w.machines[0].referee.back = true },
		},
		{
			"a closed door is no empty room", func(w *World) error {
				return promiseDoorClosed(&w.machines[0].referee, teamsync.Report{Word: teamsync.InSync})
			},
			func(w *World) { w.machines[0].referee.shut = true },
		},
		{
			"tries again", func(w *World) error {
				return promiseTriesAgain(w.machines[0], teamsync.Report{Err: errDead, NextRetry: w.machines[0].core.Wake()})
			},
			func(w *World) { w.now = w.now.Add(-24 * time.Hour) },
		},
		{
			"tombstones", func(w *World) error {
				return promiseTombsRespected(&w.machines[0].referee, batchOf(outgoing(w.keys[0], "again\n", "")))
			},
			func(w *World) { w.machines[0].referee.tombs = map[api.Key]uint64{w.keys[0]: 3} },
		},
		{
			"retired on purpose", func(w *World) error { return promiseRetiredOnPurpose(&w.machines[0].referee, w.keys[0]) },
			nil,
		},
		{
			"empty waits", func(w *World) error {
				return promiseEmptyWaits(w.machines[0], batchOf(outgoing(w.keys[0], "", "sha256:1")))
			},
			nil,
		},
		{
			"a placement's checksum", func(w *World) error {
				return promisePlacement(w.machines[0], api.Placement{Key: w.keys[0], Content: w.file(0, 0).text.s, Sum: w.file(0, 0).text.sum})
			},
			func(w *World) { w.file(0, 0).text.s += "more" },
		},
		{
			"a rewrite", func(w *World) error {
				f := w.file(0, 0)
				return promiseNoRewrite(f, &move{Placement: api.Placement{Key: w.keys[0], Sum: api.SumString("new\n")}, here: f, gen: f.gen})
			},
			func(w *World) { w.file(0, 0).text = textOf("new\n") },
		},
		{
			"a base after the fact", func(w *World) error {
				record := api.Record{Bases: map[api.Key]api.Base{w.keys[0]: {Sum: w.file(0, 0).text.sum}}}
				w.file(0, 0).text = w.server.live[w.keys[0]]
				return promiseBaseAfterFact(w.machines[0], record)
			},
			func(w *World) { w.file(0, 0).text = textOf("not there yet\n") },
		},
		{
			"a durable state", func(w *World) error { return promiseDurableState(w.machines[0].state) },
			func(w *World) { delete(w.machines[0].state.memory.Bases, w.keys[0]) },
		},
		{
			"durable copies", func(w *World) error { return promiseDurableCopies(w.machines[0].state) },
			func(w *World) { w.machines[0].state.acknowledged++ },
		},
		{
			"a confirmation", func(w *World) error {
				return promiseConfirmedClean(w.machines[0], api.Position{Epoch: w.server.epoch, Version: w.server.version})
			},
			func(w *World) { w.server.ledger[w.machines[0].state.memory.Bases[w.keys[0]].Sum] = true },
		},
		{
			"one daemon", func(w *World) error { return promiseOneDaemon(w.machines[0]) },
			nil,
		},
	}
	for _, tt := range tests {
		w := peace(t)
		if tt.spoil != nil {
			if err := tt.check(w); err != nil {
				t.Errorf("%s: broken in a world at peace: %v", tt.name, err)
			}
			tt.spoil(w)
		}
		switch err := tt.check(w); {
		case tt.name == "one daemon":
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			w.machines[0].stop()
			if !errors.Is(w.machines[1].lock(), api.ErrAlreadyRunning) || w.machines[0].lock() != nil {
				t.Errorf("%s: the lock does not follow the process", tt.name)
			}
		case err == nil:
			t.Errorf("%s: not noticed", tt.name)
		}
	}
}
