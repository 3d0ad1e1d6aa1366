import { join } from 'node:path'
import type { JournalEntry, PastAttempt } from '../../domain/attempt.ts'
import type { Note } from '../../knowledge/note.ts'
import { NOTES_FOLDER } from '../../knowledge/read-notes.ts'
import type { JournalForTask } from '../../tasks/journal.ts'
import type { BriefPiece, BriefSection } from './build-brief.ts'
import { countTokens, fenceText, firstTokens, stripInvisible } from './prompt-text.ts'

/** The whole section, and what one entry may take of it. */
const JOURNAL_MOST = 3_000
const JOURNAL_MOST_OF_ONE = 300
/** Title, words around the entries and fences. */
const JOURNAL_AROUND = 160
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
  const room = JOURNAL_MOST - JOURNAL_AROUND
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
    tokens: JOURNAL_MOST,
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
    const tokens = countTokens(text) + 1
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
    ...(notes && !isRepeated(notes, told) ? [notes] : []),
  ]
  const text = stripInvisible(lines.join('\n'))
  return countTokens(text) <= JOURNAL_MOST_OF_ONE ? text : `${firstTokens(text, JOURNAL_MOST_OF_ONE - 2).trimEnd()} …`
}

/** The last words of a task that this one comes after stand in the brief already. */
function isRepeated(notes: string, told: readonly string[]): boolean {
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

/** The whole section, and what one note may take of it. */
const NOTES_MOST = 2_000
const NOTES_MOST_OF_ONE = 700
/** Title, the words above the notes, and the names of those that had no room. */
const NOTES_AROUND = 220
/** Notes that are named where they had no room. */
const NAMED = 5

/** What is known about the project that has to do with the task: notes in the order of how near they are. Pure. */
export function notesSection(notes: readonly Note[]): BriefSection {
  const texts: string[] = []
  const left: { note: Note; tokens: number }[] = []
  let room = NOTES_MOST - NOTES_AROUND
  for (const note of notes) {
    const whole = noteLines(note)
    const text =
      countTokens(whole) <= NOTES_MOST_OF_ONE
        ? whole
        : `${firstTokens(whole, NOTES_MOST_OF_ONE - 25)} …\n(the rest stands in the file)`
    const tokens = countTokens(fenceText(text)) + 2
    if (tokens > room) left.push({ note, tokens })
    else {
      texts.push(text)
      room -= tokens
    }
  }
  return {
    name: 'notes',
    title: 'Notes on this project',
    pieces: [
      ...texts.map((verbatim, index) => ({ ...(index === 0 && { text: WHAT }), verbatim })),
      ...(left.length > 0 ? [{ text: leftText(left.map(({ note }) => note)) }] : []),
    ],
    tokens: NOTES_MOST,
    omitted: left.reduce((sum, { tokens }) => sum + tokens, 0),
    weight: 35,
  }
}

const WHAT =
  'Written down by people and agents who worked here before. Check what you rely on: the project may have moved on.'

function noteLines({ file, title, tags, body }: Note): string {
  const about = tags.length > 0 ? ` [${tags.join(', ')}]` : ''
  return stripInvisible(`${title}${about}\n(${join(NOTES_FOLDER, file).replace(/\s+/g, ' ')})\n\n${body}`)
}

function leftText(notes: readonly Note[]): string {
  const names = notes.slice(0, NAMED).map(({ file }) => JSON.stringify(stripInvisible(file)))
  const more = notes.length - names.length
  const all = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return `(Left out for want of room, in ${NOTES_FOLDER}: ${firstTokens(all, 120)})`
}

/** What failed before, the last attempt with everything that was seen of it; `note` is a word of advice (`retryPlan`). */
export function retrySection(history: readonly PastAttempt[], note: string | undefined): BriefSection {
  const failed = history.filter(({ outcome }) => outcome === 'failed')
  const last = failed.at(-1)
  return {
    name: 'retry report',
    title: 'It was tried before',
    pieces: last ? [...(note ? [{ text: note }] : []), ...lastOne(last, failed.length), ...earlier(failed)] : [],
    tokens: 6_000,
    weight: 70,
  }
}

function lastOne({ number, reason, result, evidence = [] }: PastAttempt, count: number): BriefPiece[] {
  const times = count === 1 ? 'once' : `${count} times`
  const why = `It failed ${times}. Look at what is there already before you begin. Why attempt ${number} failed:`
  return [
    { text: why, verbatim: reason ?? 'no reason was given' },
    ...evidence.map(({ what, text }) => ({ text: `What ${what} said:`, verbatim: text })),
    ...(result ? [{ text: 'What the agent reported at its end:', verbatim: result }] : []),
  ]
}

/** Newest first: they are cut from the end. */
function earlier(failed: readonly PastAttempt[]): BriefPiece[] {
  return failed
    .slice(0, -1)
    .reverse()
    .map(({ number, reason }) => ({
      text: `Why attempt ${number} failed:`,
      verbatim: reason ?? 'no reason was given',
    }))
}
