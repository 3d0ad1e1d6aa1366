import { createReadStream, createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import type { Command } from 'commander'
import { AppError, messageOf } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import { roleName } from '../../../domain/hooks.ts'
import { ITEM_KINDS, type ItemKind, type MemoryItem, type MemoryRecord, newRecord } from '../../../domain/memory.ts'
import { type MemoryBroker, openMemory } from '../../../memory/broker.ts'
import { type CommandContext, commandContext } from '../../context.ts'
import { confirm } from '../../input.ts'
import { optionParser, refuseInSession } from '../../options.ts'
import { counted } from '../../render/format.ts'
import { auditLines, itemLines, itemPage, policyLines, recordPage } from './memory-lines.ts'
import { addRememberCommands, keysOf, PROJECT_HELP, person, readerIn } from './remember.ts'

/** `pcc memory`: what was learned, and how to look at it, correct it and take it along. Works without the daemon. */
export function addMemoryCommand(program: Command): void {
  const memory = program
    .command('memory')
    .description('See, correct and export what was learned from earlier work; agents get what fits')

  memory
    .command('search', { isDefault: true })
    .description('Find what is known here; without words, the newest')
    .argument('[words...]', 'a question or some words')
    .option('--kind <kind>', `only ${ITEM_KINDS.join(', ')}`, kindOption)
    .option('--top <n>', 'show at most n', countOption, 10)
    .option('--all', 'of all projects, sessions and agents, and what is no longer true')
    .option('--stale', 'facts about files that have changed since: say them again, or pcc memory confirm them')
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async (words: string[], options: SearchOptions, command: Command) => {
      const context = await commandContext(command)
      if (options.all) refuseInSession(context.env, 'memory search --all')
      if (options.project !== undefined) refuseInSession(context.env, 'memory search --project …')
      const reader = options.all ? person() : await readerIn(context, options.project)
      using broker = openMemory(context.paths)
      broker.catchUp()
      const stale = options.all ? [] : await findStale(broker, options.project, reader.projects)
      const text = words.length === 0 ? undefined : words.join(' ')
      const kinds = options.kind && [options.kind]
      const found = options.stale
        ? stale.map(item => ({ item }))
        : broker.find({ reader, text, kinds, withEnded: options.all, limit: options.top })
      if (context.json) return print(context, { items: found })
      for (const line of itemLines(found, context.terminal)) context.out(line)
      if (found.length === 0) context.out(nothingFound(text, options))
      if (stale.length > 0 && !options.stale)
        context.note(`${counted(stale.length, 'fact')} about changed files left out: pcc memory search --stale`)
    })

  memory
    .command('show')
    .description('Show one item with everything that it is derived from, or one record')
    .argument('<id>', 'as pcc memory search shows it')
    .option('--json', 'print JSON')
    .action(async (id: string, _options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'memory show …')
      using broker = openMemory(context.paths)
      broker.catchUp()
      const item = broker.item(id, person())
      const records = (item?.records ?? [id]).flatMap(record => broker.record(record, person()) ?? [])
      if (!item && records.length === 0) throw new AppError('memory_unknown', { id: neutral(id) })
      if (context.json) return print(context, { item: item ?? null, records })
      const page = item ? itemPage(item, records, context.terminal) : records.flatMap(recordPage)
      for (const line of page) context.out(line)
    })

  addRememberCommands(memory)

  memory
    .command('forget')
    .description('Delete for good, from every file on this disk; it does not come back')
    .argument('[ids...]', 'items or records')
    .option('--containing <text>', 'every record that contains this text, in any project')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'print JSON')
    .action(async (ids: string[], options: { containing?: string; yes?: true }, command: Command) =>
      forgetAll(await commandContext(command), ids, options),
    )

  memory
    .command('export')
    .description('Write all records as lines of JSON')
    .argument('[file]', 'where to (default: standard output)')
    .option('--json', 'print JSON')
    .action(async (file: string | undefined, _options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'memory export')
      const { exportLines } = await import('../../../memory/exchange.ts')
      using broker = openMemory(context.paths)
      const target = file === undefined ? undefined : createWriteStream(resolve(file), { flags: 'wx', mode: 0o600 })
      let count = 0
      for (const line of exportLines(broker)) {
        count += 1
        if (target) target.write(`${line}\n`)
        else context.out(line)
      }
      if (!target) return
      await finished(target.end()).catch(error => refuseFile(error, 'memory export'))
      context.out(
        context.json
          ? JSON.stringify({ file: resolve(file ?? ''), records: count })
          : `Written: ${counted(count, 'record')}`,
      )
    })

  memory
    .command('import')
    .description('Read exported records. What this memory did not write itself counts as text from outside')
    .argument('<file>', 'as pcc memory export wrote it')
    .option('--json', 'print JSON')
    .action(async (file: string, _options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'memory import …')
      const { importLines } = await import('../../../memory/exchange.ts')
      using broker = openMemory(context.paths)
      const lines = createInterface({ input: createReadStream(resolve(file)) })
      const read = await importLines(broker, lines).catch(error => refuseFile(error, 'memory import'))
      const { stored, known, refused, lowered } = read
      if (context.json) return print(context, { stored: stored.length, known: known.length, lowered, refused })
      context.out(`Stored: ${counted(stored.length, 'record')}; ${known.length} were known or forgotten before.`)
      if (lowered > 0) context.out(`${lowered} of them count as text from outside: this memory did not write them.`)
      for (const { id, problem } of refused) context.note(`Refused: ${neutral(id)}: ${neutral(problem)}`)
    })

  memory
    .command('doctor')
    .description('Read the whole log and say what is wrong with it')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => audit(await commandContext(command), { rebuilds: false }))

  memory
    .command('rebuild')
    .description('Rebuild everything that is derived from the log, and convert lines of older versions')
    .option('--dry-run', 'only say what would be done')
    .option('--json', 'print JSON')
    .action(async ({ dryRun }: { dryRun?: true }, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'memory rebuild')
      return audit(context, { rebuilds: !dryRun })
    })

  memory
    .command('policy')
    .description('Show the thresholds and weights in force, and every change of them with its reason')
    .option('--revert <version>', 'undo a change; outcomes are counted anew from here', versionOption)
    .option(
      '--role <role>',
      'the values of agents with this role (AGENT_ROLE); by default of all, and where a role differs',
    )
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async ({ project, revert, role }: PolicyOptions, command: Command) => {
      const context = await commandContext(command)
      if (revert !== undefined) refuseInSession(context.env, 'memory policy --revert …')
      const { KNOBS, knob, policyFor, revertChange } = await import('../../../memory/learn/policy.ts')
      const projects = await keysOf(context, project)
      using broker = openMemory(context.paths)
      const read = () => broker.records('policy', { ...person(), agent: null, projects })
      if (revert !== undefined) {
        const change = revertChange(read(), revert)
        if (!change)
          throw new AppError('usage', { problem: `There is no version ${revert} here`, command: 'memory policy' })
        broker.write([newRecord({ kind: 'policy', time: Date.now(), actor: 'person', authority: 'person', ...change })])
      }
      const changes = read()
      const names = Object.keys(KNOBS) as (keyof typeof KNOBS)[]
      const valuesOf = (of: string | null) => {
        const values = policyFor(changes, { role: of, projects })
        return names.map(name => ({ name, role: of, value: knob(values, name), standard: KNOBS[name].standard }))
      }
      const all = valuesOf(role === undefined ? null : (roleName(role) ?? role))
      const roles = role === undefined ? new Set(changes.flatMap(change => change.role ?? [])) : []
      const rows = [...all, ...[...roles].flatMap(valuesOf).filter(row => !all.some(each => isSame(each, row)))]
      if (context.json) return print(context, { policy: rows, changes })
      for (const line of policyLines(rows, changes, context.terminal)) context.out(line)
    })

  memory
    .command('report')
    .description('Show what recall is worth: tasks with it against tasks without it, with intervals')
    .option('--json', 'print JSON')
    .action(async (_options: object, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'memory report')
      const { measureLift, renderLift } = await import('../../../memory/learn/lift.ts')
      using broker = openMemory(context.paths)
      broker.catchUp()
      const results = broker.records('result', person())
      await findStale(broker, '.', await keysOf(context))
      const { countLearned } = await import('../../../supervisor/memory/learner.ts')
      const coverage = (await countLearned(context.paths)) ?? null
      const items = broker.inspect(({ file }) => file.lessons())
      const lift = measureLift({ results, items, coverage, now: Date.now() })
      if (context.json) return print(context, lift)
      for (const line of renderLift(lift)) context.out(line)
    })
}

