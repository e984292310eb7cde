package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server/core"
)

// scanFunc lets the server judge with sc. The server remembers what was clean,
// and asks about a key on its own by sending it as the text as well.
func scanFunc(sc *scanner.Scanner) core.ScanFunc {
	return func(ctx context.Context, key, text string) ([]api.Finding, error) {
		asName := key != "" && key == text
		if asName {
			text = ""
		}
		found, err := sc.Scan(ctx, key, text)
		if err != nil {
			return nil, verdictError(err)
		}
		masked := scanner.MaskName(key, found)
		var findings []api.Finding
		for _, f := range found {
			if f.InName != asName {
				continue // the other call reports it
			}
			findings = append(findings, api.Finding{
				Key: masked, Line: f.Line, Column: f.Column,
				Rule: f.Rule, Tier: string(f.Tier), Reason: f.Reason,
			})
		}
		return findings, nil
	}
}

// verdictError tells a refusal of one text from a scanner that cannot judge any.
func verdictError(err error) error {
	var refusal *scanner.Refusal
	if !errors.As(err, &refusal) {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return &api.HeldError{Reason: api.Reason(refusal.Reason), Detail: refusal.Detail}
}
