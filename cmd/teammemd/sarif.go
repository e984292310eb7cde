package main

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/rules"
)

// The members of a SARIF 2.1.0 log that we write, from the OASIS standard. None
// of them has a part of a text in it.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		ColumnKind  string            `json:"columnKind"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string            `json:"name"`
		Version        string            `json:"version"`
		InformationURI string            `json:"informationUri"`
		Rules          []sarifRule       `json:"rules"`
		Properties     map[string]string `json:"properties"`
	}
	sarifRule struct {
		ID                   string            `json:"id"`
		Name                 string            `json:"name"`
		ShortDescription     sarifText         `json:"shortDescription"`
		FullDescription      sarifText         `json:"fullDescription"`
		DefaultConfiguration sarifLevel        `json:"defaultConfiguration"`
		Properties           map[string]string `json:"properties"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"fingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"` // of the character after it
	}
)

const (
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion = "2.1.0"
	// sarifColumns says that columns count characters, not UTF-16 units.
	sarifColumns = "unicodeCodePoints"
	projectURI   = "https://github.com/teammem/teammemd"
)

// sarif makes a log of one run. Each tier has its level.
func (r scanResult) sarif(ruleSet string) sarifLog {
	titles := titlesOf()
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "teammemd", Version: versionText(), InformationURI: projectURI, Rules: []sarifRule{},
			Properties: map[string]string{"ruleSet": ruleSet},
		}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: len(r.Refused) == 0}},
		ColumnKind:  sarifColumns, Results: []sarifResult{},
	}
	for _, refused := range r.Refused {
		run.Invocations[0].ToolExecutionNotifications = append(run.Invocations[0].ToolExecutionNotifications, sarifNotification{
			Level: "error", Message: sarifText{refused.Reason + ": " + refused.detail}, Locations: placeOf(refused.File, nil),
		})
	}
	driver := &run.Tool.Driver
	for _, f := range r.Findings {
		at := slices.IndexFunc(driver.Rules, func(rule sarifRule) bool { return rule.ID == f.Rule })
		if at < 0 {
			at = len(driver.Rules)
			driver.Rules = append(driver.Rules, ruleOf(f, titles))
		}
		result := sarifResult{
			RuleID: f.Rule, RuleIndex: at, Level: levelOf(f.Tier), Message: sarifText{f.reason},
			Locations: placeOf(f.File, f.region), Fingerprints: map[string]string{"teammemd/v1": f.ID},
		}
		if f.Allowed != "" {
			result.Suppressions = []sarifSuppression{{"external", f.Allowed}}
		}
		run.Results = append(run.Results, result)
	}
	return sarifLog{sarifSchema, sarifVersion, []sarifRun{run}}
}

func ruleOf(f scanFinding, titles map[string]string) sarifRule {
	return sarifRule{
		ID: f.Rule, Name: f.Rule, ShortDescription: sarifText{cmp.Or(titles[f.Rule], f.Rule)}, FullDescription: sarifText{f.reason},
		DefaultConfiguration: sarifLevel{levelOf(f.Tier)}, Properties: map[string]string{"tier": f.Tier},
	}
}

// titlesOf returns the titles of all rules by id.
func titlesOf() map[string]string {
	set, err := rules.Load()
	if err != nil {
		return nil // then nothing was found either
	}
	titles := make(map[string]string, len(set.Rules))
	for _, rule := range set.Rules {
		titles[rule.ID] = rule.Title
	}
	return titles
}

// levelOf is the level of a tier: errors are for what only a team lets pass.
func levelOf(tier string) string {
	switch scanner.Tier(tier) {
	case scanner.Block3:
		return "warning"
	case scanner.Warn:
		return "note"
	}
	return "error"
}

func placeOf(file string, region *sarifRegion) []sarifLocation {
	uri := url.URL{Path: file}
	if filepath.IsAbs(file) || strings.HasPrefix(file, "/") {
		uri = url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(file, "/")}
	}
	return []sarifLocation{{sarifPlace{sarifArtifact{uri.String()}, region}}}
}

// regionOf is where a finding stands, in lines and characters; nil for one in the
// name.
func regionOf(f scanner.Finding, text string) *sarifRegion {
	if f.InName {
		return nil
	}
	start, end := f.Span()
	lineOf := func(at int) (line, column int) {
		begin := strings.LastIndexByte(text[:at], '\n') + 1
		return strings.Count(text[:at], "\n") + 1, utf8.RuneCountInString(text[begin:at]) + 1
	}
	region := &sarifRegion{}
	region.StartLine, region.StartColumn = lineOf(start)
	region.EndLine, region.EndColumn = lineOf(end)
	return region
}
