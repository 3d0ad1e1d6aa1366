import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { withFileLock } from '../../base/files.ts'
import { searchNotes } from '../../knowledge/match-notes.ts'
import { cleanTags } from '../../knowledge/note.ts'
import { NOTES_FOLDER, notesLock } from '../../knowledge/read-notes.ts'
import { type RecordedNote, recordNote } from '../../knowledge/record-note.ts'
import { type CommandContext, contextOf } from '../context.ts'
import { confirm, readStandardInput } from '../input.ts'
import { collect, refuseInSession } from '../options.ts'
import { neutral } from '../render/text.ts'
import { brokenLines, noteLines, noteNamed, notePage, notesIn, noteView } from './notes-lines.ts'

const NOTE = 'its file or its title, or a unique beginning of one'
const PROJECT = 'the project directory (default: this one)'

interface Where {
  project?: string
}

/** `pcc notes`: what is worth knowing about a project, written down in files of its own. */
export function addNotesCommand(program: Command): void {
  const notes = program
    .command('notes')
    .description(
      'What is worth knowing about a project: .perpetualcc/knowledge/*.md, put before agents whose task it fits.',
    )

  notes
    .command('list', { isDefault: true })
    .description('All notes, and what lies among them and cannot be read.')
    .option('--tag <tag>', 'only with this tag; may be repeated', collect)
    .option('--project <path>', PROJECT)
    .option('--json', 'print JSON')
    .action(async ({ tag = [], project }: Where & { tag?: string[] }, command: Command) => {
      const context = await contextOf(command)
      const found = notesIn(project)
      const wanted = cleanTags(tag)
      const shown = found.notes.filter(({ tags }) => wanted.every(each => tags.includes(each)))
      if (context.json)
        return print(context, { directory: found.directory, notes: shown.map(noteView), broken: found.broken })
      const lines = noteLines({ notes: shown, words: wanted.join(' '), now: Date.now() }, context.terminal)
      const broken = brokenLines(found.broken, context.terminal)
      for (const line of [...lines, ...(broken.length > 0 ? [''] : []), ...broken]) context.out(line)
    })

  notes
    .command('show')
    .description('One note in full.')
    .argument('<note>', NOTE)
    .option('--project <path>', PROJECT)
    .option('--json', 'print JSON')
    .action(async (ref: string, { project }: Where, command: Command) => {
      const context = await contextOf(command)
      const named = noteNamed(ref, notesIn(project))
      if ('broken' in named) return tellBroken(named.broken)
      if (context.json) return print(context, noteView(named.note))
      for (const line of notePage(named.note, context.terminal, Date.now())) context.out(line)
    })

  notes
    .command('search')
    .description('Notes with all of these words, as beginnings of words, in title, tags or text.')
    .argument('<words...>', 'what to look for')
    .option('--project <path>', PROJECT)
    .option('--json', 'print JSON')
    .action(async (typed: string[], { project }: Where, command: Command) => {
      const context = await contextOf(command)
      const found = notesIn(project)
      const words = typed.join(' ')
      const shown = searchNotes(found.notes, words)
      if (context.json)
        return print(context, { directory: found.directory, notes: shown.map(noteView), broken: found.broken })
      for (const line of noteLines({ notes: shown, words, now: Date.now() }, context.terminal)) context.out(line)
      for (const line of brokenLines(found.broken, context.terminal)) context.note(line)
    })

  notes
    .command('add')
    .description('Write a note down: in place of one of the same title, or into one with nearly the same tags.')
    .argument('<title>', 'what it says, in a few words')
    .argument('[text]', '- reads it from standard input; without it your editor is opened')
    .option('-t, --tags <tags>', 'comma-separated; by them it is found for a task', collect)
    .option('--feature <name>', 'the feature it is about')
    .option('--apart', 'a file of its own, whatever its title and tags')
    .option('--project <path>', PROJECT)
    .option('--json', 'print JSON')
    .action(async (title: string, text: string | undefined, options: object, command: Command) =>
      addNote(await contextOf(command), { title, text, ...options }),
    )

  notes
    .command('edit')
    .description('Open a note in your editor ($VISUAL, $EDITOR); what you change is yours, and no agent replaces it.')
    .argument('<note>', NOTE)
    .option('--project <path>', PROJECT)
    .option('--json', 'print JSON')
    .action(async (ref: string, { project }: Where, command: Command) =>
      editNote(await contextOf(command), { ref, project }),
    )

  notes
    .command('rm')
    .description('Delete a note.')
    .argument('<note>', NOTE)
    .option('-y, --yes', 'without asking')
    .option('--project <path>', PROJECT)
    .option('--json', 'print JSON')
    .action(async (ref: string, { project, yes }: Where & { yes?: true }, command: Command) =>
      removeNote(await contextOf(command), { ref, project, yes: yes === true }),
    )
}

