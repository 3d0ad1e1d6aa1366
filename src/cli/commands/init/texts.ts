import { formatToml } from '../../../base/toml-edit.ts'
import { defaultValues } from '../../../domain/config/settings.ts'
import {
  COMMAND_KINDS,
  type CommandKind,
  type ProjectCommand,
  type ProjectFacts,
} from '../../../domain/project-facts.ts'
import { proposeGateCommands } from '../../../workspace/detect/detect-project.ts'
import { neutral } from '../../render/text.ts'
import { addStamp, type WantedFile } from './files.ts'

/** The text of a new `.perpetualcc.toml`: what was found, and the most likely settings of a project, as comments. */
export function settingsText(facts: ProjectFacts): string {
  const parts = [HEAD, foundSection(facts), commandSection(facts.commands), permissionSection(facts), SPENDING]
  return addStamp(`${parts.filter(Boolean).join('\n\n')}\n\n`, 'toml')
}

const HEAD = `# Settings of this project for pcc. What each does: pcc config show, and docs/config.md of pcc.
#
# A project's file can make pcc stricter for whoever works here. What loosens it, or runs code, counts only after that
# person has looked at it and said: pcc trust
# A line that begins with "#" does nothing. A key that pcc does not know makes the whole file wrong.

version = 1`

/** Holds no numbers that change daily: a pointless update of the file would be noise in somebody's commit. */
function foundSection({ languages, units, git }: ProjectFacts): string {
  const names = languages.slice(0, 3).map(({ name }) => name)
  const managers = units.map(({ directory, manager, manager_from }) => {
    const where = directory === '.' ? '' : ` in ${oneLine(directory)}`
    return `${manager}${where}, by ${oneLine(manager_from)}`
  })
  const lines = [
    ...(names.length > 0 ? [`languages  ${names.join(', ')}`] : []),
    ...managers.map((text, index) => `${index === 0 ? 'built by ' : '         '}  ${text}`),
    ...(git?.default_branch === undefined ? [] : [`branch     ${git.default_branch}, by ${git.branch_from}`]),
  ]
  return lines.length === 0 ? '' : ['# What pcc init found here:', ...lines.map(line => `#   ${line}`)].join('\n')
}

function commandSection(all: readonly ProjectCommand[]): string {
  const gates = proposeGateCommands(all)
  const others = all.filter(({ kind }) => !gates.some(({ gate }) => gate === kind))
  if (gates.length === 0 && others.length === 0) return NO_COMMANDS
  const rows = gates.map(({ gate, run, from, caution }) => {
    const line = `${gate} = ${formatToml(run)}`
    const about = `# ${oneLine(from)}${caution === undefined ? '' : `; left out because ${caution}`}`
    return `${about}\n${caution === undefined ? line : `# ${line}`}`
  })
  const more = others.map(({ kind, directory, run, from }) => {
    const where = directory === '.' ? '' : ` in ${oneLine(directory)}`
    return `#   ${kind}${where}: ${run}    (${oneLine(from)})`
  })
  const found = more.length === 0 ? [] : ['# Found too, and no gates:', ...more]
  return [...(gates.length === 0 ? [NO_GATES] : [GATES_HEAD, ...rows]), ...found].join('\n')
}

const GATES_HEAD = `# What pcc runs itself, on a named tree, before a task counts as done. It runs code of this project, so it counts only after
# you have looked at it and said: pcc trust. Agents are told the same by .claude/skills/check-your-work.
[gates]`

const NO_GATES = '# No command that builds, checks or tests this project was found: nothing proves that a task is done.'

const NO_COMMANDS = `# No command that builds, checks or tests this project was found. If there is one, write it into
# .claude/skills/check-your-work/SKILL.md, where agents look for it.`

function permissionSection({ source_directories: own }: ProjectFacts): string {
  const { 'permissions.safe_directories': standard, 'permissions.blocked_commands': blocked } = defaultValues()
  const wider = own.filter(name => !standard.includes(name)).map(oneLine)
  const list = formatToml(own.length > 0 ? own.map(oneLine) : standard)
  const note =
    wider.length === 0
      ? '# Folders in which an agent may write unasked. Fewer than the standard ones count at once.'
      : `# Folders in which an agent may write unasked. ${wider.join(', ')}: not among the standard ones, and counts after pcc trust.`
  return [
    '# [permissions]',
    note,
    `# safe_directories = ${list}`,
    '# Commands that are always refused. Those that are refused everywhere stay so, named here or not.',
    `# blocked_commands = ${formatToml([...blocked, 'git push'])}`,
    '# What is dangerous, with nobody there: refused at once.',
    '# unattended_high = "deny"',
  ].join('\n')
}

const SPENDING = `# [budgets.task]
# The most that one task may spend; the lower of this and a person's own counts.
# cost_usd = 5
# wall_minutes = 120

# [sessions]
# How many sessions of this project may run at once.
# max_concurrent = 2`

/** The skills that a project begins with. They are text only: none of them sets up or runs anything by itself. */
export function skillFiles(facts: ProjectFacts): WantedFile[] {
  return [
    skillFile('check-your-work', CHECK_ABOUT, checkYourWork(facts.commands)),
    skillFile('project-notes', NOTES_ABOUT, NOTES),
    skillFile('plan-tasks', PLAN_ABOUT, PLAN),
  ]
}

function skillFile(name: string, about: string, body: string): WantedFile {
  const text = `---\nname: ${name}\ndescription: ${about}\n---\n\n${body}\n\n`
  return { path: `.claude/skills/${name}/SKILL.md`, content: addStamp(text, 'markdown') }
}

const CHECK_ABOUT =
  'How this project is set up, built, linted and tested. Read before saying that any work is done, and before guessing a command.'

function checkYourWork(commands: readonly ProjectCommand[]): string {
  return [
    '# Check your work',
    'A claim that something is done is checked by others afterwards. Check it first, and after your last change:',
    commandTable(commands),
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

function commandTable(commands: readonly ProjectCommand[]): string {
  if (commands.length === 0) {
    return 'No command was found when this file was written. Look for one in the README and in the build files before you invent one.'
  }
  const rows = COMMAND_KINDS.flatMap(kind => commands.filter(command => command.kind === kind)).map(commandRow)
  return ['| what | command | where |', '|---|---|---|', ...rows].join('\n')
}

function commandRow({ kind, run, directory, caution }: ProjectCommand): string {
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

/** Folders that a project begins with; they are empty at first. */
export const FOLDERS = ['.perpetualcc/features', '.perpetualcc/knowledge']

/** Tells a person who finds the folder what it is. */
export const FOLDER_README: WantedFile = {
  path: '.perpetualcc/README.md',
  content: addStamp(
    `# .perpetualcc

This folder belongs to pcc, which has coding agents work on this project under supervision.

| here | what | git |
|---|---|---|
| \`features/\` | what is wanted: a specification and a plan for each feature | commit it |
| \`knowledge/\` | notes on this project that agents are shown: pitfalls, decisions | commit it |
| \`rules.toml\` | what is always asked about or refused here (\`pcc rules add --project\`) | commit it |
| everything else | an index and what work leaves behind; it can be deleted at any time | left out |

Settings of the project stand in \`.perpetualcc.toml\` beside this folder.

`,
    'markdown',
  ),
}

/** Makes a name from the repository safe for a comment: one line, at most 120 characters, and not ending an HTML comment. */
function oneLine(text: string): string {
  const plain = neutral(text).replace(/\s+/g, ' ').replaceAll('-->', '—>')
  return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain
}
