import { join } from 'node:path'
import type { Note } from '../../knowledge/notes/note.ts'
import { NOTES_FOLDER } from '../../knowledge/notes/read-notes.ts'
import type { BriefSection } from './build-brief.ts'
import { fenced, visible } from './fence.ts'
import { firstTokens, tokensOf } from './tokens.ts'

/** The whole section, and what one note may take of it. */
const MOST = 2_000
const MOST_OF_ONE = 700
/** Title, the words above the notes, and the names of those that had no room. */
const AROUND = 220
/** Notes that are named where they had no room. */
const NAMED = 5

/** What is known about the project that has to do with the task: notes in the order of how near they are. Pure. */
export function notesSection(notes: readonly Note[]): BriefSection {
  const texts: string[] = []
  const left: { note: Note; tokens: number }[] = []
  let room = MOST - AROUND
  for (const note of notes) {
    const whole = noteLines(note)
    const text =
      tokensOf(whole) <= MOST_OF_ONE
        ? whole
        : `${firstTokens(whole, MOST_OF_ONE - 25)} …\n(the rest stands in the file)`
    const tokens = tokensOf(fenced(text)) + 2
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
    tokens: MOST,
    omitted: left.reduce((sum, { tokens }) => sum + tokens, 0),
    weight: 35,
  }
}

const WHAT =
  'Written down by people and agents who worked here before. Check what you rely on: the project may have moved on.'

function noteLines({ file, title, tags, body }: Note): string {
  const about = tags.length > 0 ? ` [${tags.join(', ')}]` : ''
  return visible(`${title}${about}\n(${join(NOTES_FOLDER, file).replace(/\s+/g, ' ')})\n\n${body}`)
}

function leftText(notes: readonly Note[]): string {
  const names = notes.slice(0, NAMED).map(({ file }) => JSON.stringify(visible(file)))
  const more = notes.length - names.length
  const all = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return `(Left out for want of room, in ${NOTES_FOLDER}: ${firstTokens(all, 120)})`
}
