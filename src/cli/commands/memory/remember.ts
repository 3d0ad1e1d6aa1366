import { resolve } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../../base/errors.ts'
import { neutral } from '../../../base/neutral.ts'
import { roleName } from '../../../domain/hooks.ts'
import {
  FACT_CATEGORIES,
  type MemoryReader,
  type MemoryRecord,
  newRecord,
  PATTERN_TYPE,
  type Trigger,
} from '../../../domain/memory.ts'
import { type MemoryBroker, openMemory } from '../../../memory/broker.ts'
import { itemIdsOf } from '../../../memory/learn/apply-record.ts'
import { findFault } from '../../../memory/learn/triggers.ts'
import { type CommandContext, commandContext } from '../../context.ts'
import { optionParser, refuseInSession } from '../../options.ts'

export const PROJECT_HELP = 'the project directory (default: this one)'

/** `pcc memory remember` and `pcc memory confirm`: what a person says. */
export function addRememberCommands(memory: Command): void {
  memory
    .command('remember')
    .description('Tell memory something; it counts more than anything that agents or gates say')
    .argument('<text...>', 'one thing, in a sentence or two')
    .option(
      '--about <subject>',
      'what it is about; an earlier fact about the same no longer holds (default: its first words)',
    )
    .option('--category <word>', `${FACT_CATEGORIES.join(', ')}`, categoryOption, 'convention')
    .option(
      '--file <path...>',
      'a file that it speaks of, besides those that it names: it counts until the file changes',
    )
    .option('--no-files', 'it stays valid when the files that it names change')
    .option('--when <pattern>', 'only if a line of the task, prompt or question matches; * matches anything')
    .option('--when-regex <pattern>', 'the same, with a regular expression that matches the whole line')
    .option('--role <role...>', 'only for agents with this role (AGENT_ROLE)', roleOption)
    .option('--global', 'for all projects')
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async (words: string[], options: RememberOptions, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'memory remember …')
      const text = words.join(' ').trim()
      if (text === '') refuse('There is nothing to remember: the text is empty')
      const trigger = triggerIn(options)
      const of = options.global ? '' : (await keysOf(context, options.project))[0]
      const record = newRecord({
        ...{ time: Date.now(), actor: 'person', authority: 'person', importance: 0.8, confidence: 1 },
        ...{ scope: of === '' ? 'global' : 'project', of, acl: { roles: options.role ?? [], shared_at: null } },
        ...(trigger
          ? { kind: 'procedure', event_type: PATTERN_TYPE, trigger, action: text }
          : await factIn(text, options)),
      })
      using broker = openMemory(context.paths)
      const { refused } = broker.write([record])
      if (refused[0]) refuse(refused[0].problem)
      if (context.json) return context.out(JSON.stringify({ id: record.id }))
      context.out(`Remembered: ${record.id}`)
      const before = replacedBy(record, broker)
      if (before !== undefined) context.out(`It holds instead of: ${neutral(before)}`)
      const files = record.kind === 'fact' ? record.about.map(({ path }) => neutral(path)) : []
      if (files.length > 0) context.out(`It counts until one of these changes: ${files.join(', ')}`)
      if (trigger) context.out(`It is told where a line matches ${neutral(trigger.text)}`)
    })

  memory
    .command('confirm')
    .description('Say that a fact still holds, with your word and for its files as they are now')
    .argument('<id>', 'as pcc memory search --stale shows it')
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async (id: string, { project = '.' }: { project?: string }, command: Command) => {
      const context = await commandContext(command)
      refuseInSession(context.env, 'memory confirm …')
      const { filesAbout } = await import('../../../supervisor/memory/about-files.ts')
      using broker = openMemory(context.paths)
      broker.catchUp()
      const item = broker.item(id, person())
      if (item?.kind !== 'fact') throw new AppError('memory_unknown', { id: neutral(id) })
      const { scope, of, acl, text, subject, type } = item
      const names = item.about.map(({ path }) => path)
      const record = newRecord({
        ...{ kind: 'fact', time: Date.now(), actor: 'person', authority: 'person', importance: 0.8, confidence: 1 },
        ...(item.home === null ? { scope, of } : { scope: 'project', of: item.home }),
        ...{ acl, text, subject: subject ?? text.slice(0, 100), source: 'a person' },
        category: categoryOption(type),
        about: filesAbout(resolve(project), '', names).about,
      })
      broker.write([record])
      context.out(context.json ? JSON.stringify({ id: record.id }) : `Confirmed: ${record.id}`)
    })
}

