package etc_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
)

type meta struct {
	Name        string            `yaml:"name"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
	PeriodSeconds    int `yaml:"periodSeconds"`
	TimeoutSeconds   int `yaml:"timeoutSeconds"`
	FailureThreshold int `yaml:"failureThreshold"`
}

type deployment struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   meta   `yaml:"metadata"`
	Spec       struct {
		Replicas int `yaml:"replicas"`
		Strategy struct {
			Type          string `yaml:"type"`
			RollingUpdate struct {
				MaxUnavailable int `yaml:"maxUnavailable"`
				MaxSurge       int `yaml:"maxSurge"`
			} `yaml:"rollingUpdate"`
		} `yaml:"strategy"`
		Selector selector `yaml:"selector"`
		Template struct {
			Metadata meta    `yaml:"metadata"`
			Spec     podSpec `yaml:"spec"`
		} `yaml:"template"`
	} `yaml:"spec"`
}

type podSpec struct {
	AutomountServiceAccountToken  *bool `yaml:"automountServiceAccountToken"`
	EnableServiceLinks            *bool `yaml:"enableServiceLinks"`
	TerminationGracePeriodSeconds int   `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               struct {
		RunAsNonRoot   bool `yaml:"runAsNonRoot"`
		RunAsUser      int  `yaml:"runAsUser"`
		RunAsGroup     int  `yaml:"runAsGroup"`
		FsGroup        int  `yaml:"fsGroup"`
		SeccompProfile struct {
			Type string `yaml:"type"`
		} `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	TopologySpreadConstraints []struct {
		MaxSkew           int      `yaml:"maxSkew"`
		TopologyKey       string   `yaml:"topologyKey"`
		WhenUnsatisfiable string   `yaml:"whenUnsatisfiable"`
		LabelSelector     selector `yaml:"labelSelector"`
	} `yaml:"topologySpreadConstraints"`
	Containers []container `yaml:"containers"`
	Volumes    []struct {
		Name   string `yaml:"name"`
		Secret *struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
		} `yaml:"secret"`
		EmptyDir *struct{} `yaml:"emptyDir"`
	} `yaml:"volumes"`
}

type container struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Env []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`
	StartupProbe   probe `yaml:"startupProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	Resources      struct {
		Requests map[string]string `yaml:"requests"`
		Limits   map[string]string `yaml:"limits"`
	} `yaml:"resources"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct {
			Drop []string `yaml:"drop"`
		} `yaml:"capabilities"`
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

func TestKubernetesDeployment(t *testing.T) {
	d := strict[deployment](t, "kubernetes", "deployment.yaml")[0]
	pod := d.Spec.Template.Spec
	server := pod.Containers[0]
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" || d.Spec.Replicas != 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable != 0 {
		t.Errorf("%+v", d.Spec)
	}
	if diff := cmp.Diff(d.Spec.Selector.MatchLabels, d.Spec.Template.Metadata.Labels); diff != "" {
		t.Errorf("the deployment does not select its own pods: %s", diff)
	}
	env := map[string]string{}
	for _, one := range server.Env {
		env[one.Name] = one.Value
	}
	c := configured(t, env)
	ports := map[string]int{}
	for _, p := range server.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if diff := cmp.Diff(map[string]int{"http": port(t, c.Listen), "metrics": port(t, c.MetricsListen)}, ports); diff != "" {
		t.Errorf("ports (-configured +declared):\n%s", diff)
	}
	for name, want := range map[string]struct {
		got  probe
		path string
	}{"startup": {server.StartupProbe, api.PathReady}, "readiness": {server.ReadinessProbe, api.PathReady}, "liveness": {server.LivenessProbe, api.PathLive}} {
		if want.got.HTTPGet.Path != want.path || want.got.HTTPGet.Port != "http" || want.got.PeriodSeconds == 0 || want.got.FailureThreshold == 0 {
			t.Errorf("%s probe %+v", name, want.got)
		}
	}
	// The readiness must be seen to be off before the server stops listening, and
	// requests in flight must end before the kill.
	seen := time.Duration(server.ReadinessProbe.PeriodSeconds*server.ReadinessProbe.FailureThreshold) * time.Second
	grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second
	if c.DrainDelay.Std() <= seen || grace < c.DrainDelay.Std()+10*time.Second {
		t.Errorf("drain_delay %v: probes need %v, and the kill comes after %v", c.DrainDelay, seen, grace)
	}
	own, pods := server.SecurityContext, pod.SecurityContext
	if own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation || !own.ReadOnlyRootFilesystem || !slices.Equal(own.Capabilities.Drop, []string{"ALL"}) ||
		!pods.RunAsNonRoot || pods.RunAsUser == 0 || pods.SeccompProfile.Type != "RuntimeDefault" || pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Errorf("security: %+v %+v", own, pods)
	}
	mounted := map[string]string{}
	for _, m := range server.VolumeMounts {
		mounted[m.Name] = m.MountPath
	}
	for _, v := range pod.Volumes {
		if mounted[v.Name] == "" || (v.Secret == nil) == (v.EmptyDir == nil) || v.Secret != nil && v.Secret.DefaultMode != 0o440 {
			t.Errorf("volume %+v is mounted at %q", v, mounted[v.Name])
		}
	}
	if file := env["TEAMMEMD_SERVER_DATABASE_URL_FILE"]; filepath.Dir(file) != mounted["database"] || mounted["data"] != c.Data {
		t.Errorf("mounts %v, the database's file is %s, the data %s", mounted, file, c.Data)
	}
	notes := d.Spec.Template.Metadata.Annotations
	if notes["prometheus.io/port"] != strconv.Itoa(ports["metrics"]) || notes["prometheus.io/path"] != "/metrics" {
		t.Errorf("annotations %v", notes)
	}
}