interface PolicyOptions {
  project?: string
  revert?: number
  role?: string
}

function isSame(one: { name: string; value: number }, other: { name: string; value: number }): boolean {
  return one.name === other.name && one.value === other.value
}

interface SearchOptions {
  kind?: ItemKind
  top: number
  all?: true
  stale?: true
  project?: string
}

function nothingFound(text: string | undefined, { stale, kind }: SearchOptions): string {
  if (stale) return 'No fact here is about a file that has changed.'
  if (text === undefined && kind === undefined) return 'Nothing is known here yet.'
  return 'Nothing fits. What is known here: pcc memory search'
}

const MOST_ERASE_MS = 30_000

/** `pcc memory forget` */
async function forgetAll(
  context: CommandContext,
  ids: string[],
  { containing, yes }: { containing?: string; yes?: true },
): Promise<void> {
  refuseInSession(context.env, 'memory forget …')
  if (ids.length === 0 && !containing)
    throw new AppError('usage', {
      problem: 'Say what to forget: ids, or --containing and a text',
      command: 'memory forget',
    })
  const { erase, findRecords, forget, recordsBehind } = await import('../../../memory/forget.ts')
  using broker = openMemory(context.paths)
  while (broker.drainOutbox()); // a hook may have written of it without the daemon
  broker.catchUp()
  for (const id of ids) if (!isThere(broker, id)) throw new AppError('memory_unknown', { id: neutral(id) })
  const what = ids.length > 0 ? ids.join(', ') : `all that contains "${containing}"`
  await confirm({ action: 'Forgetting', question: `Forget ${neutral(what)} for good?`, yes: yes === true })
  const part = JSON.stringify(containing ?? '').slice(1, -1)
  const containingIt = part === '' ? [] : findRecords(broker, record => JSON.stringify(record).includes(part))
  const named = ids.flatMap(id => recordsBehind(broker, id, person()))
  const forgotten = forget(broker, [...containingIt, ...named.map(({ id }) => id)])
  if (!erase(broker, { withinMs: MOST_ERASE_MS }))
    context.note('Another process reads the index just now; its upkeep erases the last of it.')
  context.out(
    context.json
      ? JSON.stringify({ forgotten })
      : `Forgotten: ${counted(forgotten.length, 'record')}. The events of sessions still hold what happened.`,
  )
}

