import { join } from 'node:path'
import type { JournalEntry, PastAttempt } from '../../domain/attempt.ts'
import type { Note } from '../../knowledge/note.ts'
import { NOTES_FOLDER } from '../../knowledge/read-notes.ts'
import { type JournalForTask, tellsMore } from '../../tasks/journal.ts'
import type { BriefPiece, BriefSection } from './build-brief.ts'
import { countTokens, fenceText, firstTokens, stripInvisible } from './prompt-text.ts'

/** Most tokens of the section, and of one entry. */
const MAX_JOURNAL = 1_000
const MAX_ENTRY = 200
/** Tokens for the title, the lines around the entries, and the fences. */
const JOURNAL_OVERHEAD = 160
/** Most of the section for the latest entries, where others are more like the task. */
const RECENT_SHARE = 0.5
/** Files that are shown of an entry. */
const MAX_FILES = 8

/**
 * What happened before, from the journal: the newest entries of this run, and those of the project that are most like the task.
 * `quoted`: reports of other tasks that the brief contains elsewhere; they are not repeated here. Pure.
 */
export function journalSection(
  { recent, alike }: Pick<JournalForTask, 'recent' | 'alike'>,
  quoted: readonly string[] = [],
): BriefSection {
  const format = (entry: JournalEntry) => entryText(entry, quoted)
  const room = MAX_JOURNAL - JOURNAL_OVERHEAD
  const reserved = takeFitting(alike.map(format), room * (1 - RECENT_SHARE))
  const ofRun = takeFitting(recent.map(format), room - reserved.tokens)
  // The room that the latest entries leave free goes to the others.
  const ofProject = takeFitting(alike.map(format), room - ofRun.tokens)
  const omitted = recent.length + alike.length - ofRun.texts.length - ofProject.texts.length
  return {
    name: 'journal',
    title: 'What happened before',
    pieces: [
      ...group('In this run, the latest first:', ofRun.texts),
      ...group('Of the whole project, what is most like this task:', ofProject.texts),
      ...(omitted > 0 && omitted < recent.length + alike.length
        ? [{ text: `(${omitted} more are in the journal)` }]
        : []),
    ],
    tokens: MAX_JOURNAL,
    omitted: ofRun.dropped + ofProject.dropped,
    weight: 30,
  }
}

function group(text: string, entries: readonly string[]): BriefPiece[] {
  return entries.length === 0 ? [] : [{ text, verbatim: entries.join('\n\n') }]
}

/** As many texts as fit into the room, in their order. */
function takeFitting(texts: readonly string[], room: number): { texts: string[]; tokens: number; dropped: number } {
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

function entryText(entry: JournalEntry, quoted: readonly string[]): string {
  const { task_id, title, number, outcome, model, duration_ms, reason, files, files_more, notes } = entry
  const again = number > 1 ? `, attempt ${number}` : ''
  const how = [outcome, `in ${formatDuration(duration_ms)}`, ...(model ? [`with ${model}`] : [])].join(' ')
  const shown = files.slice(0, MAX_FILES)
  const more = files.length - shown.length + files_more
  const lines = [
    `${task_id} ${oneLine(title)}${again}: ${how}`,
    ...(shown.length > 0 ? [`changed: ${shown.map(oneLine).join(', ')}${more > 0 ? ` and ${more} more` : ''}`] : []),
    ...(reason && outcome === 'failed' ? [`why: ${oneLine(reason)}`] : []),
    ...(notes && tellsMore(entry) && !isQuoted(notes, quoted) ? [notes] : []),
  ]
  const text = stripInvisible(lines.join('\n'))
  return countTokens(text) <= MAX_ENTRY ? text : `${firstTokens(text, MAX_ENTRY - 2).trimEnd()} …`
}

/** Whether the brief contains the notes already: it quotes the report of a task that this one comes after. */
function isQuoted(notes: string, quoted: readonly string[]): boolean {
  const begin = notes.slice(0, 100)
  return quoted.some(text => text.includes(begin))
}

function formatDuration(ms: number): string {
  if (ms < 60_000) return 'under a minute'
  return ms < 5_400_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}

function oneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > 200 ? `${line.slice(0, 199).toWellFormed()}…` : line
}