// TestKubernetesRest expects that everything else is about the deployment's pods
// and ports.
func TestKubernetesRest(t *testing.T) {
	pods := strict[deployment](t, "kubernetes", "deployment.yaml")[0].Spec.Template.Metadata.Labels
	type ports []struct {
		Name       string `yaml:"name"`
		Port       int    `yaml:"port"`
		TargetPort string `yaml:"targetPort"`
	}
	service := strict[struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   meta   `yaml:"metadata"`
		Spec       struct {
			Selector map[string]string `yaml:"selector"`
			Ports    ports             `yaml:"ports"`
		} `yaml:"spec"`
	}](t, "kubernetes", "service.yaml")[0]
	budget := strict[struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   meta   `yaml:"metadata"`
		Spec       struct {
			MinAvailable int      `yaml:"minAvailable"`
			Selector     selector `yaml:"selector"`
		} `yaml:"spec"`
	}](t, "kubernetes", "poddisruptionbudget.yaml")[0]
	policy := strict[struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   meta   `yaml:"metadata"`
		Spec       struct {
			PodSelector selector `yaml:"podSelector"`
			PolicyTypes []string `yaml:"policyTypes"`
			Ingress     []struct {
				From []struct {
					NamespaceSelector selector `yaml:"namespaceSelector"`
				} `yaml:"from"`
				Ports []struct {
					Protocol string `yaml:"protocol"`
					Port     string `yaml:"port"`
				} `yaml:"ports"`
			} `yaml:"ingress"`
		} `yaml:"spec"`
	}](t, "kubernetes", "networkpolicy.yaml")[0]
	for name, got := range map[string]map[string]string{
		"service": service.Spec.Selector, "budget": budget.Spec.Selector.MatchLabels, "network policy": policy.Spec.PodSelector.MatchLabels,
	} {
		if diff := cmp.Diff(pods, got); diff != "" {
			t.Errorf("the %s is about other pods: %s", name, diff)
		}
	}
	if budget.APIVersion != "policy/v1" || budget.Kind != "PodDisruptionBudget" || budget.Spec.MinAvailable != 1 {
		t.Errorf("%+v", budget)
	}
	if len(service.Spec.Ports) != 1 || service.Spec.Ports[0].TargetPort != "http" {
		t.Errorf("the service offers %+v", service.Spec.Ports)
	}
	for _, in := range policy.Spec.Ingress {
		if len(in.From) == 0 || len(in.Ports) != 1 || !slices.Contains([]string{"http", "metrics"}, in.Ports[0].Port) {
			t.Errorf("the network policy lets %+v in", in)
		}
	}
	ingress := strict[struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   meta   `yaml:"metadata"`
		Spec       struct {
			IngressClassName string `yaml:"ingressClassName"`
			TLS              []struct {
				Hosts      []string `yaml:"hosts"`
				SecretName string   `yaml:"secretName"`
			} `yaml:"tls"`
			Rules []struct {
				Host string `yaml:"host"`
				HTTP struct {
					Paths []struct {
						Path     string `yaml:"path"`
						PathType string `yaml:"pathType"`
						Backend  struct {
							Service struct {
								Name string `yaml:"name"`
								Port struct {
									Name string `yaml:"name"`
								} `yaml:"port"`
							} `yaml:"service"`
						} `yaml:"backend"`
					} `yaml:"paths"`
				} `yaml:"http"`
			} `yaml:"rules"`
		} `yaml:"spec"`
	}](t, "kubernetes", "ingress.yaml")[0]
	rule := ingress.Spec.Rules[0]
	if to := rule.HTTP.Paths[0].Backend.Service; to.Name != service.Metadata.Name || to.Port.Name != service.Spec.Ports[0].Name || ingress.Spec.TLS[0].Hosts[0] != rule.Host {
		t.Errorf("the ingress leads to %+v", to)
	}
	if got := ingress.Metadata.Annotations["nginx.ingress.kubernetes.io/proxy-buffering"]; got != "off" {
		t.Errorf("nginx buffers events: %q", got)
	}
}

// TestKustomization names every file once.
func TestKustomization(t *testing.T) {
	k := strict[struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Namespace  string   `yaml:"namespace"`
		Resources  []string `yaml:"resources"`
		Images     []struct {
			Name    string `yaml:"name"`
			NewName string `yaml:"newName"`
			NewTag  string `yaml:"newTag"`
		} `yaml:"images"`
	}](t, "kubernetes", "kustomization.yaml")[0]
	entries, err := os.ReadDir("kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".yaml") && name != "kustomization.yaml" {
			files = append(files, name)
		}
	}
	slices.Sort(k.Resources)
	if diff := cmp.Diff(files, k.Resources); diff != "" {
		t.Errorf("files and resources differ:\n%s", diff)
	}
	if image := strict[deployment](t, "kubernetes", "deployment.yaml")[0].Spec.Template.Spec.Containers[0].Image; k.Images[0].Name != image {
		t.Errorf("the image %q is not %q", k.Images[0].Name, image)
	}
}
