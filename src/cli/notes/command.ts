import type { Command } from 'commander'
import { AppError } from '../../base/errors.ts'
import { searchNotes } from '../../knowledge/notes/match-notes.ts'
import { cleanTags } from '../../knowledge/notes/note.ts'
import { collect } from '../commands/task/options.ts'
import { type Context, contextOf } from '../context.ts'
import { noteNamed, notesIn } from './find.ts'
import { brokenLines, noteLines, notePage } from './lines.ts'
import { noteView } from './view.ts'
import { addNote, editNote, removeNote } from './write.ts'

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

function print({ out }: Context, value: unknown): void {
  out(JSON.stringify(value, null, 2))
}
