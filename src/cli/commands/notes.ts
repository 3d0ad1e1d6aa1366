import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { withFileLock } from '../../base/files.ts'
import { neutral } from '../../base/neutral.ts'
import { searchNotes } from '../../knowledge/match-notes.ts'
import { cleanTags } from '../../knowledge/note.ts'
import { NOTES_FOLDER, notesLock } from '../../knowledge/read-notes.ts'
import { type RecordedNote, recordNote } from '../../knowledge/record-note.ts'
import { type CommandContext, commandContext } from '../context.ts'
import { confirm, openInEditor, readStandardInput } from '../input.ts'
import { collect, refuseInSession } from '../options.ts'
import { brokenLines, findNote, noteLines, notePage, noteView, readProjectNotes } from './notes-lines.ts'

const NOTE_HELP = 'its file or its title, or a unique beginning of one'
const PROJECT_HELP = 'the project directory (default: this one)'

interface ProjectOptions {
  project?: string
}

/** `pcc notes`: what is worth knowing about a project, kept as files in it. */
export function addNotesCommand(program: Command): void {
  const notes = program
    .command('notes')
    .description('See and write notes about a project (.perpetualcc/knowledge/*.md); agents get those that fit')

  notes
    .command('list', { isDefault: true })
    .description('List all notes, and the files among them that cannot be read')
    .option('--tag <tag>', 'only notes with this tag; may be repeated', collect)
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async ({ tag = [], project }: ProjectOptions & { tag?: string[] }, command: Command) => {
      const context = await commandContext(command)
      const stored = readProjectNotes(project)
      const wanted = cleanTags(tag)
      const shown = stored.notes.filter(({ tags }) => wanted.every(name => tags.includes(name)))
      if (context.json)
        return print(context, { directory: stored.directory, notes: shown.map(noteView), broken: stored.broken })
      const lines = noteLines({ notes: shown, words: wanted.join(' '), now: Date.now() }, context.terminal)
      const warnings = brokenLines(stored.broken, context.terminal)
      for (const line of [...lines, ...(warnings.length > 0 ? [''] : []), ...warnings]) context.out(line)
    })

  notes
    .command('show')
    .description('Show one note in full')
    .argument('<note>', NOTE_HELP)
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async (ref: string, { project }: ProjectOptions, command: Command) => {
      const context = await commandContext(command)
      const named = findNote(ref, readProjectNotes(project))
      if ('broken' in named) throw new AppError('note_broken', named.broken)
      if (context.json) return print(context, noteView(named.note))
      for (const line of notePage(named.note, context.terminal, Date.now())) context.out(line)
    })

  notes
    .command('search')
    .description('Search notes: title, tags and text must contain words that begin with all of these')
    .argument('<words...>', 'what to look for')
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async (typed: string[], { project }: ProjectOptions, command: Command) => {
      const context = await commandContext(command)
      const stored = readProjectNotes(project)
      const words = typed.join(' ')
      const shown = searchNotes(stored.notes, words)
      if (context.json)
        return print(context, { directory: stored.directory, notes: shown.map(noteView), broken: stored.broken })
      for (const line of noteLines({ notes: shown, words, now: Date.now() }, context.terminal)) context.out(line)
      for (const line of brokenLines(stored.broken, context.terminal)) context.note(line)
    })

  notes
    .command('add')
    .description('Write a note; it replaces one of the same title, or is added to one with nearly the same tags')
    .argument('<title>', 'what it says, in a few words')
    .argument('[text]', '- reads it from standard input; without it your editor is opened')
    .option('-t, --tags <tags>', 'comma-separated; a note is stored for a task by its tags', collect)
    .option('--feature <name>', 'the feature it is about')
    .option('--apart', 'always write a new file, whatever its title and tags')
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async (title: string, text: string | undefined, options: object, command: Command) =>
      addNote(await commandContext(command), { title, text, ...options }),
    )

  notes
    .command('edit')
    .description('Open a note in your editor ($VISUAL, $EDITOR); no agent replaces what you change')
    .argument('<note>', NOTE_HELP)
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async (ref: string, { project }: ProjectOptions, command: Command) =>
      editNote(await commandContext(command), { ref, project }),
    )

  notes
    .command('rm')
    .description('Delete a note')
    .argument('<note>', NOTE_HELP)
    .option('-y, --yes', 'do not ask')
    .option('--project <path>', PROJECT_HELP)
    .option('--json', 'print JSON')
    .action(async (ref: string, { project, yes }: ProjectOptions & { yes?: true }, command: Command) =>
      removeNote(await commandContext(command), { ref, project, yes: yes === true }),
    )
}

