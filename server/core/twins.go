package core

import (
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// newcomers indexes the keys that a change adds, by their folded form. One pass
// over the head then finds every clash: the cost is a few look-ups per live key,
// and nothing at all for a change that adds no key.
type newcomers struct {
	byFold    map[string][]string // folded key -> the keys themselves
	ancestors map[string][]string // folded folder -> the new keys inside it
}

// keyConflicts adds a finding for every new key that a case-insensitive file
// system could not tell from another, or that is a file where another needs a
// folder, or a folder where another is a file. Keys that were live before are
// never blamed.
func keyConflicts(head *store.Head, v verdict, refused *refusal) {
	fresh := newcomers{byFold: map[string][]string{}, ancestors: map[string][]string{}}
	for _, put := range v.puts {
		if _, live := head.Item(put.Key); !live {
			fresh.add(put.Key)
		}
	}
	if len(fresh.byFold) == 0 {
		return
	}
	blamed := map[string]bool{}
	blame := func(keys []string, reason, other string) {
		for _, key := range keys {
			if key != other && !blamed[key] {
				blamed[key] = true
				refused.addReason(api.ErrKeyConflict, key, reason)
			}
		}
	}
	retired := make(map[api.Key]bool, len(v.retire))
	for _, key := range v.retire {
		retired[key] = true
	}
	var folded []byte
	for i := range head.Items {
		if key := head.Items[i].Key; len(retired) == 0 || !retired[key] {
			folded = appendFold(folded[:0], key)
			fresh.meet(folded, key.String(), blame)
		}
	}
	for folded, keys := range fresh.byFold {
		for _, key := range keys {
			fresh.meetEachOther(folded, key, keys, blame)
		}
	}
}

func (n *newcomers) add(key api.Key) {
	folded := string(appendFold(nil, key))
	n.byFold[folded] = append(n.byFold[folded], key.String())
	for i := range len(folded) {
		if folded[i] == '/' {
			n.ancestors[folded[:i]] = append(n.ancestors[folded[:i]], key.String())
		}
	}
}

const (
	reasonTwin   = "the key differs from another only in case or form"
	reasonFolder = "the key is a file where another key needs a folder"
	reasonFile   = "the key needs a folder where another key is a file"
)

// meet compares one live key with all new ones.
func (n *newcomers) meet(folded []byte, key string, blame func(keys []string, reason, other string)) {
	if twins, ok := n.byFold[string(folded)]; ok {
		blame(twins, reasonTwin, key)
	}
	if inside, ok := n.ancestors[string(folded)]; ok {
		blame(inside, reasonFile, key)
	}
	for i, c := range folded {
		if c != '/' {
			continue
		}
		if files, ok := n.byFold[string(folded[:i])]; ok {
			blame(files, reasonFolder, key)
		}
	}
}

// meetEachOther compares one new key with the others; both sides are blamed.
func (n *newcomers) meetEachOther(folded, key string, twins []string, blame func(keys []string, reason, other string)) {
	if len(twins) > 1 {
		blame([]string{key}, reasonTwin, "")
	}
	if inside, ok := n.ancestors[folded]; ok {
		blame([]string{key}, reasonFolder, "")
		blame(inside, reasonFile, "")
	}
}

// appendFold appends [api.Key.Fold], with a short way for ASCII, where folding is
// lowering.
func appendFold(buf []byte, key api.Key) []byte {
	start := len(buf)
	for _, c := range []byte(key.String()) {
		if c >= utf8.RuneSelf {
			return append(buf[:start], key.Fold()...)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf = append(buf, c)
	}
	return buf
}