/** Most tokens of the section, and of one note. */
const MAX_NOTES = 2_000
const MAX_NOTE = 700
/** Tokens for the title, the introduction, and the names of the notes that did not fit. */
const NOTES_OVERHEAD = 220
/** Most notes that are named because they did not fit. */
const MAX_NAMED = 5

/** The project's notes that concern the task, the most relevant first. Pure. */
export function notesSection(notes: readonly Note[]): BriefSection {
  const texts: string[] = []
  const omitted: { note: Note; tokens: number }[] = []
  let room = MAX_NOTES - NOTES_OVERHEAD
  for (const note of notes) {
    const whole = noteText(note)
    const text =
      countTokens(whole) <= MAX_NOTE ? whole : `${firstTokens(whole, MAX_NOTE - 25)} …\n(the rest is in the file)`
    const tokens = countTokens(fenceText(text)) + 2
    if (tokens > room) omitted.push({ note, tokens })
    else {
      texts.push(text)
      room -= tokens
    }
  }
  return {
    name: 'notes',
    title: 'Notes on this project',
    pieces: [
      ...texts.map((verbatim, index) => ({ ...(index === 0 && { text: NOTES_INTRO }), verbatim })),
      ...(omitted.length > 0 ? [{ text: omittedText(omitted.map(({ note }) => note)) }] : []),
    ],
    tokens: MAX_NOTES,
    omitted: omitted.reduce((sum, { tokens }) => sum + tokens, 0),
    weight: 35,
  }
}

const NOTES_INTRO =
  'Written by people and agents who worked here before. Check what you rely on: the project may have changed.'

function noteText({ file, title, tags, body }: Note): string {
  const about = tags.length > 0 ? ` [${tags.join(', ')}]` : ''
  return stripInvisible(`${title}${about}\n(${join(NOTES_FOLDER, file).replace(/\s+/g, ' ')})\n\n${body}`)
}

function omittedText(notes: readonly Note[]): string {
  const names = notes.slice(0, MAX_NAMED).map(({ file }) => JSON.stringify(stripInvisible(file)))
  const more = notes.length - names.length
  const all = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return `(Left out for length, in ${NOTES_FOLDER}: ${firstTokens(all, 120)})`
}

/** The failed attempts, the last one with all that was seen of it; `note` is advice for the next one (`retryPlan`). */
export function retrySection(history: readonly PastAttempt[], note: string | undefined): BriefSection {
  const failed = history.filter(({ outcome }) => outcome === 'failed')
  const last = failed.at(-1)
  return {
    name: 'retry report',
    title: 'It was tried before',
    pieces: last
      ? [...(note ? [{ text: note }] : []), ...lastFailure(last, failed.length), ...earlierFailures(failed)]
      : [],
    tokens: 6_000,
    weight: 70,
  }
}

function lastFailure({ number, reason, result, evidence = [] }: PastAttempt, count: number): BriefPiece[] {
  const times = count === 1 ? 'once' : `${count} times`
  const why = `It failed ${times}. Look at what exists already before you begin. Why attempt ${number} failed:`
  return [
    { text: why, verbatim: reason ?? 'no reason was given' },
    ...evidence.map(({ what, text }) => ({ text: `What ${what} said:`, verbatim: text })),
    ...(result ? [{ text: 'What the agent reported at its end:', verbatim: result }] : []),
  ]
}

/** Newest first: pieces are cut from the end. */
function earlierFailures(failed: readonly PastAttempt[]): BriefPiece[] {
  return failed
    .slice(0, -1)
    .reverse()
    .map(({ number, reason }) => ({
      text: `Why attempt ${number} failed:`,
      verbatim: reason ?? 'no reason was given',
    }))
}
