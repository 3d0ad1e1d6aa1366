import { neutral } from '../../../base/neutral.ts'
import { formatToml } from '../../../base/toml-edit.ts'
import { defaultValues } from '../../../domain/config/settings.ts'
import type { ModelStrategy } from '../../../domain/option-values.ts'
import {
  COMMAND_KINDS,
  type CommandKind,
  type ProjectCommand,
  type ProjectFacts,
} from '../../../domain/project-facts.ts'
import { proposeGateCommands } from '../../../workspace/detect/detect-project.ts'
import { addStamp, type WantedFile } from './files.ts'

/** The text of a new `.perpetualcc.toml`: what was found, and the most likely settings of a project, as comments. */
export function settingsText(facts: ProjectFacts, strategy?: ModelStrategy): string {
  const models = modelSection(strategy)
  const parts = [HEAD, foundSection(facts), commandSection(facts.commands), permissionSection(facts), models, SPENDING]
  return addStamp(`${parts.filter(Boolean).join('\n\n')}\n\n`, 'toml')
}

const HEAD = `# Settings of this project for pcc. "pcc config show" and "pcc docs config" explain each of them.
#
# This file can make pcc stricter for everybody who works here. Settings that make it less strict, or that run code, apply
# only after that person has read this file and run: pcc trust
# Lines that begin with "#" are comments. pcc refuses the whole file if it contains an unknown key.

version = 1`

/** Contains no numbers that change daily: each change of the file shows up in somebody's commit. */
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
    const about = `# ${oneLine(from)}${caution === undefined ? '' : `; not used because ${caution}`}`
    return `${about}\n${caution === undefined ? line : `# ${line}`}`
  })
  const more = others.map(({ kind, directory, run, from }) => {
    const where = directory === '.' ? '' : ` in ${oneLine(directory)}`
    return `#   ${kind}${where}: ${run}    (${oneLine(from)})`
  })
  const found = more.length === 0 ? [] : ['# Other commands that were found:', ...more]
  return [...(gates.length === 0 ? [NO_GATES] : [GATES_HEAD, ...rows]), ...found].join('\n')
}

const GATES_HEAD = `# Commands that pcc runs before a task counts as done. They run code of this project, so they apply only after you have
# read them and run: pcc trust. Agents find the same commands in .claude/skills/check-your-work.
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
      ? '# Folders in which an agent may write without asking. A list that only leaves out standard ones applies at once.'
      : `# Folders in which an agent may write without asking. ${wider.join(', ')}: not standard, so it applies after pcc trust.`
  return [
    '# [permissions]',
    note,
    `# safe_directories = ${list}`,
    '# Commands that are always refused here, besides those that are refused everywhere.',
    `# blocked_commands = ${formatToml([...blocked, 'git push'])}`,
    '# Dangerous calls when nobody is there to ask: refused at once.',
    '# unattended_high = "deny"',
  ].join('\n')
}

/** The strategies that `pcc init` asks about, the default one first. */
export const STRATEGY_WORDS: Record<ModelStrategy, string> = {
  'cost-optimized':
    'the small model while all goes well, a stronger one after trouble (most tasks go to the small model)',
  escalate: 'the small model first, one step up after each failure',
  'plan-then-execute': 'the strong model for the first attempt of a run, the standard one for the rest',
  fixed: "one model for everything: execution.model, or the agent's own",
}

function modelSection(strategy: ModelStrategy | undefined): string {
  const mark = strategy === undefined ? '# ' : ''
  const about = '# Which model an attempt of "pcc run" gets; "pcc run . --dry-run" shows it. Applies after: pcc trust'
  const line = `model_strategy = ${formatToml(strategy ?? DEFAULT_STRATEGY)}`
  return `${mark}[execution]\n${about}\n${mark}${line}`
}

const DEFAULT_STRATEGY = defaultValues()['execution.model_strategy']

const SPENDING = `# [budgets.task]
# The most that one task may spend. If a person has set a lower limit, that one applies.
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
    'Others check your work after you say that it is done. Check it yourself first, after your last change:',
    commandTable(commands),
    `- While you work, run the checks of what you changed; at the end, run all of them once.
- If a check fails, fix the cause. Do not skip, delete or weaken the test, and do not switch off the rule.
- Do not hide a check that failed before you began: say which one, and show that it failed before.
- A command that waits for input or watches for changes never ends here. Run it so that it ends.
- Report which commands you ran and how they ended, and which you did not run.`,
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
    return 'No command was found when this file was written. Look in the README and in the build files before you invent one.'
  }
  const rows = COMMAND_KINDS.flatMap(kind => commands.filter(command => command.kind === kind)).map(commandRow)
  return ['| what | command | where |', '|---|---|---|', ...rows].join('\n')
}

function commandRow({ kind, run, directory, caution }: ProjectCommand): string {
  const where = directory === '.' ? 'the project’s directory' : `\`${oneLine(directory).replace(/[`|]/g, '')}\``
  return `| ${TITLES[kind]} | \`${run}\`${caution === undefined ? '' : ` (careful: ${caution})`} | ${where} |`
}

const NOTES_ABOUT =
  'Notes from earlier work on this project, about pitfalls and decisions. Read those about a part of it before you change that part.'

const NOTES = `# Notes of this project

\`.perpetualcc/knowledge/\` has one Markdown file for each thing that somebody learned the hard way: a pitfall, a
constraint, a decision and its reason. Each file begins with a title and tags.

- Before you change a part of the project, read the notes whose titles or tags fit. They are short.
- A note can be out of date. If the code says otherwise, the code is right: say so in your report.
- Do not write there yourself; pcc writes the files. If you learned something that the next agent needs to know, put it
  into your report in the form that your instructions ask for: the fact, its reason, and where it shows. One fact per note.
- Not worth a note: what the code says plainly, what only concerns today's task, and anything secret.`

const PLAN_ABOUT =
  'How to split a larger piece of work into tasks that agents who know nothing of this conversation can do one after the other.'

const PLAN = `# Plan tasks

A fresh agent does each task. It sees the task and the tasks before it, but nothing of this conversation. So a task

- is one piece of work with one outcome, small enough to be done and checked in one session;
- names the files, commands and decisions that it needs, instead of "as discussed";
- says when it is done, in a way that somebody else can check: a command that passes, an answer that a route gives;
- comes only after the tasks that it needs, so that as many as possible are independent;
- leaves the project working: tests that belong to a change are part of that change's task.

Write them as a check-list, in the order in which they are done:

\`\`\`markdown
## Tasks
- [ ] Add the table \`notes\` with a migration. Done when \`npm test\` passes and the table has the columns id, title, body.
- [ ] Serve \`GET /notes\` from it. Done when it answers with all notes, newest first, and an empty list where there are none.
\`\`\`

Put what applies to all of them above the list, once: preferences, constraints, what must not be touched. If the work is
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
| \`knowledge/\` | notes on this project for agents: pitfalls, decisions | commit it |
| \`rules.toml\` | what is always asked about or refused here (\`pcc rules add --project\`) | commit it |
| everything else | an index and leftovers of work; it can be deleted at any time | ignored |

The settings of the project are in \`.perpetualcc.toml\`, beside this folder.

`,
    'markdown',
  ),
}

/** Makes a name from the repository safe for a comment: one line, at most 120 characters, and not ending an HTML comment. */
function oneLine(text: string): string {
  const plain = neutral(text).replace(/\s+/g, ' ').replaceAll('-->', '—>')
  return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain
}
