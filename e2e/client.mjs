// Drives one MCP server with an official TypeScript SDK client, as told by a JSON
// script on stdin, and prints a JSON report on stdout.
//
// script: { sdk: "1" | "2", pin?: VERSION, command, args, env | url, headers, elicit?: ANSWER, rounds: [[STEP, …], …] }
// STEP:   { list: true } | { tool, args, digest?: true }
// The steps of one round run at the same time. report: { protocol, asked: [TEXT, …], answers: [[…], …] };
// with elicit the client declares elicitation, answers each question with it, and reports
// the questions' messages.
// an answer is the result, or { thrown: TEXT }. A digest stands for results too large to
// print: the SHA-256 and length of the first text and of structuredContent.content.
import { createHash } from "node:crypto";
import { text } from "node:stream/consumers";

const script = JSON.parse(await text(process.stdin));
const info = { name: "e2e-typescript", version: "1" };
const server = {
  command: script.command,
  args: script.args,
  env: script.env,
  stderr: "inherit",
  maxBufferSize: 128 * 1024 * 1024,
};

const http = ({ StreamableHTTPClientTransport }) =>
  new StreamableHTTPClientTransport(new URL(script.url), { requestInit: { headers: script.headers } });

const capabilities = script.elicit ? { elicitation: {} } : {};
const asked = [];
const answer = async (request) => {
  asked.push(request.params.message);
  return script.elicit;
};

async function connect() {
  if (script.sdk === "2") {
    const { Client } = await import("@modelcontextprotocol/client");
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    const mode = script.pin ? { pin: script.pin } : "auto";
    const client = new Client(info, { capabilities, versionNegotiation: { mode } });
    if (script.elicit) client.setRequestHandler("elicitation/create", answer);
    await client.connect(script.url ? http(await import("@modelcontextprotocol/client")) : new StdioClientTransport(server));
    return [client, client.getNegotiatedProtocolVersion?.()];
  }
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const client = new Client(info, { capabilities });
  if (script.elicit) {
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    client.setRequestHandler(ElicitRequestSchema, answer);
  }
  if (script.url) {
    const transport = http(await import("@modelcontextprotocol/sdk/client/streamableHttp.js"));
    await client.connect(transport);
    return [client, transport.protocolVersion];
  }
  const transport = new StdioClientTransport(server);
  let protocol;
  transport.setProtocolVersion = (version) => { protocol = version; };
  await client.connect(transport);
  return [client, protocol];
}

const digest = (s) =>
  typeof s === "string"
    ? { sha256: createHash("sha256").update(s).digest("hex"), bytes: Buffer.byteLength(s) }
    : null;

async function step(client, s) {
  try {
    if (s.list) return await client.listTools();
    const result = await client.callTool({ name: s.tool, arguments: s.args });
    if (!s.digest) return result;
    return {
      isError: result.isError ?? false,
      text: digest(result.content?.[0]?.text),
      structured: digest(result.structuredContent?.content),
    };
  } catch (e) {
    return { thrown: String(e) };
  }
}

const [client, protocol] = await connect();
const answers = [];
for (const round of script.rounds) {
  answers.push(await Promise.all(round.map((s) => step(client, s))));
}
await client.close();
process.stdout.write(JSON.stringify({ protocol, asked, answers }));
