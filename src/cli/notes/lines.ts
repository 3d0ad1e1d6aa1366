import { join } from 'node:path'
import type { BrokenNote, Note } from '../../knowledge/notes/note.ts'
import { NOTES_FOLDER } from '../../knowledge/notes/read-notes.ts'
import { ago } from '../render/format.ts'
import type { Terminal } from '../render/paint.ts'
import { cut, firstLine, neutral, pad, widthOf, wrap } from '../render/text.ts'

/** Lines are for reading: wider ones are not, whatever the terminal has. */
const WIDEST = 100

export interface Listed {
  notes: readonly Note[]
  /** What was looked for; empty where all are listed. */
  words: string
  now: number
}

/** One line a note: title, tags, who wrote it and when; below it how the text begins. */
export function noteLines({ notes, words, now }: Listed, { paint, width }: Terminal): string[] {
  if (notes.length === 0) return [words === '' ? NOTHING : `No note has to do with "${neutral(words)}".`]
  const most = Math.min(width, WIDEST)
  return notes.flatMap((note, index) => {
    const tags = note.tags.map(tag => `#${firstLine(tag)}`).join(' ')
    const by = whoAndWhen(note, now)
    const title = cut(firstLine(note.title), Math.max(20, most - widthOf(by) - 2))
    const gap = Math.max(2, most - widthOf(title) - widthOf(by))
    const isWide = Number.isFinite(width)
    return [
      ...(index === 0 ? [] : ['']),
      `${paint('bold', isWide ? pad(title, widthOf(title) + gap) : `${title}  `)}${paint('dim', by)}`,
      `  ${paint('dim', firstLine(note.file))}${tags === '' ? '' : `  ${paint('cyan', cut(tags, Math.max(10, most - widthOf(note.file) - 4)))}`}`,
      ...wrap(inline(note), most - 2)
        .slice(0, 2)
        .map((line, at, lines) => `  ${line}${at === 1 && lines.length === 2 && isLonger(note, most) ? ' …' : ''}`),
    ]
  })
}

const NOTHING = 'No notes yet. Write one down with: pcc notes add "a title" "what is worth knowing" --tags one,two'

/** A note in full. */
export function notePage(note: Note, { paint, width }: Terminal, now: number): string[] {
  const { title, tags, feature, file, body } = note
  const facts = [
    ...(tags.length > 0 ? [tags.map(tag => `#${firstLine(tag)}`).join(' ')] : []),
    ...(feature === undefined ? [] : [`feature ${firstLine(feature)}`]),
    whoAndWhen(note, now),
    firstLine(join(NOTES_FOLDER, file)),
  ]
  const most = Math.min(width, WIDEST)
  return [
    paint('bold', firstLine(title)),
    ...wrap(facts.join(' · '), most).map(line => paint('dim', line)),
    '',
    ...wrap(neutral(body), most),
  ]
}

/** What lies among the notes and is none. */
export function brokenLines(broken: readonly BrokenNote[], { paint }: Terminal): string[] {
  return broken.map(({ file, problem }) => {
    const name = file === '.' ? NOTES_FOLDER : join(NOTES_FOLDER, file)
    return `${paint('yellow', 'warning:')} ${firstLine(name)} is left out: ${firstLine(problem)}`
  })
}

/** The text on one line, headings as sentences. */
function inline({ body }: Note): string {
  return neutral(body)
    .replace(/^#+\s+(.*)$/gm, '$1:')
    .replace(/\s+/g, ' ')
}

function isLonger(note: Note, most: number): boolean {
  return wrap(inline(note), most - 2).length > 2
}

function whoAndWhen({ by, task, updated_at, created_at }: Note, now: number): string {
  const time = Date.parse(updated_at ?? created_at ?? '')
  const who = by === 'agent' ? `agent${task ? ` of ${firstLine(task)}` : ''}` : 'person'
  return Number.isNaN(time) ? who : `${who}, ${ago(now - time)}`
}
