import { basename } from 'node:path'
import type { JournalEntry, JournalPage } from '../../domain/runs/journal.ts'
import { ago, counted, duration, money } from '../render/format.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { cut, firstLine, neutral, widthOf, wrap } from '../render/text.ts'

const LOOKS: Record<JournalEntry['outcome'], { glyph: string; tone: Tone }> = {
  done: { glyph: '✓', tone: 'green' },
  failed: { glyph: '✗', tone: 'red' },
  interrupted: { glyph: '■', tone: 'yellow' },
}

const INDENT = 2
/** Lines are for reading: wider ones are not, whatever the terminal has. */
const WIDEST = 100
/** Of the notes and of the reason of one entry; --json has all. */
const LINES_SHOWN = 6
const FILES_SHOWN = 4

export interface Asked {
  words: string
  /** Of several projects: each entry says which. */
  all: boolean
  now: number
}

/** `pcc journal`: entry by entry, those of one run under its name. */
export function journalLines({ entries, total }: JournalPage, terminal: Terminal, asked: Asked): string[] {
  if (entries.length === 0) return [nothing(asked)]
  let run: string | undefined
  const lines = entries.flatMap(entry => {
    // A search mixes the runs: there each entry says its own.
    const isNew = asked.words === '' && entry.run_id !== run
    run = entry.run_id
    return [...(isNew ? [runLine(entry, terminal, asked)] : []), ...entryLines(entry, terminal, asked), '']
  })
  const more = total - entries.length
  const rest =
    more > 0 ? [terminal.paint('dim', `${counted(more, 'more')}: --limit ${total}`.replace('mores', 'more'))] : []
  return [...lines.slice(0, -1), ...(rest.length > 0 ? ['', ...rest] : [])]
}

function nothing({ words, all }: Asked): string {
  if (words !== '') return `Nothing in the journal has to do with "${neutral(words)}".`
  const where = all ? '' : ' of this project'
  return `Nothing is in the journal${where} yet: every attempt of a run is written down when it ends. Begin one with: pcc run .`
}

function runLine({ run_id, project }: JournalEntry, { paint }: Terminal, { all }: Asked): string {
  return paint('bold', `Run ${run_id}${all ? ` of ${firstLine(basename(project))}` : ''}`)
}

function entryLines(entry: JournalEntry, terminal: Terminal, asked: Asked): string[] {
  const { paint } = terminal
  const width = Math.min(terminal.width, WIDEST)
  const { glyph, tone } = LOOKS[entry.outcome]
  const facts = factsOf(entry, asked)
  const head = `${entry.task_id} ${firstLine(entry.title)}${entry.number > 1 ? ` (attempt ${entry.number})` : ''}`
  const room = width - INDENT - widthOf(facts) - 2
  const isOneLine = widthOf(head) <= room
  return [
    `${paint(tone, glyph)} ${isOneLine ? head : cut(head, width - INDENT)}${isOneLine ? `  ${paint('dim', facts)}` : ''}`,
    ...(isOneLine ? [] : [paint('dim', indented(facts))]),
    ...(entry.reason && entry.outcome !== 'done' ? textLines(entry.reason, width).map(line => paint(tone, line)) : []),
    ...filesLine(entry, width, paint),
    ...(entry.notes ? textLines(entry.notes, width) : []),
  ]
}

/** `2h ago, took 3m 12s, $0.42, sonnet` */
function factsOf(
  { ended_at, duration_ms, cost_usd, agents, model, run_id, iteration, project }: JournalEntry,
  asked: Asked,
): string {
  const place =
    asked.words === '' ? [] : [`${run_id} #${iteration}${asked.all ? ` of ${firstLine(basename(project))}` : ''}`]
  const shown = [
    ago(asked.now - ended_at),
    duration(duration_ms),
    money(cost_usd),
    ...(agents.join() === 'claude' || agents.length === 0 ? [] : [firstLine(agents.join(', then '))]),
    ...(model ? [firstLine(model)] : []),
    ...place,
  ]
  return shown.join(' · ')
}

function filesLine({ files, files_more }: JournalEntry, width: number, paint: Terminal['paint']): string[] {
  if (files.length === 0) return []
  const shown = files.slice(0, FILES_SHOWN).map(firstLine).join(', ')
  const more = files.length - FILES_SHOWN + files_more
  return [paint('cyan', indented(cut(`${shown}${more > 0 ? ` and ${more} more` : ''}`, width - INDENT)))]
}

function textLines(text: string, width: number): string[] {
  const lines = wrap(
    neutral(text)
      .replace(/\n{2,}/g, '\n')
      .trim(),
    width - INDENT,
  )
  return [...lines.slice(0, LINES_SHOWN), ...(lines.length > LINES_SHOWN ? ['…'] : [])].map(indented)
}

function indented(line: string): string {
  return ' '.repeat(INDENT) + line
}
