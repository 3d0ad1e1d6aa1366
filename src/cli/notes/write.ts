import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../base/errors.ts'
import { exclusively } from '../../base/files/exclusively.ts'
import { NOTES_FOLDER, notesLock } from '../../knowledge/notes/read-notes.ts'
import { type Recorded, recordNote } from '../../knowledge/notes/record-note.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import { confirm } from '../confirm.ts'
import type { Context } from '../context.ts'
import { neutral } from '../render/text.ts'
import { standardInput } from '../tasks/standard-input.ts'
import { openEditor, writtenText } from './edit.ts'
import { noteNamed, notesIn } from './find.ts'
import { noteView } from './view.ts'

interface NewNote {
  title: string
  text: string | undefined
  tags?: string[]
  feature?: string
  apart?: true
  project?: string
}

/** `pcc notes add` */
export async function addNote(context: Context, given: NewNote): Promise<void> {
  const { env, json, out, places } = context
  refuseInSession(env, 'notes add …')
  const { title, tags = [], feature, apart } = given
  const body = await bodyOf(given.text, env)
  const { project } = notesIn(given.project)
  const recorded = recordNote(
    { title, tags: tags.flatMap(each => each.split(',')), body, ...(feature !== undefined && { feature }) },
    { project, by: 'person', apart, lockFile: notesLock(places), now: Date.now() },
  )
  if (recorded.did === 'refused') throw new AppError('note_refused', { title: neutral(title), why: recorded.why })
  out(json ? JSON.stringify(recorded) : wordsFor(recorded))
}

/** `pcc notes edit` */
export async function editNote(
  context: Context,
  { ref, project }: { ref: string; project: string | undefined },
): Promise<void> {
  refuseInSession(context.env, 'notes edit …')
  const found = notesIn(project)
  const named = noteNamed(ref, found)
  const file = 'note' in named ? named.note.file : named.broken.file
  if ('broken' in named && /link|plain file|larger/.test(named.broken.problem))
    throw new AppError('note_broken', named.broken)
  openEditor(join(found.directory, file), context.env)
  const now = noteNamed(file, notesIn(project))
  if ('broken' in now) throw new AppError('note_broken', { ...now.broken })
  context.out(context.json ? JSON.stringify(noteView(now.note)) : `Saved: ${neutral(now.note.title)} (${shown(file)})`)
}

/** `pcc notes rm` */
export async function removeNote(
  context: Context,
  { ref, project, yes }: { ref: string; project: string | undefined; yes: boolean },
): Promise<void> {
  refuseInSession(context.env, 'notes rm …')
  const found = notesIn(project)
  const named = noteNamed(ref, found)
  const { file, title } = 'note' in named ? named.note : { ...named.broken, title: named.broken.file }
  await confirm({ action: 'Deleting a note', question: `Delete "${neutral(title)}" (${shown(file)})?`, yes })
  exclusively(notesLock(context.places), () => rmSync(join(found.directory, file)))
  context.out(context.json ? JSON.stringify({ deleted: join(NOTES_FOLDER, file) }) : `Deleted: ${shown(file)}`)
}

async function bodyOf(text: string | undefined, env: Context['env']): Promise<string> {
  if (text === '-') return standardInput('notes add')
  if (text !== undefined) return text
  if (!process.stdin.isTTY)
    throw new AppError('usage', { problem: 'Say what is worth knowing, or - to read it', command: 'notes add' })
  return writtenText(env)
}

function wordsFor({ did, file, title }: Exclude<Recorded, { did: 'refused' }>): string {
  const where = `(${neutral(file)})`
  switch (did) {
    case 'created':
      return `Written down: ${neutral(title)} ${where}`
    case 'replaced':
      return `Written down in place of the one before: ${neutral(title)} ${where}`
    case 'merged':
      return `Added to a note with nearly the same tags: ${neutral(title)} ${where}. Keep it apart with --apart.`
    case 'known':
      return `It stands there already: ${neutral(title)} ${where}`
  }
}

function shown(file: string): string {
  return neutral(join(NOTES_FOLDER, file))
}
