package core

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// What people let pass in a text is stored with it as one line: the generation of
// the rules that found it, then rule=reason for each, all parted by spaces. Rules
// and reasons are words of ours. A line of another generation says nothing: what
// was reviewed was what other rules meant.

// generationOf returns the first part of the name of a rule set, "0" for rules
// without a name.
func generationOf(rules string) string {
	generation, _, _ := strings.Cut(rules, "-")
	return cmp.Or(generation, "0")
}

func (c *Core) generation() string { return generationOf(c.o.Rules()) }

// encodeAllowed makes the line, "" for nothing.
func encodeAllowed(rules string, allowed map[string]string) string {
	if len(allowed) == 0 {
		return ""
	}
	line := []string{generationOf(rules)}
	for _, rule := range slices.Sorted(maps.Keys(allowed)) {
		line = append(line, rule+"="+allowed[rule])
	}
	return strings.Join(line, " ")
}

// decodeAllowed reads the line, of any generation.
func decodeAllowed(line string) (generation string, allowed map[string]string) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return "", nil
	}
	allowed = make(map[string]string, len(words)-1)
	for _, word := range words[1:] {
		rule, reason, _ := strings.Cut(word, "=")
		allowed[rule] = reason
	}
	return words[0], allowed
}

// currentAllowed reads the line where it counts under rules of a generation.
func currentAllowed(line string, generation func() string) map[string]string {
	if line == "" {
		return nil
	}
	made, allowed := decodeAllowed(line)
	if made != generation() {
		return nil
	}
	return allowed
}

// writeAllowed tells clients what people let pass in live entries, so that it is
// not held on every machine.
func writeAllowed(w *jsonWriter, items []store.Item, generation func() string) {
	opened := false
	for i := range items {
		allowed := currentAllowed(items[i].Allowed, generation)
		if len(allowed) == 0 {
			continue
		}
		if !opened {
			w.object("entryAllowed")
			opened = true
		}
		w.object(items[i].Key.String())
		for _, rule := range slices.Sorted(maps.Keys(allowed)) {
			w.str(rule, allowed[rule])
		}
		w.close('}')
	}
	if opened {
		w.close('}')
	}
}

// allowedOf lists what was allowed in a version, for a write that repeats it.
func allowedOf(key api.Key, line string, generation func() string) []api.Allowed {
	var list []api.Allowed
	for rule, reason := range currentAllowed(line, generation) {
		list = append(list, api.Allowed{Key: key.String(), Rule: rule, Reason: reason})
	}
	return list
}
