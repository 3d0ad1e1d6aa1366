import { realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve, sep } from 'node:path'
import { AppError, messageOf } from '../../../base/errors.ts'
import { findProjectFile, readConfigFile } from '../../../domain/config/layers.ts'
import type { ProjectFacts } from '../../../domain/project-facts.ts'
import type { ImportedTask } from '../../../domain/task-requests.ts'
import { detectProject, proposeGateCommands } from '../../../workspace/detect/detect-project.ts'
import { openProjectReader } from '../../../workspace/detect/project-files.ts'
import type { CommandContext } from '../../context.ts'
import { refuseInSession } from '../../options.ts'
import { applySteps, type InitStep, planSteps } from './files.ts'
import { type InitOutcome, initEnd, initPage, outcomeJson, type TakenTasks } from './page.ts'
import { FOLDER_README, FOLDERS, settingsText, skillFiles } from './texts.ts'

/** What `pcc init` takes. */
export interface InitOptions {
  requirements?: string
  skipIndex?: true
  dryRun?: true
  force?: true
}

export interface InitCall {
  path: string
  options: InitOptions
  context: CommandContext
}

/** Looks at a project, writes what is missing, takes the tasks of a file, and says what it did and what comes next. */
export async function initProject({ path, options, context }: InitCall): Promise<void> {
  refuseInSession(context.env, 'init …')
  const project = projectPath(path, { env: context.env, force: options.force === true })
  // A file of requirements that is wrong is refused before anything is written.
  const wanted = await wantedTasks(options.requirements)
  const facts = await showProgress('Looking through the project', context, () =>
    detectProject(openProjectReader(project), project),
  )
  const settings = await lookAtSettings(project, facts, context.env['HOME'])
  const steps = stepsFor(project, facts, settings.above)
  const dryRun = options.dryRun === true
  if (!dryRun) applySteps(project, steps)

  const remarks = [
    ...settings.remarks,
    ...remarksOn(facts, { skipIndex: options.skipIndex === true }),
    ...gatesRemark(facts, steps),
  ]
  const outcome: InitOutcome = { project, given: path, dryRun, facts, steps, remarks }
  if (!context.json) print(context, initPage(outcome, context.terminal))
  const tasks = wanted && (await takeTasks(wanted, { project, dryRun, context }))
  if (context.json) print(context, [JSON.stringify(outcomeJson(outcome, tasks), null, 2)])
  else print(context, initEnd(outcome, tasks, context.terminal))
}

function stepsFor(project: string, facts: ProjectFacts, above: string | undefined): InitStep[] {
  const settings = { path: '.perpetualcc.toml', content: settingsText(facts) }
  const held: InitStep[] =
    above === undefined ? [] : [{ path: settings.path, does: 'leave', why: `${above} holds here` }]
  const things = [...(above === undefined ? [settings] : []), FOLDER_README, ...FOLDERS, ...skillFiles(facts)]
  return [...held, ...planSteps(project, { things, ignore: facts.git !== undefined })]
}

/** Only when they were written just now: whoever has agreed needs not be told again. */
function gatesRemark({ commands }: ProjectFacts, steps: readonly InitStep[]): string[] {
  const isNew = steps.some(({ path, does }) => path === '.perpetualcc.toml' && does === 'create')
  const gates = proposeGateCommands(commands).filter(({ caution }) => caution === undefined)
  if (!isNew || gates.length === 0) return []
  const names = gates.map(({ gate }) => gate).join(', ')
  return [
    `The gates in .perpetualcc.toml (${names}) run code of this project: look at them, then agree with pcc trust.`,
  ]
}

interface WantedTasks {
  file: string
  tasks: ImportedTask[]
}

async function wantedTasks(file: string | undefined): Promise<WantedTasks | undefined> {
  if (file === undefined) return undefined
  const { tasksIn } = await import('./import-tasks.ts')
  return { file, tasks: await tasksIn(file) }
}

interface Where {
  project: string
  dryRun: boolean
  context: CommandContext
}

