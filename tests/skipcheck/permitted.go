package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// permitted is one line of the file of permitted skips.
type permitted struct {
	pattern *regexp.Regexp // matched against "<import path>.<test>", whole
	words   string         // that the test has to say, "" for any
	reason  string
}

// readPermitted reads lines of the form "PATTERN: WORDS # reason": the test may be
// skipped when it says these words, and without words whatever it says. Empty
// lines and lines that begin with # say nothing; a pattern without a reason is an
// error.
func readPermitted(r io.Reader) ([]permitted, error) {
	var list []permitted
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, reason, _ := strings.Cut(line, " # ")
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("line %d: a permitted skip needs a reason after ' # '", number)
		}
		pattern, words, _ := strings.Cut(pattern, ": ")
		re, err := regexp.Compile("^(?:" + strings.TrimSpace(pattern) + ")$")
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		list = append(list, permitted{re, strings.TrimSpace(words), strings.TrimSpace(reason)})
	}
	return list, lines.Err()
}

// reasonFor returns why the test may be skipped, having said why it was, "" when it
// may not.
func reasonFor(list []permitted, test, said string) string {
	for _, p := range list {
		if p.pattern.MatchString(test) && strings.Contains(said, p.words) {
			return p.reason
		}
	}
	return ""
}
