import { quoteForShell } from '../../../base/words.ts'
import {
  COMMAND_KINDS,
  type ProjectCommand,
  type ProjectFacts,
  type ProjectUnit,
} from '../../../domain/project-facts.ts'
import type { TaskMention } from '../../../domain/task-requests.ts'
import { cut, neutral, pad, type Terminal, type Tone, widthOf } from '../../render/text.ts'
import type { InitStep } from './files.ts'

/** What `pcc init` found and did. */
export interface InitOutcome {
  /** Real path. */
  project: string
  /** As it was typed, for the next command. */
  given: string
  dryRun: boolean
  facts: ProjectFacts
  steps: InitStep[]
  remarks: string[]
}

/** What became of a file of requirements. */
export interface TakenTasks {
  file: string
  /** How many it has that are open. */
  count: number
  added: TaskMention[]
  /** Those that were there already. */
  known: number
  /** The task that holds what the file says besides them. */
  above: Pick<TaskMention, 'id' | 'title'> | null
}

/** The shape of `--json`. */
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

/** What a person most likely wants to type now. */
function nextCommands(given: string, tasks: TakenTasks | undefined): string[] {
  // A bare word could be the name of a feature.
  const path = given === '.' || given.includes('/') ? given : `./${given}`
  const start = `pcc start ${quoteForShell(path)} --task "Your task here"`
  return tasks ? [`pcc run ${quoteForShell(path)} --dry-run`, `pcc run ${quoteForShell(path)}`] : [start]
}

/** What was found and what was done with which file. */
export function initPage(outcome: InitOutcome, terminal: Terminal): string[] {
  const { facts, steps, remarks, dryRun } = outcome
  const tick = terminal.paint('green', '✓')
  const names = facts.languages.slice(0, 4).map(({ name }) => name)
  const branch = facts.git?.default_branch
  return [
    `${tick} Looked through the project: ${counted(facts.files, 'file')}${facts.is_cut ? ' and more' : ''}${names.length > 0 ? `, ${names.join(', ')}` : ''}`,
    ...(facts.units.length > 0 ? unitLines(facts.units).map(text => `${tick} ${text}`) : [NO_UNIT]),
    ...(branch === undefined ? [] : [`${tick} Default branch ${branch}, by ${facts.git?.branch_from}`]),
    ...commandLines(facts.commands, terminal),
    '',
    ...steps.map(step => stepLine(step, { terminal, dryRun })),
    ...(remarks.length > 0 ? ['', ...remarks.map(text => `${terminal.paint('yellow', '!')} ${neutral(text)}`)] : []),
    '',
  ]
}

/** How it ended, and what comes next. */
export function initEnd(
  { given, dryRun, steps }: InitOutcome,
  tasks: TakenTasks | undefined,
  terminal: Terminal,
): string[] {
  const isNews = steps.some(({ does }) => does === 'create' || does === 'change')
  const said = dryRun
    ? 'Nothing was changed: this only shows what would be done.'
    : isNews
      ? 'The project is set up.'
      : 'The project was set up already; nothing was changed.'
  const lines = [...(tasks ? [taskLine(tasks, dryRun)] : []), said]
  if (dryRun) return lines
  return [...lines, 'Next:', ...nextCommands(given, tasks).map(each => `  ${terminal.paint('cyan', each)}`)]
}

function taskLine({ file, count, added, known, above }: TakenTasks, dryRun: boolean): string {
  const name = neutral(file)
  if (dryRun)
    return `${counted(count, 'task')} of ${name} would be taken; those that are there already are not doubled.`
  const before = known > 0 ? `, ${known} ${known === 1 ? 'was' : 'were'} there already` : ''
  const rest = above ? `; what it says besides them is ${above.id}` : ''
  return `Took ${counted(added.length, 'task')} of ${name}${before}${rest}. See them with: pcc task tree`
}

const NO_UNIT =
  '  No build file that pcc knows: how it is built and tested is yours to write into the skill check-your-work'

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
    const source = room < LEAST_ROOM ? '' : `  ${terminal.paint('dim', cut(from, room))}`
    const line = `  ${pad(kind, kinds)}  ${source === '' ? run : pad(run, runs)}${source}`
    return caution === undefined
      ? [line]
      : [line, `  ${pad('', kinds)}  ${terminal.paint('yellow', `careful: ${caution}`)}`]
  })
}

/** Columns below which where a command comes from is not worth a cut word. */
const LEAST_ROOM = 12

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
  const words = dryRun ? pad(PLANNED[does], 12) : pad(OUTCOMES[does], 7)
  const reason = why === undefined ? '' : terminal.paint('dim', `  ${neutral(why)}`)
  return `  ${terminal.paint(TONES[does], words)}  ${neutral(path)}${reason}`
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}
