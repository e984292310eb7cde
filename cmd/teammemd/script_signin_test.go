package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/teammem/teammemd/api"
)

var userCode = regexp.MustCompile(`\b[A-Z]{4}-[A-Z]{4}\b`)

// scriptAnswer does in a browser what a person does who was shown a code.
func scriptAnswer(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 3, "answer approve|deny FILE MAINTAINER")
	p := serverOf(ts)
	typed := userCode.FindString(ts.ReadFile(args[1]))
	if typed == "" {
		ts.Fatalf("%s shows no code", args[1])
	}
	got, err := p.try(http.MethodPost, api.PathJoinCodes, secretIn(ts, args[2:]), `{"repo":"acme/api"}`)
	ts.Check(err)
	var code api.JoinCodeAnswer
	ts.Check(json.Unmarshal([]byte(got.body), &code))
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	browser := &http.Client{Jar: jar}
	for _, step := range []struct {
		path string
		form url.Values
		want string
	}{
		{api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {code.Code}, "name": {"Ada"}, "next": {api.PathDevice + "?user_code=" + typed}}, typed},
		{api.PathDevice, url.Values{"user_code": {typed}, "action": {args[0]}}, ""},
	} {
		resp, err := browser.PostForm(p.url+step.path, step.form)
		ts.Check(err)
		body, err := io.ReadAll(resp.Body)
		ts.Check(err)
		ts.Check(resp.Body.Close())
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), step.want) {
			ts.Fatalf("%s: status %d: %s", step.path, resp.StatusCode, body)
		}
	}
}

// scriptRevoke ends the sign-ins of a credentials file at the server.
func scriptRevoke(ts *testscript.TestScript, neg bool, args []string) {
	want(ts, neg, args, 1, "revoke FILE")
	var file struct {
		SignIns []struct {
			Refresh string `json:"refresh_token"`
		} `json:"sign_ins"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &file))
	for _, one := range file.SignIns {
		resp, err := http.PostForm(serverOf(ts).url+api.PathRevoke, url.Values{"client_id": {api.ClientCLI}, "token": {one.Refresh}})
		ts.Check(err)
		ts.Check(resp.Body.Close())
		if resp.StatusCode != http.StatusOK {
			ts.Fatalf("status %d", resp.StatusCode)
		}
	}
}
