import { COMMAND_KINDS, type ProjectCommand, type ProjectUnit } from '../../domain/project/project-facts.ts'
import type { Terminal, Tone } from '../render/paint.ts'
import { cut, neutral, pad, widthOf } from '../render/text.ts'
import type { Step } from './files/step.ts'
import { nextCommands, OUTCOMES, type Outcome, type TakenTasks } from './outcome.ts'

/** What was found and what was done with which file. */
export function pageOf(outcome: Outcome, terminal: Terminal): string[] {
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
export function endOf({ given, dryRun, steps }: Outcome, tasks: TakenTasks | undefined, terminal: Terminal): string[] {
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

const TONES: Record<Step['does'], Tone> = { create: 'green', change: 'cyan', keep: 'dim', leave: 'yellow' }
const PLANNED: Record<Step['does'], string> = {
  create: 'would create',
  change: 'would change',
  keep: 'would keep',
  leave: 'would leave',
}

function stepLine({ path, does, why }: Step, { terminal, dryRun }: { terminal: Terminal; dryRun: boolean }): string {
  const words = dryRun ? pad(PLANNED[does], 12) : pad(OUTCOMES[does], 7)
  const reason = why === undefined ? '' : terminal.paint('dim', `  ${neutral(why)}`)
  return `  ${terminal.paint(TONES[does], words)}  ${neutral(path)}${reason}`
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}
