package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

// healthTimeout bounds the whole check, below the 30 s that supervisors of
// containers commonly allow.
const healthTimeout = 5 * time.Second

func (a *app) healthcheckCommand() *cobra.Command {
	var flags serverFlags
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the server at the configured address whether it is ready",
		Long:  "Ask the server at the configured address whether it is ready. The exit code is\n0 when it is and 1 when it is not or does not answer.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := flags.load(a)
			if err != nil {
				return err
			}
			url, err := healthURL(c)
			if err != nil {
				return err
			}
			if err := checkHealth(cmd.Context(), url); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"schema": schema, "ready": true, "url": url})
			}
			a.printf("ready %s\n", url)
			return nil
		},
	}
	flags.register(cmd)
	flags.registerListen(cmd)
	return cmd
}

// healthURL is the probe as this machine reaches it.
func healthURL(c config.Server) (string, error) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", fmt.Errorf("%w: listen: %w", api.ErrConfig, err)
	}
	if port == "0" {
		return "", withHint(fmt.Errorf("%w: a server on port 0 can only be found by the line it printed", api.ErrConfig), "name it: --listen 127.0.0.1:PORT")
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "" || err == nil && addr.Is4() && addr.IsUnspecified():
		host = "127.0.0.1"
	case err == nil && addr.IsUnspecified():
		host = "::1"
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + api.PathReady, nil
}

// checkHealth returns nil if the probe at url answers 200. It goes to this
// machine's own server and sends nothing of value, so the certificate, made for
// another name, is not checked, and no proxy is asked.
func checkHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("not ready: asking %s: %w", url, err)
	}
	defer resp.Body.Close()
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // the status says it all
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	var body api.ErrorBody
	if json.Unmarshal(raw, &body) != nil || body.Error.Message == "" {
		return fmt.Errorf("not ready: %s answers %d", url, resp.StatusCode)
	}
	return fmt.Errorf("not ready: %s answers %d: %s", url, resp.StatusCode, api.CleanText(body.Error.Message, maxReason))
}

// maxReason bounds what is repeated of an answer, in bytes.
const maxReason = 200
