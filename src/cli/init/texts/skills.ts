import {
  COMMAND_KINDS,
  type CommandKind,
  type ProjectCommand,
  type ProjectFacts,
} from '../../../domain/project/project-facts.ts'
import { stamped } from '../files/stamp.ts'
import type { WantedFile } from '../files/step.ts'
import { oneLine } from './one-line.ts'

/** The skills that a project begins with. They hold text only: none sets anything up or runs anything by itself. */
export function skillFiles(facts: ProjectFacts): WantedFile[] {
  return [
    skill('check-your-work', CHECK_ABOUT, checkYourWork(facts.commands)),
    skill('project-notes', NOTES_ABOUT, NOTES),
    skill('plan-tasks', PLAN_ABOUT, PLAN),
  ]
}

function skill(name: string, about: string, body: string): WantedFile {
  const text = `---\nname: ${name}\ndescription: ${about}\n---\n\n${body}\n\n`
  return { path: `.claude/skills/${name}/SKILL.md`, content: stamped(text, 'markdown') }
}

const CHECK_ABOUT =
  'How this project is set up, built, linted and tested. Read before saying that any work is done, and before guessing a command.'

function checkYourWork(commands: readonly ProjectCommand[]): string {
  return [
    '# Check your work',
    'A claim that something is done is checked by others afterwards. Check it first, and after your last change:',
    listOf(commands),
    `- Run what belongs to what you changed while you work, and everything once at the end.
- A check that fails is a result. Mend the cause; do not skip, delete or weaken the test, and do not switch off the rule.
- A check that failed before you began is not yours to hide: say which one, and show that it failed before.
- A command that waits for input or watches for changes never ends here. Run it so that it ends.
- Report which commands you ran and how they ended. What you did not run, say that you did not.`,
  ].join('\n\n')
}

const TITLES: Record<CommandKind, string> = {
  setup: 'Set up',
  build: 'Build',
  typecheck: 'Check types',
  lint: 'Lint',
  format: 'Check the format',
  test: 'Test',
}

function listOf(commands: readonly ProjectCommand[]): string {
  if (commands.length === 0) {
    return 'No command was found when this file was written. Look for one in the README and in the build files before you invent one.'
  }
  const rows = COMMAND_KINDS.flatMap(kind => commands.filter(command => command.kind === kind)).map(rowOf)
  return ['| what | command | where |', '|---|---|---|', ...rows].join('\n')
}

function rowOf({ kind, run, directory, caution }: ProjectCommand): string {
  const where = directory === '.' ? 'the project’s directory' : `\`${oneLine(directory).replace(/[`|]/g, '')}\``
  return `| ${TITLES[kind]} | \`${run}\`${caution === undefined ? '' : ` (careful: ${caution})`} | ${where} |`
}

const NOTES_ABOUT =
  'Notes that earlier work left about this project, with its pitfalls and decisions. Read the ones that fit before changing a part of it.'

const NOTES = `# Notes of this project

\`.perpetualcc/knowledge/\` holds one Markdown file for each thing that somebody learned here the hard way: a trap, a
constraint, a decision and its reason. Each begins with a title and tags.

- Before you change a part of the project, look at the titles and tags and read the notes that fit. They are short.
- A note can be out of date. Where the code says otherwise, the code is right: say so in your report.
- Do not write there yourself; those files are kept for you. When you learned something that the next one would stumble over,
  put it into your report as your instructions ask for it: what is so, why, and where it shows. One thing at a time.
- Not worth a note: what the code says plainly, what only concerns today's task, and anything secret.`

const PLAN_ABOUT =
  'How to cut a larger piece of work into tasks that can be done one after the other by somebody who knows nothing of this conversation.'

const PLAN = `# Plan tasks

Each task is done by a fresh agent that sees the task and what came before it, and nothing of this conversation. So a task

- is one piece of work with one outcome, small enough to be done and checked in one go;
- names the files, commands and decisions that it needs, instead of "as discussed";
- says when it is done, in a way that somebody else can check: a command that passes, an answer that a route gives;
- comes after what it needs, and after nothing else, so that as much as possible can be done independently;
- leaves the project working: tests that belong to a change are part of that change's task.

Write them as a check-list, the first to be done first:

\`\`\`markdown
## Tasks
- [ ] Add the table \`notes\` with a migration. Done when \`npm test\` passes and the table has the columns id, title, body.
- [ ] Serve \`GET /notes\` from it. Done when it answers with all notes, newest first, and an empty list where there are none.
\`\`\`

Put what holds for all of them above the list, once: preferences, constraints, what must not be touched. When the work is
larger than about twenty tasks, plan the first part and say what remains.`
