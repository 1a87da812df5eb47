package report

// showCovered says in plain words what a gateway of this kind can and cannot do.
func (b *builder) showCovered() []block {
	blocks := []block{
		{sub: "Covered"},
		{list: []line{
			say("Calls that go through the gateway: tools, resources and prompts, each decided before it is forwarded, by rules that give the same verdict for the same history."),
			say("Where a destination comes from: one that first appeared in what a tool returned does not decide where data, money or access goes, unless a person says so."),
			say("Where a server's tool may write, where its contract names the parameter and the directories."),
			say("Tool definitions that change after they were pinned."),
			say("A record of every verdict, redacted before it is written and chained by hashes."),
		}},
		{sub: "Not covered"},
		{list: []line{
			say("What does not pass the gateway: an agent's own shell, file access, browser or other servers of the client."),
			say("What a model says, thinks or believes. Injected text still reaches the agent; what the gateway judges is the call that follows."),
			say("Whether content is true, lawful or polite, and personal data in content that goes to a destination that is allowed."),
			say("What a server does with a call that was allowed, and what it does without any call."),
			say("Reads: a tool that only reads can show the agent anything that it may read, unless a rule constrains it."),
			say("Texts that are paraphrased: the check of copied content finds words taken over word for word."),
			say("Another program that changes a path between the check and the server's write. For a remote or container server paths are compared as they are written, without following links."),
			say("Somebody who may edit the configuration, or replace the program: they decide what is guarded."),
			say("Records cut off the log's end, without an older hash to compare with."),
		}},
	}
	var here []line
	if b.in.Log == nil {
		here = append(here, say("No log was read, so no control below has evidence."))
	}
	if len(b.in.Tools) == 0 {
		here = append(here, say("No list of tools was given: contracts of packs and the fallback, unused tools and rules that match nothing are not judged."))
	} else if b.in.FromPins {
		here = append(here, say("The tools are those that were pinned, which may not be all that the servers list today."))
	}
	if l := b.in.Log; l != nil && (!l.Since.IsZero() || !l.Until.IsZero()) {
		here = append(here, say("Only a part of the log is counted: see the days looked at."))
	}
	for _, p := range b.in.Policies {
		if b.dry(p) {
			here = append(here, join(say("The policy "), val(p.Name()), say(" runs dry and stops nothing.")))
		}
	}
	if b.in.Config.Audit.DropArguments {
		here = append(here, say("The log holds no arguments (include_arguments: false)."))
	}
	here = append(here, say("Denials are listed by the newest of each check; older ones are counted and not listed."))
	return append(blocks, block{sub: "Limits of this pack"}, block{list: here})
}
