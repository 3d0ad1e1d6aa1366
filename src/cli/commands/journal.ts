import { resolve } from 'node:path'
import type { Command } from 'commander'
import { ownZone, PAST_TIMES } from '../../base/clock.ts'
import { neutral } from '../../base/neutral.ts'
import type { JournalEntry, JournalPage } from '../../domain/attempt.ts'
import { parseSince } from '../../tasks/schedules.ts'
import { openClient } from '../connection/client.ts'
import { commandContext } from '../context.ts'
import { optionParser } from '../options.ts'
import { ago, counted, duration, money, nameProjects } from '../render/format.ts'
import { cut, firstLine, type Terminal, type Tone, widthOf, wrap } from '../render/text.ts'

interface JournalOptions {
  run?: string
  task?: string
  since?: number
  limit: number
  project?: string
  all?: true
}

/** `pcc journal`: the result of every attempt, by run, task, time and words. */
export function addJournalCommand(program: Command): void {
  program
    .command('journal')
    .description('Show the result of every attempt: newest first, or the best match for some words')
    .argument('[words...]', 'only entries with all of these, in title, notes, reason or files')
    .option('--run <run>', 'only entries of this run')
    .option('--task <task>', 'only entries of this task')
    .option('--since <time>', `only since: ${PAST_TIMES}`, text => parseSince(text, ownZone(), Date.now()))
    .option('--limit <n>', 'show at most n entries', parseLimit, 20)
    .option('--project <path>', 'the project directory (default: this one)')
    .option('--all', 'entries of all projects')
    .option('--json', 'print JSON')
    .action(async (typed: string[], options: JournalOptions, command: Command) => {
      const { json, out, terminal, ...context } = await commandContext(command)
      const { run, task, since, limit, project, all } = options
      const words = typed.join(' ').trim()
      // A run or a task already determines its project.
      const inAnyProject = all === true || ((run ?? task) !== undefined && project === undefined)
      const query = new URLSearchParams({
        ...(inAnyProject ? {} : { project: resolve(project ?? '.') }),
        ...(run !== undefined && { run: run.toLowerCase() }),
        ...(task !== undefined && { task }),
        ...(words !== '' && { words }),
        ...(since !== undefined && { since: String(since) }),
        limit: String(limit),
      })
      const client = await openClient(context.paths, context)
      const page = await client.request<JournalPage>('GET', `/journal?${query}`)
      if (json) return out(JSON.stringify(page, null, 2))
      const search = { words, all: all === true, now: Date.now() }
      for (const line of journalLines(page, terminal, search)) out(line)
    })
}

const parseLimit = optionParser(
  text => (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= 1_000 ? Number(text) : undefined),
  'It must be a number from 1 to 1000.',
)

const OUTCOME_STYLES: Record<JournalEntry['outcome'], { glyph: string; tone: Tone }> = {
  done: { glyph: '✓', tone: 'green' },
  failed: { glyph: '✗', tone: 'red' },
  interrupted: { glyph: '■', tone: 'yellow' },
}

const INDENT = 2
/** Wider lines are hard to read, however wide the terminal is. */
const MAX_WIDTH = 100
/** How many lines of the notes and of the reason of an entry are shown; `--json` has all. */
const LINES_SHOWN = 6
const FILES_SHOWN = 4

export interface JournalFlags {
  words: string
  /** Entries of several projects are shown, so each names its own. */
  all: boolean
  now: number
}

/** The page of `pcc journal`: the entries, those of one run under its name. */
export function journalLines({ entries, total }: JournalPage, terminal: Terminal, search: JournalFlags): string[] {
  if (entries.length === 0) return [describeNoEntries(search)]
  let run: string | undefined
  const projectName = nameProjects(entries.map(({ project }) => project))
  const placeOf = ({ project }: JournalEntry) => (search.all ? ` of ${firstLine(projectName(project))}` : '')
  const lines = entries.flatMap(entry => {
    // A search mixes runs, so each entry names its own.
    const isNewRun = search.words === '' && entry.run_id !== run
    run = entry.run_id
    return [
      ...(isNewRun ? [terminal.paint('bold', `Run ${entry.run_id}${placeOf(entry)}`)] : []),
      ...entryLines(entry, terminal, { ...search, place: placeOf(entry) }),
      '',
    ]
  })
  const more = total - entries.length
  const rest =
    more > 0 ? [terminal.paint('dim', `${counted(more, 'more')}: --limit ${total}`.replace('mores', 'more'))] : []
  return [...lines.slice(0, -1), ...(rest.length > 0 ? ['', ...rest] : [])]
}

function describeNoEntries({ words, all }: JournalFlags): string {
  if (words !== '') return `Nothing in the journal matches "${neutral(words)}".`
  const where = all ? '' : ' of this project'
  return `Nothing is in the journal${where} yet: every attempt of a run is recorded when it ends. Begin one with: pcc run .`
}

/** `place`: the project in words, where entries of several are shown. */
type EntryFlags = JournalFlags & { place: string }

function entryLines(entry: JournalEntry, terminal: Terminal, search: EntryFlags): string[] {
  const { paint } = terminal
  const width = Math.min(terminal.width, MAX_WIDTH)
  const { glyph, tone } = OUTCOME_STYLES[entry.outcome]
  const facts = describeFacts(entry, search)
  const head = `${entry.task_id} ${firstLine(entry.title)}${entry.number > 1 ? ` (attempt ${entry.number})` : ''}`
  const room = width - INDENT - widthOf(facts) - 2
  const isOneLine = widthOf(head) <= room
  return [
    `${paint(tone, glyph)} ${isOneLine ? head : cut(head, width - INDENT)}${isOneLine ? `  ${paint('dim', facts)}` : ''}`,
    ...(isOneLine ? [] : [paint('dim', indent(facts))]),
    ...(entry.reason && entry.outcome !== 'done' ? textLines(entry.reason, width).map(line => paint(tone, line)) : []),
    ...fileLines(entry, width, paint),
    ...(entry.notes ? textLines(entry.notes, width) : []),
  ]
}

/** `2h ago, took 3m 12s, $0.42, sonnet` */
function describeFacts(
  { ended_at, duration_ms, cost_usd, agents, model, run_id, iteration }: JournalEntry,
  search: EntryFlags,
): string {
  const place = search.words === '' ? [] : [`${run_id} #${iteration}${search.place}`]
  const shown = [
    ago(search.now - ended_at),
    duration(duration_ms),
    money(cost_usd),
    ...(agents.join() === 'claude' || agents.length === 0 ? [] : [firstLine(agents.join(', then '))]),
    ...(model ? [firstLine(model)] : []),
    ...place,
  ]
  return shown.join(' · ')
}

function fileLines({ files, files_more }: JournalEntry, width: number, paint: Terminal['paint']): string[] {
  if (files.length === 0) return []
  const shown = files.slice(0, FILES_SHOWN).map(firstLine).join(', ')
  const more = files.length - FILES_SHOWN + files_more
  return [paint('cyan', indent(cut(`${shown}${more > 0 ? ` and ${more} more` : ''}`, width - INDENT)))]
}

function textLines(text: string, width: number): string[] {
  const lines = wrap(
    neutral(text)
      .replace(/\n{2,}/g, '\n')
      .trim(),
    width - INDENT,
  )
  return [...lines.slice(0, LINES_SHOWN), ...(lines.length > LINES_SHOWN ? ['…'] : [])].map(indent)
}

function indent(line: string): string {
  return ' '.repeat(INDENT) + line
}
