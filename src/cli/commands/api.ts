import { resolve } from 'node:path'
import type { Command } from 'commander'
import { dateTime } from '../../base/clock.ts'
import type { ApiKeyView, NewApiKey } from '../../domain/access.ts'
import { SCOPES } from '../../domain/option-values.ts'
import { openClient } from '../connection/client.ts'
import { type CommandContext, commandContext } from '../context.ts'
import { optionParser, refuseInSession } from '../options.ts'
import { ago } from '../render/format.ts'
import { boxTable, type Cell } from '../render/list-table.ts'
import { cut, firstLine } from '../render/text.ts'

/** `pcc api keys`: the keys with which other programs speak to the daemon. */
export function addApiCommand(program: Command): void {
  const api = program.command('api').description('Let other programs speak to the daemon')
  const keys = api.command('keys').description('Make, list, replace and revoke the keys of other programs')

  keys
    .command('create')
    .description('Make a key; it is shown once, and only its hash is stored')
    .requiredOption('--scope <scope>', `${SCOPES.join(', ')}; each includes the ones before`, scopeOption)
    .option('--name <name>', 'shown beside what the key changes (default: its id)')
    .option('--project <path>', 'only for this project')
    .option('--system <name>', 'only on the machine with this name')
    .option('--expires <time>', 'until then: 12h, 30d, 8w, 2027-01-31', expiryOption)
    .option('--json', 'print JSON')
    .action(async (options: CreateOptions, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'api keys create')
      const { scope, name, project, system, expires } = options
      const wanted = {
        ...{ scope, name, system, expires_at: expires },
        project: project === undefined ? undefined : resolve(project),
      }
      const client = await openClient(context.paths, context)
      showSecret(context, await client.request<NewApiKey>('POST', '/api-keys', wanted))
    })

  keys
    .command('list')
    .description('List the keys, with what they may do and when they were last used')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => {
      const context = await commandContext(command)
      const client = await openClient(context.paths, context)
      const listed = await client.request<{ keys: ApiKeyView[] }>('GET', '/api-keys')
      if (context.json) return context.out(JSON.stringify(listed, null, 2))
      for (const line of keyLines(listed.keys, context, Date.now())) context.out(line)
    })

  keys
    .command('revoke')
    .description('Revoke a key for good')
    .argument('<key>', 'its id or its name')
    .option('--json', 'print JSON')
    .action(async (ref: string, _options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'api keys revoke …')
      const client = await openClient(context.paths, context)
      const path = `/api-keys/${encodeURIComponent(ref)}/revoke`
      const { key } = await client.request<{ key: ApiKeyView }>('POST', path, {})
      context.out(context.json ? JSON.stringify({ key }, null, 2) : `Revoked: ${key.name} (${key.id}).`)
    })

  keys
    .command('rotate')
    .description('Give a key a new secret; the old one stops working at once')
    .argument('<key>', 'its id or its name')
    .option('--expires <time>', 'until then: 12h, 30d, 8w, 2027-01-31 (default: as before)', expiryOption)
    .option('--json', 'print JSON')
    .action(async (ref: string, { expires }: { expires?: number }, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'api keys rotate …')
      const client = await openClient(context.paths, context)
      const path = `/api-keys/${encodeURIComponent(ref)}/rotate`
      showSecret(context, await client.request<NewApiKey>('POST', path, { expires_at: expires }))
    })
}

interface CreateOptions {
  scope: string
  name?: string
  project?: string
  system?: string
  expires?: number
}

const scopeOption = optionParser(
  text => SCOPES.find(scope => scope === text),
  `It must be one of ${SCOPES.join(', ')}.`,
)

const UNIT_MS = { h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 }

/** A time from now on: a duration, or the beginning of a day. */
const expiryOption = optionParser(text => {
  const [, count, unit] = /^(\d{1,4})(h|d|w)$/.exec(text) ?? []
  if (count !== undefined) return Date.now() + Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00`) : Number.NaN
  return Number.isNaN(day) ? undefined : day
}, 'It must be a time such as 12h, 30d, 8w or 2027-01-31.')

/** The secret is on standard output alone, so that a script can take it; all about it is on standard error. */
function showSecret({ json, out, note }: CommandContext, made: NewApiKey): undefined {
  if (json) return void out(JSON.stringify(made, null, 2))
  const { id, name, scope, project, system } = made.key
  const only = [project, system].filter(part => part !== null).join(' on ')
  const where = only === '' ? '' : ` Only for ${only}.`
  note(`The key ${name === id ? id : `${name} (${id})`} may ${SCOPE_MEANS[scope]}.${where} It is shown only now:`)
  out(made.secret)
  note(`Send it with each request as "Authorization: Bearer <key>". Revoke it with: pcc api keys revoke ${name}`)
}

const SCOPE_MEANS = {
  read: 'look at everything',
  work: 'look at everything, and write and run tasks',
  decide: 'look at everything, write and run tasks, and answer for you, dangerous requests included',
  admin: 'do everything that you may',
} as const

const WIDEST_PROJECT = 40

export function keyLines(keys: ApiKeyView[], { terminal }: Pick<CommandContext, 'terminal'>, now: number): string[] {
  if (keys.length === 0) return ['There are no keys. Make one with: pcc api keys create --scope read']
  const headings = ['Id', 'Name', 'Scope', 'For', 'Made', 'Expires', 'Last used', 'State']
  return boxTable({ headings, rows: keys.map(key => keyRow(key, now)), terminal, giveWay: [[3, 8]] })
}

function keyRow(key: ApiKeyView, now: number): Cell[] {
  const { id, name, scope, project, system, created_at, expires_at, last_used_at, state } = key
  const places = [project && cut(firstLine(project), WIDEST_PROJECT), system && `on ${firstLine(system)}`]
  return [
    ...[id, name, scope].map(text => ({ text })),
    { text: places.filter(Boolean).join(', ') || 'everything' },
    { text: dateTime(created_at) },
    { text: expires_at === null ? 'never' : dateTime(expires_at) },
    { text: last_used_at === null ? 'never' : ago(now - last_used_at) },
    state === 'valid' ? { text: state } : { text: state, tone: 'dim' },
  ]
}
