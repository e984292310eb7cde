package scanner_test

import (
	"testing"

	"github.com/teammem/teammemd/scanner"
)

func TestCanary(t *testing.T) {
	if err := scanner.New(scanner.Options{}).Canary(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRules(t *testing.T) {
	s := scanner.New(scanner.Options{})
	if got := s.Rules(); got != 222 {
		t.Errorf("%d rules loaded, want 222", got)
	}
	t.Log(s.RuleSet())
}
