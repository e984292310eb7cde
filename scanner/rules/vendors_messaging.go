package rules

import "github.com/teammem/teammemd/scanner/samples"

// vendorsMessaging are what sends messages and mail, and addresses to which anybody may post.
var vendorsMessaging = []Rule{
	anywhere(Rule{
		ID: "tm-ably-api-key", Title: "Ably API key",
		Reason:   "An Ably key that reads and sends the messages of an application.",
		Keywords: []string{"ably"},
		Pattern:  `(?i:ably)[^\n]{0,60}?\b([\w-]{6}\.[\w-]{6}:[\w-]{43})` + Terminator(`\w-`),
		Filters:  []Filter{mixed},
	}, text("ABLY_KEY="), blend(6), text("."), blend(6), text(":"), word(43)),
	token(Rule{
		ID: "tm-brevo-smtp-key", Title: "Brevo SMTP key",
		Reason:   "A Brevo key that can send mail in your name.",
		Keywords: []string{"xsmtpsib-"},
		Pattern:  `xsmtpsib-[0-9a-f]{64}-[A-Za-z0-9]{16}`, Alphabet: `\w-`,
	}, text("xs"+"mtpsib-"), hex(64), text("-"), alnum(16)),
	token(Rule{
		ID: "tm-dingtalk-webhook", Title: "DingTalk webhook",
		Reason:   "A DingTalk webhook: whoever has the address can post.",
		Keywords: []string{"oapi.dingtalk.com"},
		Pattern:  `oapi\.dingtalk\.com/robot/send\?access_token=[0-9a-f]{64}`,
	}, text("oa"+"pi.dingtalk.com/robot/send?access_token="), hex(64)),
	anywhere(Rule{
		ID: "tm-discord-bot-token", Title: "Discord bot token",
		Reason:   "A Discord token that acts as a bot, with all that the bot may read and do.",
		Keywords: []string{"discord", "bot_token", "bot-token", "bot token", "bottoken", "token", "bot ", "login("},
		Pattern: `(?i:discord[^\n]{0,60}?[^\w.-]|token[^\w.\n]{1,8}|bot [ "']{0,2}|login\([ \t]{0,2}["'` + "`" + `])` +
			`([MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40})`,
		Entropy: 3,
		Filters: []Filter{numbered},
	}, oneOf{"Di" + "scord: ", "to" + "ken = ", "Au" + "thorization: Bot "}, botNumber{}, text("."), alnum(6), text("."), alnum(27)),
	token(Rule{
		ID: "tm-discord-bot-token-bare", Title: "Discord bot token",
		Reason:   "A Discord token that acts as a bot, with all that the bot may read and do.",
		Keywords: []string{".g", ".x"},
		Pattern:  `[MNO][\w-]{23,27}\.[GX][\w-]{5}\.[\w-]{27,40}`, Alphabet: `\w-`, Filters: []Filter{numbered},
	}, botNumber{}, text(".G"), alnum(5), text("."), alnum(27)),
	token(Rule{
		ID: "tm-discord-webhook", Title: "Discord webhook",
		Reason:   "A Discord webhook: whoever has the address can post.",
		Keywords: []string{"discord.com/api", "discordapp.com/api"},
		Pattern:  `discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{17,20}/[\w-]{60,80}`, Alphabet: `\w-`,
	}, oneOf{"di" + "scord.com/api/webhooks/", "di" + "scordapp.com/api/webhooks/", "di" + "scord.com/api/v10/webhooks/"}, digits(18), text("/"), word(60)),
	token(Rule{
		ID: "tm-feishu-webhook", Title: "Feishu or Lark webhook",
		Reason:   "A Feishu or Lark webhook: whoever has the address can post.",
		Keywords: []string{"open.feishu.cn", "open.larksuite.com"},
		Pattern:  `open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/` + uuidPattern, Alphabet: `\w-`,
	}, oneOf{"op" + "en.feishu.cn/open-apis/bot/v2/hook/", "op" + "en.larksuite.com/open-apis/bot/v2/hook/"}, uuid{}),
	token(Rule{
		ID: "tm-google-chat-webhook", Title: "Google Chat webhook",
		Reason:   "A Google Chat webhook: whoever has the address can post.",
		Keywords: []string{"chat.googleapis.com"},
		Pattern:  `chat\.googleapis\.com/v1/spaces/[\w-]{5,30}/messages\?key=[\w-]{39}&(?:amp;)?token=[\w%-]{40,60}`,
		Alphabet: `\w%-`,
	}, text("ch"+"at.googleapis.com/v1/spaces/AAAA123/messages?key="), alnum(39), text("&t"+"oken="), alnum(40)),
	token(Rule{
		ID: "tm-ifttt-webhook-key", Title: "IFTTT webhook key",
		Reason:   "An IFTTT key: whoever has it can start its owner's applets.",
		Keywords: []string{"maker.ifttt.com"},
		Pattern:  `maker\.ifttt\.com/(?:use|trigger/[^/\s]{1,60}/(?:json/)?with/key)/[\w-]{20,60}`,
		Alphabet: `\w-`,
	}, oneOf{"ma" + "ker.ifttt.com/use/", "ma" + "ker.ifttt.com/trigger/alarm/with/key/"}, alnum(20)),
	token(Rule{
		ID: "tm-intercom-access-token", Title: "Intercom access token",
		Reason:   "An Intercom token that reads and answers customers.",
		Keywords: []string{"dg9ro"},
		Pattern:  `dG9rO[A-Za-z0-9+/]{50,60}={0,2}`, Alphabet: `\w+/=`,
	}, text("dG"+"9rO"), alnum(50)),
	token(Rule{
		ID: "tm-klaviyo-api-key", Title: "Klaviyo private key",
		Reason:   "A Klaviyo key that reads customers and can send mail in your name.",
		Keywords: []string{"pk_"},
		Pattern:  `pk_[0-9a-f]{34}`, Filters: []Filter{bare},
	}, text("p"+"k_"), hex(34)),
	labelled(Rule{
		ID: "tm-line-channel-token", Title: "LINE channel access token",
		Reason:   "A LINE token that sends messages as an account.",
		Keywords: []string{"line_", "line channel", "line messaging"},
		Entropy:  4,
	}, "LINE_CHANNEL_ACCESS_TOKEN", `line_|line channel|line messaging`, `[A-Za-z0-9+/]{160,172}={0,2}`, base64(160)),
	labelled(Rule{
		ID: "tm-loops-api-key", Title: "Loops API key",
		Reason:   "A Loops key that can send mail in your name.",
		Keywords: []string{"loops_api", "loops api", "loops-api"},
	}, "LOOPS_API_KEY", `loops_api|loops api|loops-api`, `[0-9a-f]{32}`, hex(32)),
	token(Rule{
		ID: "tm-mailchimp-api-key", Title: "Mailchimp API key",
		Reason:   "A Mailchimp key that reads mailing lists and can send mail in your name.",
		Keywords: []string{"-us"},
		Pattern:  `[0-9a-f]{32}-us\d{1,2}`, Alphabet: `\w-`,
	}, hex(32), text("-us12")),
	token(Rule{
		ID: "tm-mailersend-api-token", Title: "MailerSend API token",
		Reason:   "A MailerSend token that can send mail in your name.",
		Keywords: []string{"mlsn."},
		Pattern:  `mlsn\.[A-Za-z0-9]{30,100}`,
	}, text("ml"+"sn."), alnum(30)),
	token(Rule{
		ID: "tm-mailgun-api-key", Title: "Mailgun API key",
		Reason:   "A Mailgun key that can send mail in your name.",
		Keywords: []string{"key-"},
		Pattern:  `key-[0-9a-f]{32}`, Alphabet: `\w-`,
	}, text("ke"+"y-"), hex(32)),
	labelled(Rule{
		ID: "tm-mailjet-api-key", Title: "Mailjet API key or secret",
		Reason:   "A Mailjet key or secret, half of a pair that can send mail in your name.",
		Keywords: []string{"mailjet", "mj_api"},
	}, "MAILJET_API_SECRET", `mailjet|mj_api`, `[0-9a-f]{32}`, hex(32)),
	token(Rule{
		ID: "tm-make-webhook", Title: "Make webhook",
		Reason:   "A Make webhook: whoever has the address can start a scenario.",
		Keywords: []string{"hook."},
		Pattern:  `hook\.(?:[a-z]{2}\d\.)?(?:make|integromat)\.com/[a-z0-9]{28,36}`,
	}, oneOf{"ho" + "ok.eu1.make.com/", "ho" + "ok.integromat.com/"}, lower(28)),
	token(Rule{
		ID: "tm-mandrill-api-key", Title: "Mandrill API key",
		Reason:   "A Mandrill key that can send mail in your name.",
		Keywords: []string{"md-"},
		Pattern:  `md-[\w-]{22}`, Alphabet: `\w-`, Entropy: 3.5, Filters: []Filter{mixed},
	}, text("m"+"d-"), blend(22)),
	token(Rule{
		ID: "tm-matrix-access-token", Title: "Matrix access token",
		Reason:   "A Matrix token that acts as a person in their rooms.",
		Keywords: []string{"syt_"},
		Pattern:  `syt_[A-Za-z0-9+/]{2,80}={0,2}_[A-Za-z]{20}_[A-Za-z0-9]{6}`,
	}, text("sy"+"t_"), alnum(8), text("_"), run{samples.Lower + samples.Upper, 20}, text("_"), alnum(6)),
	token(Rule{
		ID: "tm-onesignal-key", Title: "OneSignal key",
		Reason:   "A OneSignal key that sends messages to the users of an application.",
		Keywords: []string{"os_v2_app_", "os_v2_org_"},
		Pattern:  `os_v2_(?:app|org)_[a-z2-7]{90,110}`,
	}, oneOf{"os" + "_v2_app_", "os" + "_v2_org_"}, run{samples.Lower + "234567", 90}),
	token(Rule{
		ID: "tm-pipedream-webhook", Title: "Pipedream webhook",
		Reason:   "A Pipedream address: whoever has it can start a workflow.",
		Keywords: []string{".m.pipedream.net"},
		Pattern:  `eo[a-z0-9]{12,16}\.m\.pipedream\.net`,
	}, text("eo"), lower(12), text(".m.pipedream.net")),
	labelled(Rule{
		ID: "tm-postmark-token", Title: "Postmark token",
		Reason:   "A Postmark token that can send mail in your name.",
		Keywords: []string{"postmark"},
	}, "POSTMARK_SERVER_TOKEN", `postmark`, uuidPattern, uuid{}),
	token(Rule{
		ID: "tm-resend-api-key", Title: "Resend API key",
		Reason:   "A Resend key that can send mail in your name.",
		Keywords: []string{"re_"},
		Pattern:  `re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,30}`, Entropy: 3.5, Filters: []Filter{mixed},
	}, text("r"+"e_"), blend(8), text("_"), blend(20)),
	token(Rule{
		ID: "tm-slack-session-cookie", Title: "Slack session cookie",
		Reason:   "A Slack cookie that acts as a person, with a session token beside it.",
		Keywords: []string{"xoxd-"},
		Pattern:  `xoxd-[\w%/+-]{40,400}={0,2}`, Alphabet: `\w%/+=-`,
	}, text("xo"+"xd-"), alnum(40)),
	token(Rule{
		ID: "tm-slack-session-token", Title: "Slack session token",
		Reason:   "A Slack token that acts as a person, with a cookie beside it.",
		Keywords: []string{"xoxc-"},
		Pattern:  `xoxc-\d{9,15}-\d{9,15}-\d{9,15}-[0-9a-f]{64}`, Alphabet: `\w-`,
	}, text("xo"+"xc-"), digits(12), text("-"), digits(12), text("-"), digits(12), text("-"), hex(64)),
	labelled(Rule{
		ID: "tm-slack-signing-secret", Title: "Slack signing secret",
		Reason:   "A Slack secret that signs the requests to an application.",
		Keywords: []string{"slack"},
	}, "SLACK_SIGNING_SECRET", `slack`, `[0-9a-f]{32}`, hex(32)),
	token(Rule{
		ID: "tm-slack-webhook-gov", Title: "Slack webhook for governments",
		Reason:   "A Slack webhook: whoever has the address can post.",
		Keywords: []string{"hooks.slack-gov.com"},
		Pattern:  `hooks\.slack-gov\.com/(?:services|workflows|triggers)/[A-Za-z0-9/]{46,60}`, Alphabet: `\w/`,
	}, text("ho"+"oks.slack-gov.com/services/T"), upper(9), text("/B"), upper(9), text("/"), alnum(24)),
	token(Rule{
		ID: "tm-slack-workflow-token", Title: "Slack workflow token",
		Reason:   "A Slack token that acts as a workflow.",
		Keywords: []string{"xwfp-"},
		Pattern:  `xwfp-[\w-]{24,200}`, Alphabet: `\w-`, Entropy: 3.5, Filters: []Filter{mixed},
	}, text("xw"+"fp-"), blend(24)),
	labelled(Rule{
		ID: "tm-sparkpost-api-key", Title: "SparkPost API key",
		Reason:   "A SparkPost key that can send mail in your name.",
		Keywords: []string{"sparkpost"},
	}, "SPARKPOST_API_KEY", `sparkpost`, `[0-9a-f]{40}`, hex(40)),
	token(Rule{
		ID: "tm-teams-webhook-other", Title: "Microsoft Teams webhook, other forms",
		Reason:   "A Microsoft Teams webhook: whoever has the address can post.",
		Keywords: []string{"outlook.office.com/webhook", "logic.azure.com", "api.powerplatform.com"},
		Pattern: `outlook\.office\.com/webhook/[\w@-]{73}/IncomingWebhook/[0-9a-f]{32}/` + uuidPattern + `|` +
			`(?:logic\.azure\.com|api\.powerplatform\.com)(?::443)?/[\w/-]{0,60}workflows/[0-9a-f]{32}/[^?\s]{1,80}\?[^\s"'<>]{0,200}sig=[\w-]{43}`,
		Alphabet: `\w-`,
	}, text("ou"+"tlook.office.com/webhook/"), uuid{}, text("@"), uuid{}, text("/I"+"ncomingWebhook/"), hex(32), text("/"), uuid{}),
	token(Rule{
		ID: "tm-telegram-bot-token", Title: "Telegram bot token",
		Reason:   "A Telegram token that acts as a bot and reads its messages.",
		Keywords: []string{":aa"},
		Pattern:  `(?:bot)?\d{8,10}:AA[\w-]{33}`, Alphabet: `\w-`,
	}, oneOf{"", "b" + "ot"}, digits(8), text(":"+"AA"), word(33)),
	labelled(Rule{
		ID: "tm-telnyx-api-key", Title: "Telnyx API key",
		Reason:   "A Telnyx key that sends messages and calls at its owner's cost.",
		Keywords: []string{"telnyx"},
	}, "TELNYX_API_KEY", `telnyx`, `KEY[0-9A-Za-z]{32}_[0-9A-Za-z]{22}`, text("K"+"EY"), alnum(32), text("_"), alnum(22)),
	token(Rule{
		ID: "tm-tines-webhook", Title: "Tines webhook",
		Reason:   "A Tines webhook: whoever has the address can start a story.",
		Keywords: []string{".tines.com/webhook/"},
		Pattern:  `[\w-]{1,60}\.tines\.com/webhook/[0-9a-z]{32}/[0-9a-z]{32}`,
	}, text("ac"+"me.tines.com/webhook/"), lower(32), text("/"), lower(32)),
	labelled(Rule{
		ID: "tm-twilio-auth-token", Title: "Twilio auth token",
		Reason:   "A Twilio token that opens an account: it can send messages and spend money.",
		Keywords: []string{"twilio"},
	}, "TWILIO_AUTH_TOKEN", `twilio`, `[0-9a-f]{32}`, hex(32)),
	labelled(Rule{
		ID: "tm-vonage-api-secret", Title: "Vonage API secret",
		Reason:   "A Vonage secret that sends messages at its owner's cost.",
		Keywords: []string{"vonage", "nexmo"},
		Filters:  []Filter{mixed},
	}, "VONAGE_API_SECRET", `vonage|nexmo`, `[A-Za-z0-9]{16}`, blend(16)),
	token(Rule{
		ID: "tm-wecom-webhook", Title: "WeCom webhook",
		Reason:   "A WeCom webhook: whoever has the address can post.",
		Keywords: []string{"qyapi.weixin.qq.com"},
		Pattern:  `qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=` + uuidPattern, Alphabet: `\w-`,
	}, text("qy"+"api.weixin.qq.com/cgi-bin/webhook/send?key="), uuid{}),
	token(Rule{
		ID: "tm-zapier-webhook", Title: "Zapier webhook",
		Reason:   "A Zapier webhook: whoever has the address can start a Zap.",
		Keywords: []string{"hooks.zapier.com"},
		Pattern:  `hooks\.zapier\.com/hooks/catch/\d{4,10}/[a-z0-9]{6,10}`,
	}, text("ho"+"oks.zapier.com/hooks/catch/"), digits(7), text("/"), lower(6)),
	labelled(Rule{
		ID: "tm-zoom-client-secret", Title: "Zoom client secret",
		Reason:   "A Zoom secret that signs an application in to meetings.",
		Keywords: []string{"zoom"},
		Entropy:  3.5, Filters: []Filter{mixed},
	}, "ZOOM_CLIENT_SECRET", `zoom`, `[A-Za-z0-9]{32}`, blend(32)),
}
