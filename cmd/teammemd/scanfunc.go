package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server/core"
)

// scanFunc lets the server judge with sc. Findings of all tiers are passed on:
// what they mean is the server's to decide, and what was clean is the server's
// to remember. The key of a finding is fit to be shown: what was found in the
// name itself is masked.
func scanFunc(sc *scanner.Scanner) core.ScanFunc {
	return func(ctx context.Context, key, text string) ([]api.Finding, error) {
		found, err := sc.Scan(ctx, key, text)
		if err != nil {
			return nil, verdictError(err)
		}
		name := scanner.MaskName(key, found)
		var findings []api.Finding
		for _, f := range found {
			findings = append(findings, api.Finding{
				Key: name, Line: f.Line, Column: f.Column,
				Rule: f.Rule, Tier: string(f.Tier), Reason: f.Reason,
			})
		}
		return findings, nil
	}
}

// verdictError tells a refusal of one text from a scanner that cannot judge any.
func verdictError(err error) error {
	if refusal, ok := errors.AsType[*scanner.Refusal](err); ok {
		return &api.HeldError{Reason: api.Reason(refusal.Reason), Detail: refusal.Detail}
	}
	return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
}
