package etc_test

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

// strict decodes every document of a file; a member that T does not have is an
// error.
func strict[T any](t *testing.T, name ...string) []T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	var all []T
	for {
		var one T
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", filepath.Join(name...), err)
		}
		all = append(all, one)
	}
}

// configured loads what an environment sets, and fails for a variable that sets
// nothing.
func configured(t *testing.T, env map[string]string) config.Server {
	t.Helper()
	known := map[string]bool{}
	loaded, err := config.LoadServer(config.Input{})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range loaded.Rows() {
		name := "TEAMMEMD_SERVER_" + strings.ToUpper(strings.ReplaceAll(row.Key, ".", "_"))
		known[name], known[name+"_FILE"] = true, true
	}
	for name := range env {
		if !known[name] {
			t.Errorf("%s sets no key", name)
		}
	}
	loaded, err = config.LoadServer(config.Input{Getenv: func(name string) string {
		if strings.HasSuffix(name, "_FILE") {
			return "" // a file of the container
		}
		return env[name]
	}})
	if err != nil {
		t.Errorf("the server would not start: %v", err)
	}
	return loaded.Config
}

func port(t *testing.T, addr string) int {
	t.Helper()
	a, err := netip.ParseAddrPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return int(a.Port())
}

type compose struct {
	Name     string `yaml:"name"`
	Services map[string]struct {
		Build *struct {
			Context    string `yaml:"context"`
			Dockerfile string `yaml:"dockerfile"`
		} `yaml:"build"`
		Image       string            `yaml:"image"`
		Environment map[string]string `yaml:"environment"`
		Secrets     []string          `yaml:"secrets"`
		DependsOn   map[string]struct {
			Condition string `yaml:"condition"`
		} `yaml:"depends_on"`
		Healthcheck *struct {
			Test        []string `yaml:"test"`
			Interval    string   `yaml:"interval"`
			Timeout     string   `yaml:"timeout"`
			StartPeriod string   `yaml:"start_period"`
		} `yaml:"healthcheck"`
		Ports           []string `yaml:"ports"`
		Volumes         []string `yaml:"volumes"`
		Networks        []string `yaml:"networks"`
		Tmpfs           []string `yaml:"tmpfs"`
		ReadOnly        bool     `yaml:"read_only"`
		CapDrop         []string `yaml:"cap_drop"`
		SecurityOpt     []string `yaml:"security_opt"`
		StopGracePeriod string   `yaml:"stop_grace_period"`
		Restart         string   `yaml:"restart"`
	} `yaml:"services"`
	Networks map[string]struct {
		Internal bool `yaml:"internal"`
		Ipam     struct {
			Config []struct {
				Subnet string `yaml:"subnet"`
			} `yaml:"config"`
		} `yaml:"ipam"`
	} `yaml:"networks"`
	Volumes map[string]any `yaml:"volumes"`
	Secrets map[string]struct {
		File string `yaml:"file"`
	} `yaml:"secrets"`
}

func TestCompose(t *testing.T) {
	c := strict[compose](t, "docker-compose.yaml")[0]
	server, proxy, postgres := c.Services["server"], c.Services["proxy"], c.Services["postgres"]
	got := configured(t, server.Environment)
	if upstream := proxy.Environment["TEAMMEMD_UPSTREAM"]; upstream != "server:8787" || port(t, got.Listen) != 8787 {
		t.Errorf("the proxy asks %s, the server listens on %s", upstream, got.Listen)
	}
	if subnet := c.Networks["front"].Ipam.Config[0].Subnet; len(got.TrustedProxies) != 1 || got.TrustedProxies[0] != subnet {
		t.Errorf("trusted %v, the proxy is in %s", got.TrustedProxies, subnet)
	}
	if len(server.Ports)+len(postgres.Ports) > 0 || !c.Networks["back"].Internal || len(postgres.Networks) != 1 || postgres.Networks[0] != "back" {
		t.Error("more than the proxy can be reached from outside")
	}
	if strings.Join(server.Healthcheck.Test, " ") != "CMD teammemd server healthcheck" {
		t.Errorf("health is checked by %v", server.Healthcheck.Test)
	}
	if !server.ReadOnly || len(server.CapDrop) != 1 || server.CapDrop[0] != "ALL" || server.DependsOn["postgres"].Condition != "service_healthy" {
		t.Errorf("server: %+v", server)
	}
	for name, service := range c.Services {
		for _, secret := range service.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s uses the secret %q, which is not declared", name, secret)
			}
		}
		for _, network := range service.Networks {
			if _, ok := c.Networks[network]; !ok {
				t.Errorf("%s is in the network %q, which is not declared", name, network)
			}
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			_, declared := c.Volumes[source]
			_, err := os.Stat(source)
			if !declared && err != nil {
				t.Errorf("%s mounts %q, which is neither a volume nor a file", name, source)
			}
		}
		for variable, value := range service.Environment {
			if file, ok := strings.CutPrefix(value, "/run/secrets/"); ok && !strings.Contains(strings.Join(service.Secrets, " "), file) {
				t.Errorf("%s: %s names a secret that it does not have", name, variable)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(server.Build.Context, server.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
}

func TestDockerfile(t *testing.T) {
	raw, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(mod))[1]
	for _, want := range []string{
		"FROM golang:" + version + " AS build\n", " ./cmd/teammemd ", "\nUSER 65532:65532\n", `CMD ["teammemd", "server", "healthcheck"]`,
		"--chown=65532:65532 /out/data " + config.Server{}.WithDefaults().Data + "\n", "EXPOSE 8787\n",
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the Dockerfile has no %q", want)
		}
	}
}

// TestCaddyfile reads as much of it as can be read without Caddy.
func TestCaddyfile(t *testing.T) {
	raw, err := os.ReadFile("Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	depth := 0
	found := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "{"), " ")
		found[name] = strings.TrimSpace(rest)
		if line == "}" {
			depth--
		} else if strings.HasSuffix(line, "{") {
			depth++
		}
		if depth < 0 {
			t.Fatalf("a brace too many at %q", line)
		}
	}
	if depth != 0 {
		t.Errorf("%d braces stay open", depth)
	}
	for name, want := range map[string]string{
		"reverse_proxy": "{$TEAMMEMD_UPSTREAM:" + config.Server{}.WithDefaults().Listen + "}", "flush_interval": "-1", "health_uri": api.PathReady,
	} {
		if found[name] != want {
			t.Errorf("%s %q, want %q", name, found[name], want)
		}
	}
	if _, ok := found["encode"]; ok {
		t.Error("Caddy compresses: ETags become weak")
	}
}