function tellBroken(broken: { file: string; problem: string }): never {
  throw new AppError('note_broken', broken)
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
async function addNote(context: CommandContext, given: NewNote): Promise<void> {
  const { env, json, out, paths } = context
  refuseInSession(env, 'notes add …')
  const { title, tags = [], feature, apart } = given
  const body = await bodyOf(given.text, env)
  const { project } = notesIn(given.project)
  const recorded = recordNote(
    { title, tags: tags.flatMap(each => each.split(',')), body, ...(feature !== undefined && { feature }) },
    { project, by: 'person', apart, lockFile: notesLock(paths), now: Date.now() },
  )
  if (recorded.did === 'refused') throw new AppError('note_refused', { title: neutral(title), why: recorded.why })
  out(json ? JSON.stringify(recorded) : wordsFor(recorded))
}

/** `pcc notes edit` */
async function editNote(
  context: CommandContext,
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
async function removeNote(
  context: CommandContext,
  { ref, project, yes }: { ref: string; project: string | undefined; yes: boolean },
): Promise<void> {
  refuseInSession(context.env, 'notes rm …')
  const found = notesIn(project)
  const named = noteNamed(ref, found)
  const { file, title } = 'note' in named ? named.note : { ...named.broken, title: named.broken.file }
  await confirm({ action: 'Deleting a note', question: `Delete "${neutral(title)}" (${shown(file)})?`, yes })
  withFileLock(notesLock(context.paths), () => rmSync(join(found.directory, file)))
  context.out(context.json ? JSON.stringify({ deleted: join(NOTES_FOLDER, file) }) : `Deleted: ${shown(file)}`)
}

async function bodyOf(text: string | undefined, env: CommandContext['env']): Promise<string> {
  if (text === '-') return readStandardInput('notes add')
  if (text !== undefined) return text
  if (!process.stdin.isTTY)
    throw new AppError('usage', { problem: 'Say what is worth knowing, or - to read it', command: 'notes add' })
  return writtenText(env)
}

function wordsFor({ did, file, title }: Exclude<RecordedNote, { did: 'refused' }>): string {
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

/** Opens a file in the person's editor and waits for its end. */
function openEditor(file: string, env: CommandContext['env']): void {
  const editor = env['VISUAL'] || env['EDITOR'] || 'vi'
  // An editor may be named with options ("code --wait"): the shell splits it, and gets the file as a word of its own.
  const ended = spawnSync('/bin/sh', ['-c', `${editor} "$1"`, 'editor', file], { stdio: 'inherit' })
  if (ended.error) throw new AppError('editor_failed', { editor, file, problem: ended.error.message })
  if (ended.status !== 0)
    throw new AppError('editor_failed', { editor, file, problem: `it ended with ${ended.status ?? ended.signal}` })
}

/** Lets a person write a text; empty where they wrote nothing. */
function writtenText(env: CommandContext['env']): string {
  const directory = mkdtempSync(join(tmpdir(), 'pcc-note-'))
  const file = join(directory, 'note.md')
  try {
    writeFileSync(file, '')
    openEditor(file, env)
    return readFileSync(file, 'utf8')
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
