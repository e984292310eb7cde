package rules

import (
	stdbase64 "encoding/base64"

	"github.com/teammem/teammemd/scanner/samples"
)

// pair returns user:password as a header carries it.
func pair(s *samples.Source) string {
	return stdbase64.StdEncoding.EncodeToString([]byte("bill:" + password(s)))
}

var fileStructures = []Rule{
	{
		ID: "tm-netrc", Tier: Block2, Title: "Password in .netrc",
		Reason:   "An entry of .netrc opens the machine that it names.",
		Keywords: []string{"machine"},
		Pattern:  `machine\s{1,8}[^\s]{1,120}\s{1,8}login\s{1,8}[^\s]{1,120}\s{1,8}password\s{1,8}([^\s\x60<>]{4,200})`,
		Filters:  []Filter{NotPlaceholder, NotWeak, Remote},
		Hits:     each(with("machine api.acme.io\n  login bill\n  password ", "\n"), with("machine api.acme.io login bill password ", "")),
		Misses:   each(plain("machine api.acme.io login bill password "+"<password>"), plain("a machine whose login needs a password today")),
	},
	{
		ID: "tm-npmrc", Tier: Block2, Title: "Token in .npmrc or .yarnrc.yml",
		Reason:   "A token of .npmrc or .yarnrc.yml opens the package registry that it stands beside.",
		Keywords: []string{"_auth", ":_password", "npmauth"},
		Pattern:  `(?i)(?:(?::_authToken|\b_auth|:_auth|:_password)\s{0,2}=|npmAuth(?:Token|Ident)["']?\s{0,2}[:=])\s{0,2}["']?([\w+/=.~-]{12,400})`,
		Filters:  []Filter{StrongOrUUID},
		Hits: each(holding("//npm.acme.io/:_authToken=", ""), func(s *samples.Source) string { return "_auth=" + pair(s) },
			between("npmScopes:\n  acme:\n    npmAuthToken: ", drawnID, "\n")),
		Misses: each(plain("//npm.acme.io/:_authToken=${NPM_TOKEN}"), plain("//npm.acme.io/:_authToken=myTokenForNpm"), plain("npmAuthToken: ${NPM_TOKEN-}")),
	},
	{
		ID: "tm-docker-auth", Tier: Block2, Title: "Docker registry login",
		Reason:   "A login in Docker's configuration opens the registry.",
		Keywords: []string{`"auth"`},
		Pattern:  `"auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{12,600}={0,2})"`,
		Filters:  []Filter{BasicPair},
		Hits:     each(func(s *samples.Source) string { return `{"auths":{"r.acme.io":{"auth":"` + pair(s) + `"}}}` }),
		Misses:   each(plain(`"auth": "`+stdbase64.StdEncoding.EncodeToString([]byte("user:pass"+"word"))+`"`), plain(`"auth": "oauthTokenProvider"`)),
	},
	{
		ID: "tm-xml-password", Tier: Block2, Title: "Password in settings of Maven or NuGet",
		Reason:   "A password in build settings opens the package repository.",
		Keywords: []string{"<password>", "<passphrase>", "cleartextpassword", "<privatekeypassphrase>"},
		Pattern:  `(?i)(?:<(?:password|passphrase|privateKeyPassphrase)>([^<>\s{}]{6,200})</|ClearTextPassword"\s{1,4}value="([^"<>\s]{6,200})")`,
		Filters:  []Filter{Strong},
		Hits:     each(with("<server><id>x</id><username>b</username><password>", "</password>"), with(`<add key="ClearTextPassword" value="`, `" />`)),
		Misses:   each(plain("<password>${env.PASS}</password>"), plain("<password>"+"my-secret-password</password>")),
	},
	{
		ID: "tm-kubeconfig-key", Tier: Block2, Title: "Client key of a kubeconfig",
		Reason:   "The key of a kubeconfig opens the cluster as its user.",
		Keywords: []string{"client-key-data"},
		Pattern:  `client-key-data["']?\s{0,3}:\s{0,3}["']?([A-Za-z0-9+/]{40,1000}={0,2})`,
		Filters:  []Filter{NotPlaceholder},
		Hits:     each(func(s *samples.Source) string { return "    client-key-data: LS0t" + s.Text(samples.Alnum, 120) }),
		Misses:   each(plain("client-key-data: <base64 of the key>"), plain("client-key-data: LS0tLS1CRUdJTi"+"BSU0E...")),
	},
	{
		ID: "tm-kubeconfig-token", Tier: Block2, Title: "Token of a kubeconfig",
		Reason:   "The token of a kubeconfig opens the cluster as its user.",
		Keywords: []string{"token:"},
		Pattern:  `user:\s{0,40}\n\s{1,20}(?:[a-z-]{1,30}: [^\n]{0,200}\n\s{1,20}){0,3}?token:\s{1,3}["']?([\w.-]{16,1000})`,
		Filters:  []Filter{Random},
		Hits:     each(holding("users:\n- name: a\n  user:\n    token: ", "\n")),
		Misses:   each(plain("  user:\n    token: <token>"), plain("user:\n  token: my-very-long-token-name")),
	},
	{
		ID: "tm-ansible-password", Tier: Block2, Title: "Password for Ansible",
		Reason:   "A password in an inventory opens the hosts of that inventory.",
		Keywords: []string{"ansible_"},
		Pattern:  `ansible_(?:ssh_|become_|sudo_|su_|winrm_|httpapi_|enable_)?(?:pass|password|passphrase)["']?\s{0,2}[=:]\s{0,2}["']?([^\s"'\x60<>,]{6,120})`,
		Filters:  []Filter{NotPlaceholder, NotWeak},
		Hits:     each(with("web1 ansible_host=10.1.2.3 ansible_password=", ""), with("ansible_become_pass: '", "'")),
		Misses:   each(plain(`ansible_password: "{{ vault_pass }}"`), plain("ansible_ssh_pass="+"foobar1")),
	},
	{
		ID: "tm-wireguard-key", Tier: Block2, Title: "WireGuard key",
		Reason:   "A private or preshared key of WireGuard opens the network as that peer.",
		Keywords: []string{"privatekey", "presharedkey", "private-key", "preshared-key", "private_key", "preshared_key"},
		Pattern:  `(?i)(?:Private|Preshared)[_-]?Key["']?\s{0,4}[=:]\s{0,4}["']?([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)`,
		Filters:  []Filter{Random},
		Hits: each(func(s *samples.Source) string {
			return "[Interface]\nPrivateKey = " + s.Text(samples.Alnum, 42) + "8="
		}),
		Misses: each(func(s *samples.Source) string { return "PublicKey = " + s.Text(samples.Alnum, 42) + "8=" }, plain("PrivateKey = <your private key>")),
	},
	{
		ID: "tm-openvpn-static-key", Tier: Block2, Title: "OpenVPN static key",
		Reason:   "A static key of OpenVPN opens the tunnel.",
		Keywords: []string{"openvpn static key"},
		Pattern:  `BEGIN OpenVPN Static key V\d-{0,5}[\s>|\\nr]{1,40}((?:[0-9a-f]{32}(?:[\s>|]|\\n|\\r){1,20}){2,16})`,
		Hits: each(func(s *samples.Source) string {
			return "-----BEGIN " + "OpenVPN Static key V1-----\n" + s.Text(samples.Hex, 32) + "\n" + s.Text(samples.Hex, 32) + "\n" + s.Text(samples.Hex, 32) + "\n"
		}),
		Misses: each(plain("-----BEGIN " + "OpenVPN Static key V1-----\n...\n")),
	},
	{
		ID: "tm-wifi-password", Tier: Block2, Title: "Password of a wireless network",
		Reason:   "The password of a wireless network lets every receiver into it.",
		Keywords: []string{"wpa_passphrase", "psk", "sae_password", "wifi:", "wpa_psk"},
		Pattern:  `(?i)(?:\b(?:wpa_passphrase|sae_password|wpa_psk|psk)\s?=\s?(?:"([^"\n<>]{8,63})"|([^\s"'\x60<>]{8,64}))|WIFI:[^\n\s]{0,80}?;?P:([^;\s]{8,63});)`,
		Filters:  []Filter{NotPlaceholder, NotWeak},
		Hits:     each(with("ssid=acme\nwpa_passphrase=", ""), with(`psk="`, `"`), with("WIFI:S:acme;T:WPA;P:", ";;")),
		Misses:   each(plain(`psk="`+"your_password_here"+`"`), plain("wpa_passphrase=${PASS}")),
	},
	{
		ID: "tm-network-secret", Tier: Block2, Title: "Shared secret of a network device",
		Reason:   "A shared secret of IPsec, RADIUS or TACACS+ lets its holder speak as a device of the network.",
		Keywords: []string{"psk", "radius", "tacacs"},
		Pattern:  `(?i)(?::\s{0,3}PSK\s{1,3}"([^"\n]{8,200})"|(?:radius|tacacs)(?:-server|\sserver)?[^\n]{0,100}?\s(?:key|secret|shared-secret)\s(?:[06]\s)?"?([^\s"'\x60<>]{8,120}))`,
		Filters:  []Filter{Strong},
		Hits:     each(with(`1.2.3.4 5.6.7.8 : PSK "`, `"`), with("radius-server host 10.1.1.1 key ", "")),
		Misses:   each(plain(`: PSK "`+`your-secret-psk"`), plain("the RADIUS secret configured on both sides")),
	},
}
