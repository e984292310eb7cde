package rules

import "github.com/teammem/teammemd/scanner/samples"

// vendorsIdentity are what signs people in, keeps secrets, or joins networks.
var vendorsIdentity = []Rule{
	token(Rule{
		ID: "tm-age-plugin-key", Title: "age plugin identity",
		Reason:   "An age identity that decrypts files.",
		Keywords: []string{"age-plugin-"},
		Pattern:  `AGE-PLUGIN-[A-Z0-9-]{1,40}-1[02-9AC-HJ-NP-Z]{20,400}`, Alphabet: `\w-`,
	}, text("AG"+"E-PLUGIN-YUBIKEY-1"), run{"023456789ACDEFGHJKLMNPQRSTUVWXYZ", 20}),
	token(Rule{
		ID: "tm-age-post-quantum-key", Title: "age secret key, post-quantum",
		Reason:   "An age key that decrypts files.",
		Keywords: []string{"age-secret-key-pq-1"},
		Pattern:  `AGE-SECRET-KEY-PQ-1[02-9AC-HJ-NP-Z]{58,200}`, Alphabet: `\w-`,
	}, text("AG"+"E-SECRET-KEY-PQ-1"), run{"023456789ACDEFGHJKLMNPQRSTUVWXYZ", 58}),
	anywhere(Rule{
		ID: "tm-apple-app-password", Title: "Apple app-specific password",
		Reason:   "An Apple password that signs a program in to an account.",
		Keywords: []string{"app-specific", "app specific", "apple_"},
		Pattern:  `(?i:app[- ]specific|apple_(?:app|id_)?[\w]{0,12}password)[^\n]{0,60}?[^\w-]([a-z]{4}-[a-z]{4}-[a-z]{4}-[a-z]{4})(?:[^\w-]|$)`,
		Filters:  []Filter{except("apple-documentation", `abcd-efgh-ijkl-mnop`)},
	}, text("app-specific password: "), run{samples.Lower, 4}, text("-"), run{samples.Lower, 4}, text("-"), run{samples.Lower, 4}, text("-"), run{samples.Lower, 4}),
	labelled(Rule{
		ID: "tm-auth0-client-secret", Title: "Auth0 client secret",
		Reason:   "An Auth0 secret that signs an application in.",
		Keywords: []string{"auth0"},
		Entropy:  4, Filters: []Filter{mixed},
	}, "AUTH0_CLIENT_SECRET", `auth0`, `[\w-]{64}`, blend(64)),
	labelled(Rule{
		ID: "tm-bitwarden-access-token", Title: "Bitwarden access token",
		Reason:   "A Bitwarden token that reads the secrets of a machine account.",
		Keywords: []string{"bws", "bitwarden"},
	}, "BWS_ACCESS_TOKEN", `bws|bitwarden`, `0\.`+uuidPattern+`\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22}==`, text("0."), uuid{}, text("."), alnum(30), text(":"), base64(22), text("==")),
	labelled(Rule{
		ID: "tm-bitwarden-client-secret", Title: "Bitwarden client secret",
		Reason:   "A Bitwarden secret that signs in to a vault, which stays locked without its password.",
		Keywords: []string{"bw_client", "bitwarden"},
		Entropy:  3.5, Filters: []Filter{mixed},
	}, "BW_CLIENTSECRET", `bw_client|bitwarden`, `[A-Za-z0-9]{30}`, blend(30)),
	token(Rule{
		ID: "tm-doppler-token", Title: "Doppler token",
		Reason:   "A Doppler token that reads or changes the secrets of a project.",
		Keywords: []string{"dp.ct.", "dp.st.", "dp.sa.", "dp.scim.", "dp.audit."},
		Pattern:  `dp\.(?:ct|st|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}`,
	}, oneOf{"dp" + ".ct.", "dp" + ".st.", "dp" + ".st.dev.", "dp" + ".sa."}, alnum(40)),
	anywhere(Rule{
		ID: "tm-entra-refresh-token", Title: "Microsoft Entra refresh token",
		Reason:   "A Microsoft token that makes new tokens for a person.",
		Keywords: []string{"0.a", "1.a"},
		Pattern:  `[01]\.A[\w-]{50,200}\.(?:\d\.)?Ag[\w-]{200,1000}`,
	}, oneOf{"0" + ".A", "1" + ".A"}, alnum(50), text("."+"Ag"), alnum(200)),
	labelled(Rule{
		ID: "tm-fusionauth-api-key", Title: "FusionAuth API key",
		Reason:   "A FusionAuth key that reads and changes the people of an application.",
		Keywords: []string{"fusionauth"},
		Entropy:  4, Filters: []Filter{mixed},
	}, "FUSIONAUTH_API_KEY", `fusionauth`, `[\w-]{40,64}`, blend(40)),
	token(Rule{
		ID: "tm-infisical-token", Title: "Infisical token",
		Reason:   "An Infisical token that reads the secrets of a project.",
		Keywords: []string{"st."},
		Pattern:  `st\.[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}`,
	}, text("s"+"t."), hex(24), text("."), hex(32), text("."), hex(32)),
	token(Rule{
		ID: "tm-netbird-token", Title: "NetBird token",
		Reason:   "A NetBird token that changes a private network.",
		Keywords: []string{"nbp_"},
		Pattern:  `nbp_[A-Za-z0-9]{36}`,
	}, text("nb"+"p_"), alnum(36)),
	labelled(Rule{
		ID: "tm-ngrok-token", Title: "ngrok token",
		Reason:   "An ngrok token that opens a machine to the internet in its owner's name.",
		Keywords: []string{"ngrok"},
		Entropy:  3.5,
	}, "NGROK_AUTHTOKEN", `ngrok`, `[A-Za-z0-9]{25,30}_[A-Za-z0-9]{20,24}`, alnum(25), text("_"), alnum(20)),
	anywhere(Rule{
		ID: "tm-okta-api-token", Title: "Okta API token",
		Reason:   "An Okta token that reads or changes the people of an organisation.",
		Keywords: []string{"ssws"},
		Pattern:  `SSWS[ \t:="\']{1,4}(00[\w-]{40})`, Entropy: 3.5, Filters: []Filter{mixed},
	}, text("SS"+"WS 00"), blend(40)),
	labelled(Rule{
		ID: "tm-shodan-api-key", Title: "Shodan API key",
		Reason:   "A Shodan key that searches at its owner's cost.",
		Keywords: []string{"shodan"},
		Entropy:  3.5,
	}, "SHODAN_API_KEY", `shodan`, `[A-Za-z0-9]{32}`, alnum(32)),
	token(Rule{
		ID: "tm-stytch-secret", Title: "Stytch secret",
		Reason:   "A Stytch secret that signs people in.",
		Keywords: []string{"secret-live-", "secret-test-"},
		Pattern:  `secret-(?:live|test)-[\w-]{36,52}={0,2}`, Alphabet: `\w=-`,
	}, oneOf{"se" + "cret-live-", "se" + "cret-test-"}, alnum(36)),
	token(Rule{
		ID: "tm-tailscale-key", Title: "Tailscale key",
		Reason:   "A Tailscale key that adds machines to a private network, or changes it.",
		Keywords: []string{"tskey-"},
		Pattern:  `tskey-[a-z]{3,10}-[A-Za-z0-9]{6,24}-[A-Za-z0-9]{20,64}`,
	}, oneOf{"ts" + "key-auth-", "ts" + "key-api-", "ts" + "key-client-"}, alnum(12), text("-"), alnum(20)),
	token(Rule{
		ID: "tm-vault-token", Title: "Vault token",
		Reason:   "A Vault token that reads the secrets that its policies allow.",
		Keywords: []string{"hvs.", "hvb.", "hvr."},
		Pattern:  `hv[sbr]\.[\w-]{24,400}`,
		Alphabet: `\w-`,
		Entropy:  3,
		Filters:  []Filter{except("vault", `hvs\.[\w-]{90,120}|hvb\.[\w-]{138,300}`)},
	}, oneOf{"hv" + "s.", "hv" + "r."}, alnum(24)),
	labelled(Rule{
		ID: "tm-virustotal-api-key", Title: "VirusTotal API key",
		Reason:   "A VirusTotal key that reads and sends files in its owner's name.",
		Keywords: []string{"virustotal", "virus_total", "vt_api"},
	}, "VIRUSTOTAL_API_KEY", `virustotal|virus_total|vt_api`, `[0-9a-f]{64}`, hex(64)),
	labelled(Rule{
		ID: "tm-zerotier-token", Title: "ZeroTier token",
		Reason:   "A ZeroTier token that changes a private network.",
		Keywords: []string{"zerotier"},
		Entropy:  3.5,
	}, "ZEROTIER_TOKEN", `zerotier`, `[A-Za-z0-9]{32}`, alnum(32)),
}
