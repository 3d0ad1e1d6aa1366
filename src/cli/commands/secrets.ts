import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import type { StoredSecret } from '../../base/secrets/secrets.ts'
import type { CheckedSecret } from '../../domain/api.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { openSecrets } from '../../domain/config/open-secrets.ts'
import { namedSecrets } from '../../domain/config/secret-references.ts'
import { findClient } from '../connection/client.ts'
import { type CommandContext, commandContext, ExitCode } from '../context.ts'
import { confirm, openPrompter, type Prompter, readStandardInput } from '../input.ts'
import { refuseInSession } from '../options.ts'

/** `pcc secrets …`: keys and tokens that settings name by `secret:NAME`. No subcommand prints a value, and none takes one as an argument. */
export function addSecretsCommand(program: Command): void {
  const secrets = program.command('secrets').description('Keep keys and tokens encrypted, and name them in settings')
  secrets
    .command('set <name>')
    .description('Store a value; it is asked for, or read from standard input')
    .option('--json', 'print JSON')
    .action(async (name: string, _options: object, command: Command) => setSecret(name, await commandContext(command)))
  secrets
    .command('list')
    .description('List the names, where each is kept, and which settings use it')
    .option('--check', 'also say whether each can be read (exit code 1 if one cannot)')
    .option('--json', 'print JSON')
    .action(async ({ check }: { check?: boolean }, command: Command) =>
      listSecrets(check === true, await commandContext(command)),
    )
  secrets
    .command('remove <name>')
    .description('Remove a value for good')
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .action(async (name: string, { yes }: { yes?: boolean }, command: Command) =>
      removeSecret(name, yes === true, await commandContext(command)),
    )
  secrets
    .command('unlock')
    .description('Give the running daemon the passphrase of the encrypted file')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => unlock(await commandContext(command)))
}

async function setSecret(name: string, context: CommandContext): Promise<void> {
  const { json, out, note } = context
  refuseInSession(context.env, `secrets set ${name}`)
  await tellDaemon(context)
  const atTerminal = process.stdin.isTTY === true
  const person = atTerminal ? await openPrompter(`Setting ${name}`) : undefined
  const value = person ? await person.secret(`Value of ${name} (hidden)`) : await readValue('secrets set')
  const secrets = openSecrets(context)
  const stored = await secrets.set(name, value).catch(async (error: unknown) => {
    if (!person || !(error instanceof AppError) || error.code !== 'secrets_locked') throw error
    await secrets.unlock(await askPassphrase(person, { name, isNew: secrets.keySource() === undefined }))
    return secrets.set(name, value)
  })
  await tellDaemon(context)
  if (stored.note !== undefined) note(`It is not in the keyring: ${stored.note}.`)
  if (json) return out(JSON.stringify({ name, in: stored.in }))
  out(`${name} is stored in ${PLACES[stored.in]}. Name it in a setting: secret:${name}`)
}

/** Below this a passphrase is guessed, whatever a guess costs. */
const SHORTEST_PASSPHRASE = 12

async function askPassphrase(person: Prompter, { name, isNew }: { name: string; isNew: boolean }): Promise<string> {
  const passphrase = await person.secret(isNew ? 'A passphrase for the new file of secrets' : 'Passphrase')
  if (!isNew) return passphrase
  const problem =
    passphrase.length < SHORTEST_PASSPHRASE
      ? `the passphrase has fewer than ${SHORTEST_PASSPHRASE} characters`
      : (await person.secret('The same again')) === passphrase
        ? undefined
        : 'the two passphrases differ'
  if (problem !== undefined) throw new AppError('secret_invalid', { name, problem })
  return passphrase
}

/** Without the line end that `echo` and editors add. */
async function readValue(command: string): Promise<string> {
  return (await readStandardInput(command)).replace(/\r?\n$/, '')
}

const PLACES = { file: 'the encrypted file', keyring: 'the keyring', command: 'secrets.command' } as const

interface ListedSecret {
  name: string
  in: StoredSecret['in'] | 'command' | null
  set_at: number | null
  used_by: string[]
  /** Only with `--check`: why it cannot be read. */
  problem?: string | null
}