async function takeTasks({ file, tasks }: WantedTasks, { project, dryRun, context }: Where): Promise<TakenTasks> {
  const [{ aboveAll, importNew }, { openClient }] = await Promise.all([
    import('./import-tasks.ts'),
    import('../../connection/client.ts'),
  ])
  const counted = { file, count: tasks.length - (aboveAll(tasks) ? 1 : 0) }
  if (dryRun) return { ...counted, added: [], known: 0, above: null }
  return showProgress('Taking the tasks', context, async () => {
    const client = await openClient(context.paths, context)
    return { ...counted, ...(await importNew(tasks, project, client)) }
  })
}

function print({ out }: CommandContext, lines: string[]): void {
  for (const line of lines) out(line)
}

/** Says what takes its time while it does, on a terminal only, and takes the line away again. */
async function showProgress<T>(words: string, { json, quiet }: CommandContext, work: () => Promise<T>): Promise<T> {
  const isShown = process.stderr.isTTY === true && !json && !quiet
  if (isShown) process.stderr.write(`${words} …`)
  try {
    return await work()
  } finally {
    if (isShown) process.stderr.write('\r\x1b[K')
  }
}

/** The real directory that is meant. A home directory, what holds one and the root are refused unless that was asked for. */
export function projectPath(
  path: string,
  { env, force }: { env: Record<string, string | undefined>; force: boolean },
): string {
  const given = resolve(path)
  const found = statSync(given, { throwIfNoEntry: false })
  if (!found) throw new AppError('project_missing', { path: given })
  if (!found.isDirectory()) throw new AppError('project_not_directory', { path: given })
  const project = realpathSync(given)
  if (force) return project
  const home = realOf(env['HOME'] || homedir())
  if (project === home) throw new AppError('project_too_wide', { path: project, what: 'your home directory' })
  if (project === sep || home.startsWith(project + sep)) {
    throw new AppError('project_too_wide', { path: project, what: 'a directory that holds your home directory' })
  }
  return project
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path) // a home that does not exist holds nothing
  }
}

/** Where a project's settings come from before `pcc init`. */
export interface SettingsRemarks {
  /** The file of its own checkout above it that holds already. */
  above?: string
  remarks: string[]
}

/** Looks at the settings files that are there: one that is wrong is named, one above is not to be hidden by accident. */
async function lookAtSettings(
  project: string,
  { git }: ProjectFacts,
  home = process.env['HOME'] || homedir(),
): Promise<SettingsRemarks> {
  const nearest = await findProjectFile(project, home)
  if (nearest === undefined) return { remarks: [] }
  const remarks = await readConfigFile(nearest, home).then(
    () => [],
    (error: unknown) => [`${messageOf(error)} It is left as it is, and no session starts here until it is mended.`],
  )
  if (nearest === join(project, '.perpetualcc.toml')) return { remarks }
  const isOfCheckout = git !== undefined && `${dirname(nearest)}${sep}`.startsWith(`${git.top}${sep}`)
  if (isOfCheckout) return { above: nearest, remarks }
  return { remarks: [...remarks, `From now on the settings of this project count here, and ${nearest} does not.`] }
}

/** What a person should know beside what was done. */
function remarksOn({ git, problems, is_cut }: ProjectFacts, { skipIndex }: { skipIndex: boolean }): string[] {
  return [
    ...(git === undefined
      ? [
          'This is not a git repository: what agents change cannot be looked at or taken back. After git init, run pcc init again.',
        ]
      : []),
    ...(is_cut ? ['The project is larger than what was looked at: the deepest folders were left out.'] : []),
    ...problems.slice(0, MOST).map(({ file, problem }) => `${file} could not be understood: ${problem}`),
    ...(problems.length > MOST ? [`${problems.length - MOST} more files could not be understood.`] : []),
    ...(skipIndex ? ['There is nothing to skip: this version of pcc has no index of the code yet.'] : []),
  ]
}

const MOST = 8
