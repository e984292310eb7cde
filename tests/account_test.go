package tests

import (
	"slices"
	"testing"

	"github.com/teammem/teammemd/api"
)

// account finds every text that was written: in a tree, among the versions on
// the server, or among the saved copies.
func account(t *testing.T, server *companion, repo string, written map[string][]string, machines ...*machine) {
	t.Helper()
	reader := server.token("auditor", repo, "reader")
	var trees []tree
	copies := make(map[string][]string)
	for _, m := range machines {
		trees = append(trees, treeOf(t, m.team))
		for key, texts := range m.savedCopies() {
			copies[key] = append(copies[key], texts...)
		}
	}
	total, inTree, inHistory, inCopies := 0, 0, 0, 0
	for key, texts := range written {
		versions := server.history(reader, repo, key)
		for _, text := range texts {
			total++
			switch {
			case slices.ContainsFunc(trees, func(f tree) bool { return f[key] == text }):
				inTree++
			case versions[api.SumString(text)]:
				inHistory++
			case slices.Contains(copies[key], text):
				inCopies++
			default:
				t.Errorf("a text of %s with %d bytes is lost", key, len(text))
			}
		}
	}
	t.Logf("%d texts: %d in a team directory, %d more in history, %d more among %d saved copies", total, inTree, inHistory, inCopies, len(copies))
}
