package report

// Ids and names from the data that MITRE publishes, version 5.6.0 (April 2026).
var atlas = framework{
	name: "MITRE ATLAS techniques", edition: "data version 5.6.0",
	url:  "https://github.com/mitre-atlas/atlas-data",
	note: "Only techniques that pass through an agent's tools are listed.",
	items: []item{
		{
			"AML.T0051.001", "LLM Prompt Injection: Indirect",
			[]controlID{cFlow, cApproval},
			"What injected text names is untrusted as a destination.",
			"The injection is not detected.",
		},
		{
			"AML.T0053", "AI Agent Tool Invocation",
			[]controlID{cPolicy, cLimits},
			"Which tools are called, with what and how often, is bounded.",
			"Tools that do not pass the gateway.",
		},
		{
			"AML.T0086", "Exfiltration via AI Agent Tool Invocation",
			[]controlID{cFlow, cApproval},
			"A destination from untrusted output is refused, one that nobody vouched for is asked about.",
			"Exfiltration to a destination that is trusted.",
		},
		{
			"AML.T0101", "Data Destruction via AI Agent Tool Invocation",
			[]controlID{cLimits, cPaths, cApproval},
			"Deletions have budgets, write paths are confined, and contracts can ask each time.",
			"Tools without such a contract.",
		},
		{
			"AML.T0057", "LLM Data Leakage",
			[]controlID{cFlow, cRedact},
			"Values with the label secret are not sent without a question.",
			"What the model tells its user.",
		},
		{
			"AML.T0085.001", "Data from AI Services: AI Agent Tools",
			[]controlID{cPolicy},
			"Rules say which reading tools there are.",
			"Reads that are allowed are not measured.",
		},
		{
			"AML.T0098", "AI Agent Tool Credential Harvesting",
			[]controlID{cPolicy, cFlow},
			"Rules refuse the tools or paths that hold credentials; what was read can only be sent to known destinations.",
			"Credentials in output are not removed from it.",
		},
		{
			"AML.T0099", "AI Agent Tool Data Poisoning",
			[]controlID{cFlow},
			"Whatever a tool returns is untrusted unless a contract says otherwise.",
			"Poisoned facts that name no destination.",
		},
		{
			"AML.T0080", "AI Agent Context Poisoning",
			[]controlID{cFlow},
			"A poisoned context cannot make its destinations trusted within the session.",
			"Memory that the client keeps.",
		},
		{
			"AML.T0110", "AI Agent Tool Poisoning",
			[]controlID{cPins},
			"Changed descriptions and parameters are refused.",
			"Changed behaviour behind the same definition.",
		},
		{
			"AML.T0109", "AI Supply Chain Rug Pull",
			[]controlID{cPins},
			"A later version that lists other tools is refused until it was looked at.",
			"A later version that lists the same tools.",
		},
		{
			"AML.T0081", "Modify AI Agent Configuration",
			[]controlID{cPaths, cRecord},
			"The gateway's own files and the files in which clients name their servers lie inside no write path, and each record names the digest of the policy that decided.",
			"Such files of projects that the gateway does not know, and writers that are not behind it, such as the agent's own shell.",
		},
		{
			"AML.T0034.002", "Cost Harvesting: Agentic Resource Consumption",
			[]controlID{cLimits},
			"Budgets and rates bound calls.",
			"The model's own cost.",
		},
	},
}