function isThere(broker: MemoryBroker, id: string): MemoryItem | MemoryRecord | undefined {
  return broker.item(id, person()) ?? broker.record(id, person())
}

/** `pcc memory doctor` and `pcc memory rebuild` */
async function audit(context: CommandContext, { rebuilds }: { rebuilds: boolean }): Promise<void> {
  const { auditMemory, migrateLog } = await import('../../../memory/examine.ts')
  using broker = openMemory(context.paths)
  const converted = rebuilds ? migrateLog(broker).converted : 0
  const found = auditMemory(broker)
  if (context.json) print(context, { ...found, converted })
  else for (const line of auditLines(found, { converted, rebuilt: rebuilds })) context.out(line)
  if (found.damaged.length > 0 && !rebuilds) process.exitCode = 1
}

function print({ out }: CommandContext, value: unknown): void {
  out(JSON.stringify(value, null, 2))
}

function refuseFile(error: unknown, command: string): never {
  if (error instanceof AppError) throw error
  const { code, path = '' } = error as NodeJS.ErrnoException
  const problem = code === 'ENOENT' ? `${neutral(path)} does not exist` : neutral(messageOf(error))
  throw new AppError('usage', { problem: `The file cannot be used: ${problem}`, command }, error)
}

/** Looks at the files that the facts of a project speak of, and returns the facts whose files have changed. */
async function findStale(broker: MemoryBroker, project = '.', keys: readonly string[] = []): Promise<MemoryItem[]> {
  const { checkFacts } = await import('../../../supervisor/memory/about-files.ts')
  checkFacts(broker, { project: resolve(project), keys, now: Date.now(), withinMs: CHECK_MS })
  broker.catchUp()
  return broker.factsWithFiles(keys).filter(({ ended_by }) => ended_by === 'stale')
}

const CHECK_MS = 2_000

function kindOption(text: string): ItemKind {
  return optionParser(word => ITEM_KINDS.find(kind => kind === word), `It must be ${ITEM_KINDS.join(', ')}.`)(text)
}

const versionOption = optionParser(
  text => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined),
  'It must be a version, as pcc memory policy shows it.',
)

const countOption = optionParser(
  text => (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= 200 ? Number(text) : undefined),
  'It must be a number from 1 to 200.',
)