/** What was said before about the subject of a fact, and no longer holds. */
function replacedBy(record: MemoryRecord, broker: MemoryBroker): string | undefined {
  const item = broker.item(itemIdsOf(record)[0] ?? '', person())
  return item?.records[0] === record.id ? item.past.find(({ closed_at }) => closed_at === record.time)?.text : undefined
}

interface RememberOptions {
  about?: string
  category: (typeof FACT_CATEGORIES)[number]
  file?: string[]
  files: boolean
  when?: string
  whenRegex?: string
  role?: string[]
  global?: true
  project?: string
}

/** The pattern of a person, checked. A text without a * or ? stands for every line that contains it. */
function triggerIn({ when, whenRegex, about, file }: RememberOptions): Trigger | undefined {
  if (when === undefined && whenRegex === undefined) return undefined
  if (when !== undefined && whenRegex !== undefined) refuse('--when and --when-regex exclude each other')
  if (about !== undefined || file) refuse('What has a pattern is about what matches it: leave --about and --file out')
  const glob = when !== undefined && !/[*?]/.test(when) ? `*${when.trim()}*` : (when ?? '')
  const trigger: Trigger = whenRegex === undefined ? { kind: 'glob', text: glob } : { kind: 'regex', text: whenRegex }
  const fault = /^\**$/.test(glob) && whenRegex === undefined ? 'it matches everything' : findFault(trigger)
  return fault === undefined ? trigger : refuse(`The pattern ${neutral(trigger.text)} cannot be used: ${fault}`)
}

async function factIn(text: string, { category, about: subject = text.slice(0, 100), ...options }: RememberOptions) {
  const { filesAbout } = await import('../../../supervisor/memory/about-files.ts')
  const project = resolve(options.project ?? '.')
  const named = (options.file ?? []).map(file => resolve(file))
  const { about, missing } = filesAbout(project, options.files ? text : '', named)
  if (missing[0] !== undefined) refuse(`There is no file ${neutral(missing[0])} in ${neutral(project)}`)
  return { kind: 'fact', category, subject, text, source: 'a person', about: options.global ? [] : about } as const
}

function refuse(problem: string): never {
  throw new AppError('usage', { problem, command: 'memory remember' })
}

export function person(): MemoryReader {
  return { agent: 'person', role: null, session: null, projects: [], now: Date.now() }
}

/** Sees what a session in the project would see. */
export async function readerIn({ paths }: CommandContext, project: string | undefined): Promise<MemoryReader> {
  return { ...person(), agent: null, projects: await keysOf({ paths }, project) }
}

export async function keysOf({ paths }: Pick<CommandContext, 'paths'>, project = '.'): Promise<[string, ...string[]]> {
  const [{ projectKeys }, { git }] = await Promise.all([
    import('../../../memory/project-keys.ts'),
    import('../../../workspace/git/git.ts'),
  ])
  return projectKeys(resolve(project), git, { in: paths.memory, onlyReads: true })
}

function categoryOption(text: string): (typeof FACT_CATEGORIES)[number] {
  return optionParser(
    word => FACT_CATEGORIES.find(each => each === word),
    `It must be ${FACT_CATEGORIES.join(', ')}.`,
  )(text)
}

/** Commander passes what the option had before. */
function roleOption(text: string, before: readonly string[] = []): string[] {
  return [...before, optionParser(roleName, 'It must be a name, for example conductor.')(text)]
}
