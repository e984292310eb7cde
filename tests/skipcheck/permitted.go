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
	reason  string
}

// readPermitted reads lines of the form "PATTERN  # reason". Empty lines and
// lines that begin with # say nothing; a pattern without a reason is an error.
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
		re, err := regexp.Compile("^(?:" + strings.TrimSpace(pattern) + ")$")
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		list = append(list, permitted{re, strings.TrimSpace(reason)})
	}
	return list, lines.Err()
}

// reasonFor returns why the test may be skipped, "" when it may not.
func reasonFor(list []permitted, test string) string {
	for _, p := range list {
		if p.pattern.MatchString(test) {
			return p.reason
		}
	}
	return ""
}
