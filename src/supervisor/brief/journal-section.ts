import type { JournalEntry } from '../../domain/runs/journal.ts'
import type { JournalForTask } from '../../tasks/journal/for-task.ts'
import type { BriefPiece, BriefSection } from './build-brief.ts'
import { visible } from './fence.ts'
import { firstTokens, tokensOf } from './tokens.ts'

/** The whole section, and what one entry may take of it. */
const MOST = 3_000
const MOST_OF_ONE = 300
/** Title, words around the entries and fences. */
const AROUND = 160
/** What entries of this run take at most where earlier ones have something to tell too. */
const SHARE_OF_RECENT = 0.6
/** Of an entry's files. */
const FILES_SHOWN = 8

/**
 * What happened before, from the journal: the newest of this run, and those of earlier runs that are most like the task. `told`: what
 * the brief says of other tasks elsewhere; the same words are not said twice. Pure.
 */
export function journalSection({ recent, alike }: JournalForTask, told: readonly string[] = []): BriefSection {
  const draw = (entry: JournalEntry) => entryText(entry, told)
  const room = MOST - AROUND
  const second = fitting(alike.map(draw), room * (1 - SHARE_OF_RECENT))
  const first = fitting(recent.map(draw), room - second.tokens)
  // What the run itself left free goes to the others.
  const rest = fitting(alike.map(draw), room - first.tokens)
  const left = recent.length + alike.length - first.texts.length - rest.texts.length
  return {
    name: 'journal',
    title: 'What happened before',
    pieces: [
      ...group('In this run, the latest first:', first.texts),
      ...group('In earlier runs, what is most like this task:', rest.texts),
      ...(left > 0 && left < recent.length + alike.length ? [{ text: `(${left} more are in the journal)` }] : []),
    ],
    tokens: MOST,
    omitted: first.dropped + rest.dropped,
    weight: 30,
  }
}

function group(text: string, entries: readonly string[]): BriefPiece[] {
  return entries.length === 0 ? [] : [{ text, verbatim: entries.join('\n\n') }]
}

/** As many texts as have room, in their order. */
function fitting(texts: readonly string[], room: number): { texts: string[]; tokens: number; dropped: number } {
  const taken = { texts: [] as string[], tokens: 0, dropped: 0 }
  let isFull = false
  for (const text of texts) {
    const tokens = tokensOf(text) + 1
    isFull ||= taken.tokens + tokens > room
    if (isFull) taken.dropped += tokens
    else {
      taken.texts.push(text)
      taken.tokens += tokens
    }
  }
  return taken
}

function entryText(entry: JournalEntry, told: readonly string[]): string {
  const { task_id, title, number, outcome, model, duration_ms, reason, files, files_more, notes } = entry
  const again = number > 1 ? `, attempt ${number}` : ''
  const how = [outcome, `in ${minutes(duration_ms)}`, ...(model ? [`with ${model}`] : [])].join(' ')
  const shown = files.slice(0, FILES_SHOWN)
  const more = files.length - shown.length + files_more
  const lines = [
    `${task_id} ${oneLine(title)}${again}: ${how}`,
    ...(shown.length > 0 ? [`changed: ${shown.map(oneLine).join(', ')}${more > 0 ? ` and ${more} more` : ''}`] : []),
    ...(reason && outcome === 'failed' ? [`why: ${oneLine(reason)}`] : []),
    ...(notes && !isTold(notes, told) ? [notes] : []),
  ]
  const text = visible(lines.join('\n'))
  return tokensOf(text) <= MOST_OF_ONE ? text : `${firstTokens(text, MOST_OF_ONE - 2).trimEnd()} …`
}

/** The last words of a task that this one comes after stand in the brief already. */
function isTold(notes: string, told: readonly string[]): boolean {
  const begin = notes.slice(0, 100)
  return told.some(text => text.includes(begin))
}

function minutes(ms: number): string {
  if (ms < 60_000) return 'under a minute'
  return ms < 5_400_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}

function oneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > 200 ? `${line.slice(0, 199).toWellFormed()}…` : line
}
