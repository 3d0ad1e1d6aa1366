import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeApi } from '../src/daemon/api/openapi.ts'
import { API_PATH, type ApiRoute } from '../src/domain/api-v1/route.ts'
import { API_ROUTES, EVENT_STREAM } from '../src/domain/api-v1/routes.ts'
import { EVENT_BODIES } from '../src/domain/event.ts'
import { ROOT } from './places.ts'

/** The description of the API for programs, as `docs/openapi.json` has it. */
export function apiDocument(): string {
  return `${formatJson(describeApi(), LINES_DOWN_TO)}\n`
}

/** One line for each route and each named schema: a change of one is one line of a diff. */
const LINES_DOWN_TO = 3

function formatJson(value: unknown, levels: number): string {
  if (levels === 0 || typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  const indent = ' '.repeat(LINES_DOWN_TO - levels + 1)
  const rows = Object.entries(value).map(
    ([name, part]) => `${indent}${JSON.stringify(name)}: ${formatJson(part, levels - 1)}`,
  )
  return `{\n${rows.join(',\n')}\n${indent.slice(1)}}`
}

/** Builds docs/api.md from the routes. `npm run docs` writes it; a test compares the two. */
export function apiPage(): string {
  const routes = [...Object.entries(API_ROUTES), ['followEvents', EVENT_STREAM] as const] as [string, ApiRoute][]
  const nouns = [...new Set(routes.map(([, { noun }]) => noun))]
  const sections = nouns.map(noun =>
    section(
      noun,
      routes.filter(([, route]) => route.noun === noun),
    ),
  )
  return `${HEAD}\n\n${sections.join('\n\n')}\n\n${FOOT}\n\n${eventKinds()}\n`
}

function section(noun: string, routes: [string, ApiRoute][]): string {
  const rows = routes.map(([name, route]) =>
    [`\`${name}\``, `\`${route.method} ${route.path}\``, route.scope, cell(`${route.summary}${remarks(route)}`)].join(
      ' | ',
    ),
  )
  return `## ${noun}\n\n| name | route | scope | what it does |\n|---|---|---|---|\n${rows.map(row => `| ${row} |`).join('\n')}`
}

function remarks({ creates, versioned, guardedBy, reach, query, body }: ApiRoute): string {
  const names = [...Object.keys(query?.shape ?? {})].filter(name => name !== 'cursor')
  return [
    ...(names.length > 0 ? [`Query: ${names.map(name => `\`${name}\``).join(', ')}.`] : []),
    ...(body && reach === 'body' ? ['`project` is in the body.'] : []),
    ...(creates ? ['Takes `Idempotency-Key`.'] : []),
    ...(versioned ? ['Has an `ETag`.'] : []),
    ...(guardedBy ? ['Takes `If-Match`.'] : []),
    ...(reach === 'whole' ? ['Not with a key that is for one project.'] : []),
  ]
    .map(text => ` ${text}`)
    .join('')
}

/** What a stream or a webhook can be filtered by. */
function eventKinds(): string {
  const rows = Object.entries(EVENT_BODIES)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([kind, body]) =>
        `| \`${kind}\` | ${'shape' in body ? Object.keys(body.shape).join(', ') : `one of several, by \`${body.def.discriminator}\``} |`,
    )
  return `## Kinds of events\n\n| kind | fields of its body |\n|---|---|\n${rows.join('\n')}`
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}

const HEAD = `# The API for other programs

The daemon answers other programs over HTTP: on its Unix socket always, and over TCP after

\`\`\`bash
pcc daemon api on
pcc api keys create --scope work
curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8765${API_PATH}/tasks
\`\`\`

All paths below begin with \`${API_PATH}\`. \`${API_PATH}/openapi.json\` describes every field (OpenAPI 3.1); [openapi.json](openapi.json) is
a copy. This page is made by \`npm run docs\` from \`src/domain/api-v1\`; a test keeps the two in step.

A client whose types come from the same schemas is in the package: \`import { openApiClient } from 'perpetualcc/client'\`. It needs nothing but
\`fetch\`, so it runs in a page too.

## Who may what

Every request needs a key or a JSON web token in \`Authorization: Bearer …\`. There are no cookies and no CORS headers, so a web page
has nothing to ride on. The scopes include one another: \`read\`, \`work\`, \`decide\`, \`admin\`. A key that is for one project may leave
\`project\` out; other projects do not exist for it. Every change is in the audit log under the name of the key.

Processes of agents, of gates and of the daemon itself are refused whatever key they have: the daemon looks who is at the other end of
a connection from this machine. A program of another user of this machine cannot be identified and is refused too.

Agents get the environment of the shell in which you typed \`pcc daemon api on\`, not one from the request; with \`api.enabled\` alone it is
that of the daemon, and keys of vendors come from \`agents.secret_env\`. What widens the rights of an agent (its command line, tools that are
allowed from the start, other settings) can only be given at your own terminal.

## Where it listens

On \`127.0.0.1:8765\` (\`api.host\`, \`api.port\`), only after \`pcc daemon api on\` or with \`api.enabled\`. Another address needs a key, and
TLS: your own certificate (\`api.tls_cert\`, \`api.tls_key\`), or proxies that add it (\`api.trusted_proxies\`). With proxies, only they are
answered, and a request that one of them forwards from this machine itself is refused, because nobody can say whether an agent sent it.
The Host header must be the address, \`localhost\` or one of \`api.hosts\`. An Origin header other than its own is refused.

Hooks, tools of agents (MCP) and \`/internal/spawn-agent\`, \`/internal/kill-agent\` and \`/internal/agent-status\` are on the Unix socket
only.

## How requests and replies look

- Bodies are JSON, at most a megabyte (8 MB where a long text is expected, 16 MB for an import), nested at most 64 times.
- Lists come in pages: \`{"items": […], "next": "…"}\`. Send \`next\` as \`cursor\` to get the next page; \`null\` means there is none.
- Errors are \`application/problem+json\` with a \`code\` of [errors.md](errors.md), and \`next\`, which says what to do.
- A create takes \`Idempotency-Key\`: the same key with the same body gets the first reply again, for a day. With another body it answers
  422; after a daemon that died in the middle it answers 409, because nobody knows how far it came.
- What can be changed has an \`ETag\` where it is read. A change with \`If-Match\` answers 412 if it has changed since. What an agent uses
  and says meanwhile (tokens, cost, its last line) and the time of the reading are no change. For a task this is checked within the change,
  for the rest right before it. A read of a task, feature, decision, worktree or merge with \`If-None-Match\` answers 304.
- 429 comes with \`Retry-After\`: more than \`api.requests_per_minute\` of one key, more than \`tasks.queue_size\` open tasks in a project, or
  more than \`api.max_streams\` event streams.
- A request must be there within a minute, its head within ten seconds.`

const FOOT = `## How the stream of events works

\`\`\`bash
curl -N -H "Authorization: Bearer $KEY" "http://127.0.0.1:8765${API_PATH}/events?kind=task.*,run.ended"
\`\`\`

Each event has an \`id\`. A client that reconnects sends the last one as \`Last-Event-ID\` and gets everything since, then what comes.
\`kind\` takes several with commas between; \`task.*\` means all that begin so. With \`project\`, only events whose subject
is a session, task, run, feature or schedule of that project, or a conversation that hooks observed there, are sent; those of the daemon are left
out. A client that has a megabyte to read and does not read it is disconnected. A stream ends within twenty
seconds when its key is revoked.`

if (import.meta.main) {
  writeFileSync(join(ROOT, 'docs/api.md'), apiPage())
  writeFileSync(join(ROOT, 'docs/openapi.json'), apiDocument())
}