async function listSecrets(check: boolean, context: CommandContext): Promise<void> {
  const { json, out } = context
  if (check) refuseInSession(context.env, 'secrets list --check')
  const { config } = await loadConfig(context)
  const stored = new Map(
    openSecrets(context)
      .list()
      .map(each => [each.name, each]),
  )
  const users = new Map<string, string[]>(namedSecrets(config))
  for (const given of config.agents.secret_env) {
    const name = given.slice(given.indexOf('=') + 1)
    users.set(name, [...(users.get(name) ?? []), `agents.secret_env (${given.slice(0, given.indexOf('='))})`])
  }
  const names = [...new Set([...stored.keys(), ...users.keys()])].sort()
  const checked = new Map((check ? await checkAll(names, context) : []).map(each => [each.name, each]))
  const listed = names.map((name): ListedSecret => {
    const found = checked.get(name)
    const where = stored.get(name)?.in ?? found?.in ?? null
    const at = stored.get(name)?.at ?? null
    return {
      name,
      in: where,
      set_at: at,
      used_by: users.get(name) ?? [],
      ...(check && { problem: found?.problem ?? null }),
    }
  })
  if (json) out(JSON.stringify({ secrets: listed }, null, 2))
  else if (listed.length === 0)
    out('No secret is stored, and no setting names one. Store one with: pcc secrets set NAME')
  else for (const secret of listed) for (const line of secretLines(secret, check)) out(line)
  if (listed.some(({ problem }) => typeof problem === 'string')) throw new ExitCode(1)
}

/** The daemon reads them, so what it says counts; without one, this process looks. */
async function checkAll(names: string[], context: CommandContext): Promise<CheckedSecret[]> {
  const client = await findClient(context.paths)
  if (client) return (await client.request<{ secrets: CheckedSecret[] }>('POST', '/secrets/check', { names })).secrets
  const secrets = openSecrets(context)
  return Promise.all(
    names.map(async name => {
      const found = await secrets.lookUp(name)
      return 'problem' in found ? { name, in: null, problem: found.problem } : { name, in: found.in, problem: null }
    }),
  )
}

function secretLines({ name, in: where, set_at, used_by, problem }: ListedSecret, checked: boolean): string[] {
  const place = where === null ? 'not stored here' : `in ${PLACES[where]}`
  const since = set_at === null ? '' : `, set ${new Date(set_at).toISOString().slice(0, 10)}`
  const state = !checked ? '' : problem === null ? ', can be read' : ''
  return [
    `${name}  ${place}${since}${state}`,
    ...(typeof problem === 'string' ? [`  cannot be read: ${problem}`] : []),
    `  used by: ${used_by.length > 0 ? used_by.join(', ') : 'nothing'}`,
  ]
}

async function removeSecret(name: string, yes: boolean, context: CommandContext): Promise<void> {
  const { json, out, note } = context
  refuseInSession(context.env, `secrets remove ${name}`)
  await tellDaemon(context)
  const secrets = openSecrets(context)
  if (!secrets.list().some(each => each.name === name))
    throw new AppError('secret_missing', { name: JSON.stringify(name) })
  await confirm({ action: `Removing the secret ${name}`, question: `Remove the secret ${name}?`, yes })
  await secrets.remove(name)
  await tellDaemon(context)
  out(json ? JSON.stringify({ name }) : `${name} is removed.`)
  const users = namedSecrets((await loadConfig(context)).config).get(name) ?? []
  if (users.length > 0) note(`${users.join(', ')} still names it.`)
}

/** Lets a running daemon forget what it has read. It refuses agents, and then nothing is written. */
async function tellDaemon({ paths }: CommandContext): Promise<void> {
  await (await findClient(paths))?.request('POST', '/secrets/forget', {})
}

async function unlock(context: CommandContext): Promise<void> {
  const { paths, json, out } = context
  refuseInSession(context.env, 'secrets unlock')
  const client = await findClient(paths)
  if (!client) throw new AppError('daemon_unreachable', { home: paths.home, problem: 'it is not running' })
  const passphrase =
    process.stdin.isTTY === true
      ? await (await openPrompter('Unlocking the secrets')).secret('Passphrase')
      : await readValue('secrets unlock')
  await client.request('POST', '/secrets/unlock', { passphrase })
  out(json ? JSON.stringify({ unlocked: true }) : 'The daemon can read the file of secrets until it stops.')
}
