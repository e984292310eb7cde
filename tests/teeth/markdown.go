package main

import (
	"fmt"
	"strings"
)

// markdown is the table of docs/proof.md.
func markdown(mistakes []mistake) string {
	var b strings.Builder
	b.WriteString("| planted | what a person would see | caught by |\n|---|---|---|\n")
	for _, m := range mistakes {
		var guards []string
		for _, g := range m.guards {
			guards = append(guards, fmt.Sprintf("`%s`: %s", g.suite, names(g.tests)))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.bug, m.breaks, strings.Join(guards, "; "))
	}
	return b.String()
}

// names spells a pattern of tests out.
func names(pattern string) string {
	return strings.ReplaceAll(strings.TrimSuffix(pattern, "$"), "|", ", ")
}
