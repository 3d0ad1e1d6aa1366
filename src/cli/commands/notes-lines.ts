import { join, resolve } from 'node:path'
import { AppError } from '../../base/errors.ts'
import type { BrokenNote, Note } from '../../knowledge/note.ts'
import { NOTES_FOLDER, type NotesRead, readNotes } from '../../knowledge/read-notes.ts'
import { ago } from '../render/format.ts'
import { cut, firstLine, neutral, pad, type Terminal, widthOf, wrap } from '../render/text.ts'

/** Lines are for reading: wider ones are not, whatever the terminal has. */
const WIDEST = 100

export interface ListedNotes {
  notes: readonly Note[]
  /** What was looked for; empty where all are listed. */
  words: string
  now: number
}

/** One line a note: title, tags, who wrote it and when; below it how the text begins. */
export function noteLines({ notes, words, now }: ListedNotes, { paint, width }: Terminal): string[] {
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

/** The notes of the project that a person means. */
export function notesIn(project: string | undefined): NotesRead & { project: string } {
  const path = resolve(project ?? '.')
  return { project: path, ...readNotes(path) }
}

type Named = { note: Note } | { broken: BrokenNote }

/** The one note, or broken file, that a person names: by its file, its title, or a beginning of either that fits only one. */
export function noteNamed(ref: string, { notes, broken }: NotesRead): Named {
  const wanted = fold(ref.replace(/^.*\//, ''))
  const all: { names: string[]; found: Named }[] = [
    ...notes.map(note => ({ names: [note.file, bare(note.file), note.title].map(fold), found: { note } })),
    ...broken
      .filter(({ file }) => file !== '.')
      .map(each => ({ names: [each.file, bare(each.file)].map(fold), found: { broken: each } })),
  ]
  const exact = all.filter(({ names }) => names.includes(wanted))
  const near = exact.length > 0 ? exact : all.filter(({ names }) => names.some(name => name.startsWith(wanted)))
  const [only, ...others] = wanted === '' ? [] : near
  if (!only) throw new AppError('note_unknown', { ref: neutral(ref), folder: NOTES_FOLDER })
  if (others.length > 0) {
    const matches = near.slice(0, 8).map(({ found }) => neutral('note' in found ? found.note.file : found.broken.file))
    throw new AppError('note_ambiguous', { ref: neutral(ref), matches: matches.join(', ') })
  }
  return only.found
}

function bare(file: string): string {
  return file.replace(/\.md$/i, '')
}

function fold(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim()
}

/** A note as `--json` shows it. */
export function noteView({ file, title, tags, feature, by, task, created_at, updated_at, body }: Note) {
  return {
    file: join(NOTES_FOLDER, file),
    ...{ title, tags, feature: feature ?? null, by, task: task ?? null },
    ...{ created_at: created_at ?? null, updated_at: updated_at ?? created_at ?? null, body },
  }
}