function print({ out }: CommandContext, value: unknown): void {
  out(JSON.stringify(value, null, 2))
}

interface NewNote {
  title: string
  text: string | undefined
  tags?: string[]
  feature?: string
  apart?: true
  project?: string
}

/** `pcc notes add` */
async function addNote(context: CommandContext, note: NewNote): Promise<void> {
  const { env, json, out, paths } = context
  refuseInSession(env, 'notes add …')
  const { title, tags = [], feature, apart } = note
  const body = await readBody(note.text, env)
  const { project } = readProjectNotes(note.project)
  const recorded = recordNote(
    { title, tags: tags.flatMap(list => list.split(',')), body, ...(feature !== undefined && { feature }) },
    { project, by: 'person', apart, lockFile: notesLock(paths), now: Date.now() },
  )
  if (recorded.did === 'refused') throw new AppError('note_refused', { title: neutral(title), why: recorded.why })
  out(json ? JSON.stringify(recorded) : describeResult(recorded))
}

/** `pcc notes edit` */
async function editNote(
  context: CommandContext,
  { ref, project }: { ref: string; project: string | undefined },
): Promise<void> {
  refuseInSession(context.env, 'notes edit …')
  const stored = readProjectNotes(project)
  const named = findNote(ref, stored)
  const file = 'note' in named ? named.note.file : named.broken.file
  if ('broken' in named && /link|plain file|larger/.test(named.broken.problem))
    throw new AppError('note_broken', named.broken)
  await openInEditor(join(stored.directory, file), context.env)
  const edited = findNote(file, readProjectNotes(project))
  if ('broken' in edited) throw new AppError('note_broken', { ...edited.broken })
  context.out(
    context.json ? JSON.stringify(noteView(edited.note)) : `Saved: ${neutral(edited.note.title)} (${shownFile(file)})`,
  )
}

/** `pcc notes rm` */
async function removeNote(
  context: CommandContext,
  { ref, project, yes }: { ref: string; project: string | undefined; yes: boolean },
): Promise<void> {
  refuseInSession(context.env, 'notes rm …')
  const stored = readProjectNotes(project)
  const named = findNote(ref, stored)
  const { file, title } = 'note' in named ? named.note : { ...named.broken, title: named.broken.file }
  await confirm({ action: 'Deleting a note', question: `Delete "${neutral(title)}" (${shownFile(file)})?`, yes })
  withFileLock(notesLock(context.paths), () => rmSync(join(stored.directory, file)))
  context.out(context.json ? JSON.stringify({ deleted: join(NOTES_FOLDER, file) }) : `Deleted: ${shownFile(file)}`)
}

async function readBody(text: string | undefined, env: CommandContext['env']): Promise<string> {
  if (text === '-') return readStandardInput('notes add')
  if (text !== undefined) return text
  if (!process.stdin.isTTY)
    throw new AppError('usage', { problem: 'Say what is worth knowing, or - to read it', command: 'notes add' })
  return writeInEditor(env)
}

function describeResult({ did, file, title }: Exclude<RecordedNote, { did: 'refused' }>): string {
  const where = `(${neutral(file)})`
  switch (did) {
    case 'created':
      return `Written: ${neutral(title)} ${where}`
    case 'replaced':
      return `Written; it replaces the previous note: ${neutral(title)} ${where}`
    case 'merged':
      return `Added to a note with nearly the same tags: ${neutral(title)} ${where}. Keep it apart with --apart.`
    case 'known':
      return `It is written there already: ${neutral(title)} ${where}`
  }
}

function shownFile(file: string): string {
  return neutral(join(NOTES_FOLDER, file))
}

/** Lets the person write a text in their editor; empty if they wrote nothing. */
async function writeInEditor(env: CommandContext['env']): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'pcc-note-'))
  const file = join(directory, 'note.md')
  try {
    writeFileSync(file, '')
    await openInEditor(file, env)
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
