import { neutral } from '../../../base/neutral.ts'
import { quoteForShell } from '../../../base/words.ts'
import {
  COMMAND_KINDS,
  type ProjectCommand,
  type ProjectFacts,
  type ProjectUnit,
} from '../../../domain/project-facts.ts'
import type { TaskMention } from '../../../domain/task-requests.ts'
import { counted } from '../../render/format.ts'
import { cut, pad, type Terminal, type Tone, widthOf, wrap } from '../../render/text.ts'
import type { InitStep } from './files.ts'

/** What `pcc init` found and did. */
export interface InitOutcome {
  /** The real path. */
  project: string
  /** The path as typed, for the next command. */
  given: string
  dryRun: boolean
  facts: ProjectFacts
  steps: InitStep[]
  remarks: string[]
}

/** The result of importing a requirements file. */
export interface TakenTasks {
  file: string
  /** How many open tasks the file has. */
  count: number
  added: TaskMention[]
  /** How many of them existed already. */
  known: number
  /** The parent task, which holds the rest of the file's text. */
  above: Pick<TaskMention, 'id' | 'title'> | null
}

/** The output of `--json`. */
export function outcomeJson(
  { project, given, dryRun, facts, steps, remarks }: InitOutcome,
  tasks: TakenTasks | undefined,
): object {
  return {
    project,
    dry_run: dryRun,
    facts: { ...facts, git: facts.git ?? null },
    files: steps.map(({ path, does, why }) => ({ path, outcome: OUTCOMES[does], ...(why !== undefined && { why }) })),
    tasks: tasks ?? null,
    remarks,
    next: nextCommands(given, tasks),
  }
}

const OUTCOMES = { create: 'created', change: 'changed', keep: 'kept', leave: 'left' } as const

/** The commands that a person most likely wants to type next. */
function nextCommands(given: string, tasks: TakenTasks | undefined): string[] {
  // A bare word could be taken for the name of a feature.
  const path = given === '.' || given.includes('/') ? given : `./${given}`
  const here = quoteForShell(path)
  if (tasks) return [`pcc run ${here} --dry-run`, `pcc run ${here}`]
  const imports = `pcc task import plan.md${path === '.' ? '' : ` --project ${here}`}`
  return [`pcc start ${here} --task "Your task here"`, imports, `pcc run ${here}`]
}

/** What was found, and what was done with each file. */
export function initPage(outcome: InitOutcome, terminal: Terminal): string[] {
  const { facts, steps, remarks, dryRun } = outcome
  const tick = terminal.paint('green', '✓')
  const names = facts.languages.slice(0, 4).map(({ name }) => name)
  const branch = facts.git?.default_branch
  return [
    `${tick} Examined the project: ${counted(facts.files, 'file')}${facts.is_cut ? ' and more' : ''}${names.length > 0 ? `, ${names.join(', ')}` : ''}`,
    ...(facts.units.length > 0 ? unitLines(facts.units).map(text => `${tick} ${text}`) : [NO_UNIT]),
    ...(branch === undefined ? [] : [`${tick} Default branch ${branch}, by ${facts.git?.branch_from}`]),
    ...commandLines(facts.commands, terminal),
    '',
    ...steps.map(step => stepLine(step, { terminal, dryRun })),
    ...(remarks.length > 0 ? ['', ...remarks.flatMap(text => remarkLines(text, terminal))] : []),
    '',
  ]
}

function remarkLines(text: string, { paint, width }: Terminal): string[] {
  const [first = '', ...more] = wrap(neutral(text), width - 3)
  return [`${paint('yellow', '!')} ${first}`, ...more.map(line => `  ${line}`)]
}

/** How it ended, and what comes next. */
export function initEnd(
  { given, dryRun, steps }: InitOutcome,
  tasks: TakenTasks | undefined,
  terminal: Terminal,
): string[] {
  const hasChanges = steps.some(({ does }) => does === 'create' || does === 'change')
  const result = dryRun
    ? 'Nothing was changed: this only shows what would be done.'
    : hasChanges
      ? 'The project is set up.'
      : 'The project was set up already; nothing was changed.'
  const lines = [...(tasks ? [taskLine(tasks, dryRun)] : []), result]
  if (dryRun) return lines
  return [...lines, 'Next:', ...nextCommands(given, tasks).map(each => `  ${terminal.paint('cyan', each)}`)]
}

function taskLine({ file, count, added, known, above }: TakenTasks, dryRun: boolean): string {
  const name = neutral(file)
  if (dryRun) return `${counted(count, 'task')} of ${name} would be imported, except those that exist already.`
  const before = known > 0 ? `, ${known} existed already` : ''
  const rest = above ? `; the rest of its text is in ${above.id}` : ''
  return `Imported ${counted(added.length, 'task')} of ${name}${before}${rest}. See them with: pcc task tree`
}

const NO_UNIT =
  '  pcc knows no build file here: please describe in the skill check-your-work how the project is built and tested'

function unitLines(units: readonly ProjectUnit[]): string[] {
  return units.map(({ directory, manager, manager_from, members }) => {
    const where = directory === '.' ? '' : `${neutral(directory)}: `
    const inside = members.length > 0 ? `, a workspace of ${counted(members.length, 'member')}` : ''
    return `${where}${manager}, by ${neutral(manager_from)}${inside}`
  })
}

function commandLines(commands: readonly ProjectCommand[], terminal: Terminal): string[] {
  const rows = commands.map(({ directory, run, from, ...rest }) => ({
    ...rest,
    run: directory === '.' ? run : `${run}  (in ${neutral(directory)})`,
    from: neutral(from),
  }))
  const [kinds, runs] = [Math.max(...COMMAND_KINDS.map(widthOf)), Math.max(0, ...rows.map(({ run }) => widthOf(run)))]
  const room = terminal.width - kinds - runs - 6
  return rows.flatMap(({ kind, run, from, caution }) => {
    const source = room < MIN_SOURCE_WIDTH ? '' : `  ${terminal.paint('dim', cut(from, room))}`
    const line = `  ${pad(kind, kinds)}  ${source === '' ? run : pad(run, runs)}${source}`
    return caution === undefined
      ? [line]
      : [line, `  ${pad('', kinds)}  ${terminal.paint('yellow', `careful: ${caution}`)}`]
  })
}

/** With fewer columns, the source of a command is left out. */
const MIN_SOURCE_WIDTH = 12

const TONES: Record<InitStep['does'], Tone> = { create: 'green', change: 'cyan', keep: 'dim', leave: 'yellow' }
const PLANNED: Record<InitStep['does'], string> = {
  create: 'would create',
  change: 'would change',
  keep: 'would keep',
  leave: 'would leave',
}

function stepLine(
  { path, does, why }: InitStep,
  { terminal, dryRun }: { terminal: Terminal; dryRun: boolean },
): string {
  const outcome = dryRun ? pad(PLANNED[does], 12) : pad(OUTCOMES[does], 7)
  const reason = why === undefined ? '' : terminal.paint('dim', `  ${neutral(why)}`)
  return `  ${terminal.paint(TONES[does], outcome)}  ${neutral(path)}${reason}`
}
